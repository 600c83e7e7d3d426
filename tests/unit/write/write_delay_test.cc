// Goal: a writer sleeps as long as the rate demands, in short sleeps, and never longer than the limit.
#include "write/write_delay.h"

#include <gtest/gtest.h>

#include "testing/manual_clock.h"

namespace mergedb::write {
namespace {

TEST(WriteDelay, DelaysNoWriterWithoutPendingBytes) {
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

// Symptom: the product of rate and bytes passed 64 bits, and the pause was short.
TEST(WriteDelay, PausesAsLongForTheLargestBatchAtTheSlowestRate) {
  testing::ManualClock clock;
  constexpr uint64_t kHour = uint64_t{3600} * 1'000'000'000;
  WriteDelay write_delay(&clock, kHour);
  write_delay.SetRate(kHour);
  for (const size_t bytes : {size_t{1024}, size_t{5} << 20, size_t{5'124'096}, size_t{2} << 30}) {
    const uint64_t before = clock.slept_nanos();
    write_delay.Enter(bytes);
    EXPECT_EQ(clock.slept_nanos() - before, kHour) << bytes;
  }
}

TEST(WriteDelay, ForgetsItsDelayWhenNoBytesArePending) {
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
