// A writer sleeps as the rate says, in naps, and never longer than the limit.
#include "write/write_delay.h"

#include <gtest/gtest.h>

#include "testing/manual_clock.h"

namespace mergedb::write {
namespace {

TEST(Gate, LetsEveryonePassWhenThereIsNoDebt) {
  testing::ManualClock clock;
  Gate gate(&clock, 10'000'000);
  for (int i = 0; i < 1000; ++i) gate.Enter(100'000);
  EXPECT_EQ(clock.slept_nanos(), 0u);
}

TEST(Gate, AddsUpWhatSmallWritesOweAndSleepsItOffInNaps) {
  testing::ManualClock clock;
  Gate gate(&clock, 10'000'000);
  gate.SetRate(1000);  // nanoseconds a KiB
  for (int i = 0; i < 49; ++i) gate.Enter(1024);
  EXPECT_EQ(clock.slept_nanos(), 0u);
  gate.Enter(1024);
  EXPECT_EQ(clock.slept_nanos(), 50'000u);
  for (int i = 0; i < 450; ++i) gate.Enter(1024);
  EXPECT_EQ(clock.slept_nanos(), 500'000u);
  EXPECT_EQ(gate.waits().nanos(), 500'000u);
}

TEST(Gate, PausesNoLongerThanTheLimit) {
  testing::ManualClock clock;
  Gate gate(&clock, 10'000'000);
  gate.SetRate(1'000'000'000);
  gate.Enter(1 << 20);
  EXPECT_EQ(clock.slept_nanos(), 10'000'000u);
}

TEST(Gate, ForgetsWhatIsOwedWhenTheDebtIsGone) {
  testing::ManualClock clock;
  Gate gate(&clock, 10'000'000);
  gate.SetRate(1000);
  gate.Enter(49 * 1024);
  gate.SetRate(0);
  gate.Enter(1024);
  gate.SetRate(1000);
  gate.Enter(49 * 1024);
  EXPECT_EQ(clock.slept_nanos(), 0u);
}

}  // namespace
}  // namespace mergedb::write
