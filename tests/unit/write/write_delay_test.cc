// Goal: a writer sleeps as long as the rate demands, in short sleeps, and never longer than the limit.
#include "write/write_delay.h"

#include <gtest/gtest.h>

#include "testing/manual_clock.h"

namespace mergedb::write {
namespace {

TEST(WriteDelay, LetsEveryonePassWhenThereIsNoBacklog) {
  testing::ManualClock clock;
  WriteDelay write_delay(&clock, 10'000'000);
  for (int i = 0; i < 1000; ++i) write_delay.Enter(100'000);
  EXPECT_EQ(clock.slept_nanos(), 0u);
}

TEST(WriteDelay, AddsUpWhatSmallWritesOweAndSleepsItOffInNaps) {
  testing::ManualClock clock;
  WriteDelay write_delay(&clock, 10'000'000);
  write_delay.SetRate(1000);  // nanoseconds per KiB
  for (int i = 0; i < 49; ++i) write_delay.Enter(1024);
  EXPECT_EQ(clock.slept_nanos(), 0u);
  write_delay.Enter(1024);
  EXPECT_EQ(clock.slept_nanos(), 50'000u);
  for (int i = 0; i < 450; ++i) write_delay.Enter(1024);
  EXPECT_EQ(clock.slept_nanos(), 500'000u);
  EXPECT_EQ(write_delay.waits().nanos(), 500'000u);
}

TEST(WriteDelay, PausesNoLongerThanTheLimit) {
  testing::ManualClock clock;
  WriteDelay write_delay(&clock, 10'000'000);
  write_delay.SetRate(1'000'000'000);
  write_delay.Enter(1 << 20);
  EXPECT_EQ(clock.slept_nanos(), 10'000'000u);
}

TEST(WriteDelay, ForgetsWhatIsOwedWhenTheBacklogIsGone) {
  testing::ManualClock clock;
  WriteDelay write_delay(&clock, 10'000'000);
  write_delay.SetRate(1000);
  write_delay.Enter(49 * 1024);
  write_delay.SetRate(0);
  write_delay.Enter(1024);
  write_delay.SetRate(1000);
  write_delay.Enter(49 * 1024);
  EXPECT_EQ(clock.slept_nanos(), 0u);
}

}  // namespace
}  // namespace mergedb::write
