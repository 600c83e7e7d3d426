// A clock that stands still until the test advances it. A sleep takes no time and advances the clock. So a program
// that waits for a deadline reaches it at once, and the test can read how long the program would have waited.
// THREADS: all methods from any thread.
#pragma once

#include <atomic>

#include "mergedb/env.h"

namespace mergedb::testing {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(uint64_t now_nanos = 1'000'000'000) : now_nanos_(now_nanos) {}

  uint64_t NowNanos() override { return now_nanos_.load(); }
  void SleepNanos(uint64_t nanos) override {
    Advance(nanos);
    slept_nanos_ += nanos;
  }

  void Advance(uint64_t nanos) { now_nanos_ += nanos; }
  uint64_t slept_nanos() const { return slept_nanos_.load(); }  // the sum of all SleepNanos calls

 private:
  std::atomic<uint64_t> now_nanos_;
  std::atomic<uint64_t> slept_nanos_ = 0;
};

}  // namespace mergedb::testing
