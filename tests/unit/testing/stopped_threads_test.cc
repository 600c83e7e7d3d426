// Goal: stopped threads make progress. Method: one member that is stopped as often, and for as long, as possible.
#include "testing/stopped_threads.h"

#include <gtest/gtest.h>

#include <thread>

namespace mergedb::testing {
namespace {

// Symptom: a thread was stopped again before it had run at all, so that the last members of a race test never ended.
TEST(StoppedThreads, TheOnlyMemberMakesProgress) {
  StoppedThreads stopper({.seed = 1, .between_us_max = 1, .stop_us_max = 20'000});
  std::thread([&] {
    const StoppedThreads::Member member(stopper);
    for (uint64_t progress = 0, seen = 0; progress < 20; ++progress) {
      while (stopper.stops() == seen) {}
      seen = stopper.stops();
    }
  }).join();
  EXPECT_LE(stopper.stops(), 200u) << "stops within which the member went on 20 times";
}

}  // namespace
}  // namespace mergedb::testing
