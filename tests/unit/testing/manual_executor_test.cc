// Goal: work runs only on request, in the order that the options choose; time passes only on request.
#include "testing/manual_executor.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "testing/manual_clock.h"

namespace mergedb::testing {
namespace {

std::vector<int> OrderOfFour(const ManualExecutor::Options& options) {
  ManualExecutor executor(options);
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) executor.Schedule([&order, i] { order.push_back(i); });
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(executor.waiting(), 4u);
  EXPECT_EQ(executor.RunAll(), 4u);
  return order;
}

TEST(ManualExecutor, RunsFirstComeFirstServedWithoutASeed) {
  EXPECT_EQ(OrderOfFour({}), (std::vector<int>{0, 1, 2, 3}));
}

TEST(ManualExecutor, TakesItsOrderFromTheSeed) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<int> order = OrderOfFour({.seed = seed});
    EXPECT_EQ(order, OrderOfFour({.seed = seed}));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 15u);
}

TEST(ManualExecutor, WorkMayScheduleAndRunOther) {
  ManualExecutor executor;
  std::vector<int> order;
  executor.Schedule([&] {
    executor.Schedule([&] { order.push_back(1); });
    EXPECT_TRUE(executor.RunOne());
    order.push_back(2);
  });
  EXPECT_TRUE(executor.RunOne());
  EXPECT_FALSE(executor.RunOne());
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(ManualClock, MovesOnlyWhenToldOrSleptOn) {
  ManualClock clock(100);
  EXPECT_EQ(clock.NowNanos(), 100u);
  EXPECT_EQ(clock.NowNanos(), 100u);
  clock.SleepNanos(20);
  clock.Advance(3);
  EXPECT_EQ(clock.NowNanos(), 123u);
  EXPECT_EQ(clock.slept_nanos(), 20u);
}

}  // namespace
}  // namespace mergedb::testing
