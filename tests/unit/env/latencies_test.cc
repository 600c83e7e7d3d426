// Goal: a timer measures one of 64 calls and lets it stand for 64, each call with a long wait counts once, and a read
// of a file counts as a wait. Method: a clock that the test moves; many calls of known length.
#include "env/latencies.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "testing/fault_file_system.h"
#include "testing/manual_clock.h"
#include "testing/status_matchers.h"

namespace mergedb::env {
namespace {

class LatenciesTest : public ::testing::Test {
 protected:
  void Call(uint64_t works_nanos, uint64_t waits_nanos) {
    const LatencyTimer timer(latencies_, Operation::kGet);
    clock_.Advance(works_nanos + waits_nanos);
    base::thread_waited_nanos += waits_nanos;
  }
  base::HistogramCounts Gets() const { return latencies_.Read(Operation::kGet); }

  testing::ManualClock clock_;
  Latencies latencies_{&clock_};
};

TEST_F(LatenciesTest, SampleStandsForAllCalls) {
  constexpr uint64_t kCalls = 200'000;
  for (uint64_t i = 0; i < kCalls; ++i) Call(1000, 0);
  EXPECT_EQ(Gets().count() % 64, 0u);
  EXPECT_NEAR(static_cast<double>(Gets().count()), kCalls, kCalls / 20);
  EXPECT_EQ(Gets().sum(), Gets().count() * 1000);
  EXPECT_EQ(Gets().Quantile(0.5), 1000u) << "no more than the maximum";
}

TEST_F(LatenciesTest, EachCallWithALongWaitCountsOnce) {
  for (int i = 0; i < 1000; ++i) Call(500, Latencies::kLongWaitNanos);
  EXPECT_EQ(Gets().count(), 1000u);
  EXPECT_GE(Gets().sum(), 1000 * Latencies::kLongWaitNanos);
  EXPECT_LE(Gets().sum(), 1000 * (Latencies::kLongWaitNanos + 500));
}

// One call of a thousand is slow. Its share is right, although 64 calls stand for each fast call that was measured.
TEST_F(LatenciesTest, TheTailHasItsShare) {
  for (int i = 0; i < 200'000; ++i) i % 1000 == 0 ? Call(0, 10'000'000) : Call(1000, 0);
  EXPECT_NEAR(static_cast<double>(Gets().count()), 200'000, 10'000);
  EXPECT_LE(Gets().Quantile(0.998), 1032u);
  EXPECT_GT(Gets().Quantile(0.9992), 9'000'000u);
}

TEST_F(LatenciesTest, SampleIsNotPeriodic) {
  // Every 64th call takes long without a known wait. A period of 64 would measure all of them or none.
  for (int i = 0; i < 200'000; ++i) Call(i % 64 == 0 ? 40'000 : 100, 0);
  const uint64_t slow = Gets().count() - Gets().CountUpTo(10);
  EXPECT_NEAR(static_cast<double>(slow), 200'000 / 64, 200'000 / 64 / 2);
}

TEST_F(LatenciesTest, RepeatInANewDatabase) {
  Latencies other(&clock_);
  std::vector<bool> first, second;
  for (int i = 0; i < 500; ++i) {
    first.push_back(latencies_.IsSampled(Operation::kWrite));
    second.push_back(other.IsSampled(Operation::kWrite));
  }
  EXPECT_EQ(first, second);
}

TEST_F(LatenciesTest, IntervalsOfNextHaveTheirMean) {
  uint64_t sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const uint32_t interval = latencies_.DrawNextInterval();
    ASSERT_GE(interval, 1u);
    sum += interval;
  }
  EXPECT_NEAR(static_cast<double>(sum) / 10'000, Latencies::kNextSampleInterval, 10);
}

TEST_F(LatenciesTest, WaitOfAnotherThreadDoesNotCount) {
  std::thread([] { base::thread_waited_nanos += 1'000'000; }).join();
  const uint64_t before = base::thread_waited_nanos;
  Call(0, 0);
  EXPECT_EQ(base::thread_waited_nanos, before);
  EXPECT_EQ(Gets().max(), 0u);
}

TEST_F(LatenciesTest, ReadIsAWait) {
  testing::FaultFileSystem files;
  ASSERT_OK(files.CreateDirectory("/d"));
  ASSERT_OK_AND_ASSIGN(const auto file, files.Open("/d/f", {.access = Access::kCreate}));
  ASSERT_OK(file->WriteAt(0, "abcdef"));
  char out[4];
  ASSERT_OK(ReadMeasured(&latencies_, file.get(), 1, 3, out));
  EXPECT_EQ(std::string_view(out, 3), "bcd");
  EXPECT_EQ(latencies_.Read(Operation::kDeviceRead).count(), 1u);
  EXPECT_TRUE(ReadMeasured(&latencies_, file.get(), 4, 3, out).IsCorruption());
  EXPECT_EQ(latencies_.Read(Operation::kDeviceRead).count(), 2u);
  ASSERT_OK(ReadMeasured(nullptr, file.get(), 0, 1, out));
  EXPECT_EQ(latencies_.Read(Operation::kDeviceRead).count(), 2u);

  const uint64_t before = base::thread_waited_nanos;
  latencies_.RecordDeviceRead(77);
  EXPECT_EQ(base::thread_waited_nanos, before + 77);
}

TEST_F(LatenciesTest, CountsOfManyThreads) {
  constexpr int kThreads = 8, kCalls = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int call = 0; call < kCalls; ++call) {
        const LatencyTimer timer(latencies_, Operation::kWrite);
        base::thread_waited_nanos += Latencies::kLongWaitNanos;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(latencies_.Read(Operation::kWrite).count(), uint64_t{kThreads} * kCalls);
}

}  // namespace
}  // namespace mergedb::env
