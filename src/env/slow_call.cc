#include "env/slow_call.h"

#include <new>

#include "base/perf.h"

namespace mergedb::env {

void SlowCall::Begin() {
  measured_.emplace();
  measured_->start_nanos = calls_.clock->NowNanos();
  measured_->scope.emplace(&measured_->perf);
}

void SlowCall::End() {
  measured_->scope.reset();
  const PerfContext& perf = measured_->perf;
  const uint64_t nanos = calls_.clock->NowNanos() - measured_->start_nanos;
  if (PerfContext* const outer = base::thread_perf) {
    for (const base::PerfField& field : base::kPerfFields) {
      // The outer scope counts the waits itself.
      if (field.member != &PerfContext::wait_nanos) outer->*field.member += perf.*field.member;
    }
  }
  if (nanos < calls_.threshold_nanos) return;
  try {
    calls_.tell(call_, nanos, perf);
  } catch (const std::bad_alloc&) {  // the call is not told of
  }
}

}  // namespace mergedb::env
