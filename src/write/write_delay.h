// Delayed writes: a writer waits as picker/write_delay.h says, so that writes are as fast as compactions can sustain.
//
// db/background/write_controller.h sets the rate in nanoseconds per KiB. The holder of the exclusive section adds up
// its delay and sleeps when it owes 50 us or more, at most write_delay_us_max at a time. WHY 50 us: a timer cannot
// sleep less.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/wait_counter.h"
#include "mergedb/env.h"

namespace mergedb::write {

class WriteDelay {
 public:
  WriteDelay(Clock* clock, uint64_t pause_nanos_max) : clock_(clock), pause_nanos_max_(pause_nanos_max) {}

  // THREADS: any.
  void SetRate(uint64_t nanos_per_kib) { nanos_per_kib_.store(nanos_per_kib, std::memory_order_relaxed); }
  uint64_t rate() const { return nanos_per_kib_.load(std::memory_order_relaxed); }
  const base::WaitCounter& waits() const { return waits_; }

  // REQUIRES: the exclusive section.
  void Enter(size_t bytes) {
    const uint64_t rate_now = rate();
    if (rate_now == 0) [[likely]] {
      owed_ = 0;
      return;
    }
    uint64_t nanos = 0;                                                       // times 1024
    if (__builtin_mul_overflow(rate_now, bytes, &nanos)) nanos = UINT64_MAX;  // months: more than any pause
    owed_ += nanos / 1024;
    if (owed_ < kNapNanos) return;
    const uint64_t nap = std::min(owed_, pause_nanos_max_);
    clock_->SleepNanos(nap);
    waits_.Add(nap);
    owed_ = 0;
  }

 private:
  static constexpr uint64_t kNapNanos = 50'000;

  Clock* const clock_;
  const uint64_t pause_nanos_max_;
  std::atomic<uint64_t> nanos_per_kib_{0};
  base::WaitCounter waits_;
  uint64_t owed_ = 0;  // guarded by the exclusive section
};

}  // namespace mergedb::write
