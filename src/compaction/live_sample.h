// An estimate of the bytes that a full compaction would leave, from a sample of the keys.
//
//   flush ── newest version of each key ── hash(key) < 2^64 / 2^n ? ──> sample: hash -> bytes; estimate: sum x 2^n
//
// The hash chooses the same keys at every flush, so a key that is overwritten counts once, no matter how many
// runs hold it (distinct sampling: Gibbons, VLDB 2001). When the sample holds too many keys, n grows by one
// and half of the keys leave the sample.
//
// WHY: the largest run gives a lower bound, too (picker::LiveBytesAtLeast). But while a load fills an empty
// database there is no large run, so without the sample the space bound seems exceeded and bottommost
// compactions run without any gain.
// MEASURED: docs/decisions/0030-live-sample.md.
//
// The space bound depends on the estimate, so it must not be too high:
//   - keys flushed before the database was opened are unknown and do not count;
//   - three standard deviations of the sampling error are subtracted;
//   - a value counts for at most kValueBytesMax: a few large values would make the error large;
//   - a key counts for half of its bytes: in a larger table it shares more bytes with its neighbours;
//   - of a merge operand only the key counts: the folded size is not known;
//   - bytes are those of the flushed table, compression included, and never more than the raw bytes;
//   - after a range delete the sample is empty.
// tests/unit/compaction/live_sample_test.cc compares it with the true value.
//
// REQUIRES: the bytewise order. Under another order, keys of different bytes may be equal.
// THREADS: one thread at a time changes it; any thread calls BytesAtLeast.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kv/key.h"

namespace mergedb::compaction {

class LiveSample {
 public:
  static constexpr size_t kKeysMax = 8192;
  static constexpr uint64_t kValueBytesMax = 4096;

  // The changes of one flush. Apply them when the flush is installed.
  class Changes {
   public:
    // Call in the order of the flush: the newest version of a key first.
    void Add(const kv::Entry& entry);

   private:
    friend class LiveSample;
    struct Change {
      uint64_t hash = 0;
      uint64_t bytes = 0;  // 0: deleted
    };
    explicit Changes(uint64_t hash_max) : hash_max_(hash_max) {}

    const uint64_t hash_max_;
    uint64_t raw_bytes_ = 0;  // of all entries
    std::vector<Change> changes_;
  };
  Changes Begin() const { return Changes(hash_max_); }
  // `file_bytes`: the bytes on disk of all entries of the flush.
  void Apply(const Changes& changes, uint64_t file_bytes);
  // Call after a range delete: it is not known which keys of the sample it deletes.
  void Forget();

  uint64_t BytesAtLeast() const { return bytes_at_least_.load(std::memory_order_relaxed); }

 private:
  void Set(uint64_t hash, uint64_t bytes);
  void Thin();
  void Publish();

  uint64_t hash_max_ = UINT64_MAX;
  std::unordered_map<uint64_t, uint64_t> bytes_of_;
  // The sums of the sampled bytes and of their squares.
  uint64_t sum_ = 0;
  uint64_t sum_of_squares_ = 0;
  std::atomic<uint64_t> bytes_at_least_{0};
};

}  // namespace mergedb::compaction
