// Measures a call if Options::slow_call_us asks for it, and tells of a slow one with its PerfContext.
//
//     const env::SlowCall slow(slow_calls, "get");     // until the end of the scope
//
// What the call counts also counts for the PerfContext of the program, if there is one. Without a threshold the cost is
// one branch. THREADS: as its thread. Tests: tests/db/slow_call_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "mergedb/env.h"
#include "mergedb/perf_context.h"

namespace mergedb::env {

// The calls of one database. Constant after construction; `clock` outlives it.
struct SlowCalls {
  uint64_t threshold_nanos = 0;  // 0: no call is measured
  Clock* clock = nullptr;
  // Called by the thread of the slow call, at its end.
  std::function<void(std::string_view call, uint64_t nanos, const PerfContext& perf)> tell = {};
};

class SlowCall {
 public:
  SlowCall(const SlowCalls& calls, std::string_view call) : calls_(calls), call_(call) {
    if (calls.threshold_nanos != 0) [[unlikely]]
      Begin();
  }
  SlowCall(const SlowCall&) = delete;
  SlowCall& operator=(const SlowCall&) = delete;
  ~SlowCall() {
    if (measured_) [[unlikely]]
      End();
  }

 private:
  // WHY optional: an unmeasured call must not clear the counters.
  struct Measured {
    PerfContext perf = {};
    uint64_t start_nanos = 0;
    std::optional<PerfScope> scope = {};
  };

  void Begin();
  void End();

  const SlowCalls& calls_;
  const std::string_view call_;
  std::optional<Measured> measured_;
};

}  // namespace mergedb::env
