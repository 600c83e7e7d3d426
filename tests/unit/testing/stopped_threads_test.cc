// Goal: stopped threads make progress. Method: one member that is stopped as often, and for as long, as possible.
#include "testing/stopped_threads.h"

#include <gtest/gtest.h>

#include <thread>

namespace mergedb::testing {
namespace {

// Symptom: a thread was stopped again before it had run at all, so that the last members of a race test never ended.
TEST(StoppedThreads, TheOnlyMemberMakesProgress) {
  uint64_t progress = 0;  // stops after which the member went on
  StoppedThreads stopper({.seed = 1, .between_us_max = 1, .stop_us_max = 20'000});
  std::thread([&] {
    const StoppedThreads::Member member(stopper);
    for (uint64_t seen = 0; progress < 20 && seen < 400;) {
      if (stopper.stops() == seen) continue;
      seen = stopper.stops();
      ++progress;
    }
  }).join();
  EXPECT_EQ(progress, 20u) << "in 400 stops";
}

}  // namespace
}  // namespace mergedb::testing
