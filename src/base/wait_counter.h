// Statistics of the waits for one resource: their count, their total time and the longest one. Each wait also counts
// for the thread that waited (thread_waits.h).
//
// THREADS: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/thread_waits.h"

namespace mergedb::base {

class WaitCounter {
 public:
  void Add(uint64_t nanos) {
    thread_waited_nanos += nanos;
    count_.fetch_add(1, std::memory_order_relaxed);  // WHY relaxed, in all methods: only statistics
    nanos_.fetch_add(nanos, std::memory_order_relaxed);
    uint64_t longest = nanos_max_.load(std::memory_order_relaxed);
    while (nanos > longest && !nanos_max_.compare_exchange_weak(longest, nanos, std::memory_order_relaxed)) {}
  }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  uint64_t nanos() const { return nanos_.load(std::memory_order_relaxed); }
  uint64_t nanos_max() const { return nanos_max_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> nanos_{0};
  std::atomic<uint64_t> nanos_max_{0};
};

}  // namespace mergedb::base
