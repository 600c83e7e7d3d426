// Goal: the delay is nothing while debts are low, never jumps, never falls when a debt grows, never passes its maximum.
#include "picker/write_delay.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace mergedb::picker {
namespace {

constexpr uint64_t kPauseMicros = 10'000;
constexpr uint64_t kMebi = uint64_t{1} << 20;

Debt LowDebt() {
  return {.staged_bytes = 2 * kMebi, .staging_bytes_max = 16 * kMebi, .unflushed_bytes = 20 * kMebi,
          .unflushed_bytes_max = 32 * kMebi, .runs = 20, .runs_max = 80, .upper_bytes = 1 * kMebi,
          .upper_bytes_max = 100 * kMebi};
}

uint64_t* FieldOf(Debt& debt, int which) {
  uint64_t* const fields[] = {&debt.staged_bytes, &debt.unflushed_bytes, &debt.runs, &debt.upper_bytes};
  return fields[which];
}
uint64_t MaxOf(const Debt& debt, int which) {
  const uint64_t maxima[] = {debt.staging_bytes_max, debt.unflushed_bytes_max, debt.runs_max, debt.upper_bytes_max};
  return maxima[which];
}

TEST(Pace, IsNothingWithoutDebt) {
  EXPECT_EQ(DelayNanos({}, 1 << 20, kPauseMicros), 0u);
  EXPECT_EQ(DelayNanos(LowDebt(), 1 << 20, kPauseMicros), 0u);
}

TEST(Pace, IsWholeWhenADebtReachesItsMaximum) {
  for (int which = 0; which < 4; ++which) {
    Debt debt = LowDebt();
    *FieldOf(debt, which) = MaxOf(debt, which);
    EXPECT_EQ(DelayNanos(debt, 1, kPauseMicros), kPauseMicros * 1000) << which;
    *FieldOf(debt, which) = UINT64_MAX;
    EXPECT_EQ(DelayNanos(debt, 1, kPauseMicros), kPauseMicros * 1000) << which;
  }
}

TEST(Pace, NeverFallsAndNeverJumpsAsADebtGrows) {
  for (int which = 0; which < 4; ++which) {
    Debt debt = LowDebt();
    const uint64_t debt_max = 100'000;
    (which == 0 ? debt.staging_bytes_max : which == 1 ? debt.unflushed_bytes_max : which == 2 ? debt.runs_max
                                                                                  : debt.upper_bytes_max) = debt_max;
    for (int other = 0; other < 4; ++other) *FieldOf(debt, other) = 0;
    uint64_t previous = 0;
    for (uint64_t value = 0; value <= debt_max; value += debt_max / 10'000) {
      *FieldOf(debt, which) = value;
      const uint64_t delay = DelayNanos(debt, 132, kPauseMicros);
      EXPECT_GE(delay, previous);
      // Below a hundred microseconds a step of a ten-thousandth of the debt is felt by a few percent at most.
      if (delay < 100'000) {
        EXPECT_LE(delay - previous, 50 + delay / 16) << which << " at " << value;
      }
      previous = delay;
    }
    EXPECT_EQ(previous, kPauseMicros * 1000);
  }
}

TEST(Pace, TheWorstDebtRules) {
  base::Random random(11);
  for (int i = 0; i < 1000; ++i) {
    Debt debt = LowDebt();
    for (int which = 0; which < 4; ++which) *FieldOf(debt, which) = random.Uniform(MaxOf(debt, which) + 1);
    const uint64_t delay = DelayNanos(debt, 132, kPauseMicros);
    EXPECT_LE(delay, kPauseMicros * 1000);
    for (int which = 0; which < 4; ++which) {
      Debt more = debt;
      *FieldOf(more, which) += random.Uniform(MaxOf(debt, which));
      EXPECT_GE(DelayNanos(more, 132, kPauseMicros), delay);
    }
  }
}

TEST(Pace, GrowsWithTheBytesOfThePut) {
  Debt debt = LowDebt();
  debt.runs = 60;
  const uint64_t small = DelayNanos(debt, 100, kPauseMicros);
  EXPECT_GT(small, 0u);
  EXPECT_NEAR(static_cast<double>(DelayNanos(debt, 1000, kPauseMicros)), 10.0 * static_cast<double>(small), 10.0);
}

TEST(Pace, RemovalRestsLongerThanItTookUntilTooMuchWaits) {
  constexpr uint64_t kMillisecond = 1'000'000;
  constexpr uint64_t kBacklogMax = 1000;
  EXPECT_EQ(RemovalRestNanos(kMillisecond / 2, 0, kBacklogMax), 0u);  // a disk to which removing costs nothing
  EXPECT_EQ(RemovalRestNanos(16 * kMillisecond, 0, kBacklogMax), 48 * kMillisecond);
  uint64_t previous = UINT64_MAX;
  for (uint64_t backlog = 0; backlog <= 2 * kBacklogMax; backlog += 50) {
    const uint64_t rest = RemovalRestNanos(16 * kMillisecond, backlog, kBacklogMax);
    EXPECT_LE(rest, previous);
    previous = rest;
  }
  EXPECT_EQ(previous, 0u);
  EXPECT_EQ(RemovalRestNanos(16 * kMillisecond, 0, 0), 0u);
}

}  // namespace
}  // namespace mergedb::picker
