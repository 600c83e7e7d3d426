// A sample of the keys that are read and written, so that `mergedb inspect` can show which ranges of keys are hot.
//
//     calls      . . . . # . . . . . # . . .        about one of 64: those whose latency is measured (env/latencies.h)
//     rings      reads [k17 k3 k99 ...]  writes [k5 k5 k1 ...]        the last kSamples keys of each kind
//
// A call that is not in the sample does nothing here. A key stands for `calls` calls. Each sample has the time of the
// reading before it (Take), so that taking a sample reads no clock; readings come about once a second.
//
// The rings take 40 KB, allocated with the first sample of each kind. If there is no memory, or if another thread has
// the ring at the same time, the sample is lost.
//
// THREADS: any; the mutex is a leaf. Tests: tests/unit/read/heat_test.cc.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"

namespace mergedb::read {

class Heat {
 public:
  enum class Kind : uint8_t { kRead, kWrite };
  static constexpr size_t kSamples = 512;
  static constexpr size_t kKeyBytesMax = 23;

  struct Sample {
    std::string key;
    uint64_t calls = 0;
    uint64_t nanos = 0;  // of the Take before the sample or, without one, of the first Take
    bool operator==(const Sample&) const = default;
  };

  // `is_bytewise`: longer keys are cut to kKeyBytesMax; under another order they are left out.
  explicit Heat(bool is_bytewise) : is_bytewise_(is_bytewise) {}

  // `key` is a key of the tree.
  void Note(Kind kind, std::string_view key, uint64_t calls) noexcept;
  // As Note, for one of `many` calls at once; `key_at` returns the key of an index below `many`.
  template <class KeyAt>
  void NoteOneOf(Kind kind, uint64_t many, uint64_t calls, const KeyAt& key_at) {
    if (many > 0) Note(kind, key_at(turn_.fetch_add(1, std::memory_order_relaxed) % many), calls);
  }

  // The samples of one kind since `since_nanos`, oldest first. The samples after this call have the time `now_nanos`.
  std::vector<Sample> Take(Kind kind, uint64_t now_nanos, uint64_t since_nanos);

 private:
  struct Slot {
    std::array<char, kKeyBytesMax> key;
    uint8_t key_bytes;
    uint64_t calls;
    uint64_t nanos;
  };
  struct Ring {
    std::unique_ptr<Slot[]> slots;  // null: no sample yet
    uint64_t count = 0;             // of all samples ever; the next one goes to slot count % kSamples
    uint64_t now_nanos = 0;         // of the last Take; 0: none yet
  };

  const bool is_bytewise_;
  std::atomic<uint64_t> turn_{0};  // WHY relaxed: only a choice
  base::Mutex mutex_;
  std::array<Ring, 2> rings_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::read
