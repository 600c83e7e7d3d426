// Goal: simulated time jumps to the due tasks in order, and the delayed tasks of an executor end with the
// executor.
#include "testing/simulated_time.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace mergedb::testing {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(SimulatedTime, LeapsToWhatIsDueInOrder) {
  SimulatedTime time;
  const uint64_t begin = time.NowNanos();
  std::vector<int> order;
  time.RunAt(begin + 3600 * kSecond, [&] { order.push_back(2); });
  time.RunAt(begin + 60 * kSecond, [&] { order.push_back(1); });
  time.SleepNanos(7200 * kSecond);
  EXPECT_EQ(order, (std::vector{1, 2}));
  EXPECT_EQ(time.NowNanos(), begin + 7200 * kSecond);
}

// Symptom: db_slow_disk_test sometimes ends with a corrupted heap. Cause: a timer of a database comes due
// between the end of its executor and the end of its time.
TEST(SimulatedTime, WhatIsDelayedEndsWithItsExecutor) {
  SimulatedTime time;
  std::atomic<int> done = 0;
  {
    SimulatedExecutor executor(time, 1, 1);
    executor.ScheduleAfter(kSecond, [&] { ++done; });
    time.SleepNanos(2 * kSecond);
    while (done == 0) std::this_thread::yield();
    executor.ScheduleAfter(kSecond, [&] { ++done; });
  }
  time.SleepNanos(2 * kSecond);
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace mergedb::testing
