// Looks for a schedule under which a small program fails (testing/scheduler.h).
//
//     const Explored explored = Explore({.name = "TornBatch", .random_runs = 100}, [](Scheduler& s) {...});
//     EXPECT_EQ(explored.finding, "");
//
// First all schedules with up to `deviations_max` choices that are not the default, as long as `systematic_runs_max`
// lasts; each run begins from the start ("stateless model checking", as CHESS does). Within a number of deviations the
// order is random, so that what an early end leaves out is spread. Then random ones: priorities that change at a few
// places (PCT), a few deviations anywhere, or a walk that goes to another thread every few decisions.
//
// A schedule that fails is shrunk, run once more to tell its story, and printed as a line that replays it:
//
//     MERGEDB_SCHEDULE='TornBatch 41>6 77>2' build/dev/tests/schedule_..._test
//
// Where a program has too many decisions for pairs of deviations, `only_at` names the few that matter.
//
// The program must begin with the same state each time, and must not depend on addresses, the time, or the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "testing/scheduler.h"

namespace mergedb::testing {

struct Exploration {
  std::string name;  // one word
  Scheduler::Options scheduler = {};
  size_t deviations_max = 1;
  uint64_t systematic_runs_max = 1'000'000;
  uint64_t random_runs = 0;
  // Deviations are made only where the running thread is at a point of one of these names. Empty: anywhere.
  std::vector<std::string> only_at = {};
  uint64_t seed = 1;
};

struct Explored {
  std::string finding;       // empty: no schedule failed
  uint64_t runs = 0;         // until the first that failed
  uint64_t decisions = 0;    // of the run without deviations
  bool is_complete = false;  // all schedules with up to `deviations_max` deviations were run
};

Explored Explore(const Exploration& exploration, const std::function<void(Scheduler&)>& program);

}  // namespace mergedb::testing
