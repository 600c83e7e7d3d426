// Latency as a user meets it: puts arrive at a fixed rate whether or not the engine keeps up, and each is timed from
// the moment it was due. (A loop that waits for one put before it sends the next hides every pause but one.)
//
// Beside it a control thread does the same with a store to memory instead of a put: its worst is what the machine
// itself does to a thread.
#pragma once

#include "base/histogram.h"

namespace mergedb::bench {

struct OpenLoopResult {
  double rate = 0;
  double seconds = 0;
  base::Histogram puts;     // nanoseconds from due to done
  base::Histogram control;  // the same of the control thread
};

struct Task;
void RunOpenLoop(Task& task);

}  // namespace mergedb::bench
