// How much a full compaction would leave, told from a sample of the keys.
//
//   flush ── the newest version of each key ── hash(key) < 2^64 / 2^n ? ──> sample: hash -> bytes that it takes, sum x 2^n
//
// The hash chooses the same keys at every flush, so a key that is overwritten counts once, however many runs hold it (distinct
// sampling: Gibbons, VLDB 2001). When the sample holds too many keys, n grows and half of them go.
//
// WHY: what the largest run holds is live too (picker::LiveBytesAtLeast), but while a load fills an empty database there is no
// large run, so the space bound seemed broken where nothing could be gained, and bottom merges ran for nothing.
// MEASURED: docs/decisions/0030-live-sample.md.
//
// The space bound stands on it, so it must not say too much:
//   - keys flushed before the database was opened are not known, and not counted;
//   - three standard deviations of the sampling error are taken off;
//   - a value counts for kValueBytesMax at most, or a few large ones would make the error large;
//   - a key counts for half of its bytes: in a larger table it shares more of them with its neighbours;
//   - of an operand only the key counts, since what it will be folded into is not known;
//   - bytes are what they took in the flushed table, compression included, never more than they were;
//   - a range delete makes it forget everything.
// Held against the truth by tests/unit/compaction/live_sample_test.cc.
//
// REQUIRES: the bytewise order; another one may take keys of different bytes for the same.
// THREADS: one changes it at a time, any read BytesAtLeast.
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

  // What one flush changes, to be applied when it is installed.
  class Changes {
   public:
    // In the order of the flush: of a key the newest version first.
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
  // `file_bytes`: what all entries of the flush take on disk.
  void Apply(const Changes& changes, uint64_t file_bytes);
  // After a range delete: which of the keys it deletes is not known.
  void Forget();

  uint64_t BytesAtLeast() const { return bytes_at_least_.load(std::memory_order_relaxed); }

 private:
  void Set(uint64_t hash, uint64_t bytes);
  void Thin();
  void Publish();

  uint64_t hash_max_ = UINT64_MAX;
  std::unordered_map<uint64_t, uint64_t> bytes_of_;
  // Of the sample: the bytes and their squares, summed up.
  uint64_t sum_ = 0;
  uint64_t sum_of_squares_ = 0;
  std::atomic<uint64_t> bytes_at_least_{0};
};

}  // namespace mergedb::compaction
