// Searches for a schedule under which a small program fails (testing/scheduler.h).
//
//     const Explored explored = Explore({.name = "TornBatch", .random_runs = 100}, [](Scheduler& s) {...});
//     EXPECT_EQ(explored.finding, "");
//
// The systematic part runs all schedules with up to `deviations_max` non-default choices, at most
// `systematic_runs_max` of them. Each run starts from the beginning ("stateless model checking", as in CHESS).
// Schedules with equally many deviations run in random order, so that an early end leaves out a random part.
//
// The random part uses three kinds of schedules: priorities that change at a few places (PCT), a few deviations at
// any place, and switches to any thread every few decisions.
//
// A schedule that fails is shrunk, run once more to print its story, and printed as a line that replays it:
//
//     MERGEDB_SCHEDULE='TornBatch 41>6 77>2' build/dev/tests/schedule_..._test
//
// If a program has too many decisions for pairs of deviations, `only_at` names the few points that matter.
//
// REQUIRES: the program starts from the same state each time, and does not depend on addresses, the time or the
// environment.
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
  // Deviations happen only where the running thread is at a point with one of these names. Empty: at all points.
  std::vector<std::string> only_at = {};
  uint64_t seed = 1;
  bool is_quiet = false;  // prints no line about what was run
};

struct Explored {
  std::string finding;       // empty: no schedule failed
  uint64_t runs = 0;         // up to the first failure
  uint64_t decisions = 0;    // of the run without deviations
  bool is_complete = false;  // all schedules with up to `deviations_max` deviations were run
};

Explored Explore(const Exploration& exploration, const std::function<void(Scheduler&)>& program);

}  // namespace mergedb::testing
