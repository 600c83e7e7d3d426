#include "env/slow_call.h"

#include "base/perf.h"

namespace mergedb::env {

void SlowCall::Begin() {
  start_nanos_ = calls_.clock->NowNanos();
  scope_.emplace(&perf_);
}

void SlowCall::End() {
  scope_.reset();
  const uint64_t nanos = calls_.clock->NowNanos() - start_nanos_;
  if (PerfContext* const outer = base::thread_perf) {
    for (const base::PerfField& field : base::kPerfFields) {
      // The outer scope counts the waits itself.
      if (field.member != &PerfContext::wait_nanos) outer->*field.member += perf_.*field.member;
    }
  }
  if (nanos >= calls_.threshold_nanos) calls_.tell(call_, nanos, perf_);
}

}  // namespace mergedb::env
