// Latency at a fixed arrival rate: puts are due at a fixed rate even if the engine falls behind, and the
// latency of a put starts at its due time. (A loop that waits for each put before the next shows only one put
// of every pause.)
//
// In parallel, a control thread does the same with a store to memory instead of a put. Its largest latency is
// the delay that the machine alone causes.
#pragma once

#include "bench/histogram.h"

namespace mergedb::bench {

struct OpenLoopResult {
  double rate = 0;
  double seconds = 0;
  Histogram puts;     // nanoseconds from the due time to the end
  Histogram control;  // the same for the control thread
};

struct Task;
// Sleeps, and spins at the end, so that it returns within microseconds after this time (NowNanos).
void WaitUntil(uint64_t due_nanos);

void RunOpenLoop(Task& task);

}  // namespace mergedb::bench
