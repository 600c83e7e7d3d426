// Goal: the write delay is 0 for a small backlog, never jumps, never falls when the backlog grows, and never
// exceeds its maximum.
#include "picker/write_delay.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace mergedb::picker {
namespace {

constexpr uint64_t kPauseMicros = 10'000;
constexpr uint64_t kMebi = uint64_t{1} << 20;
constexpr int kFields = 5;

Backlog LowBacklog() {
  return {.wal_bytes = 2 * kMebi,
          .wal_bytes_max = 16 * kMebi,
          .uncommitted_wal_bytes = 8 * kMebi,
          .uncommitted_wal_bytes_max = 32 * kMebi,
          .unflushed_bytes = 20 * kMebi,
          .unflushed_bytes_max = 32 * kMebi,
          .runs = 20,
          .runs_max = 80,
          .upper_bytes = 1 * kMebi,
          .upper_bytes_max = 100 * kMebi};
}

uint64_t* FieldOf(Backlog& backlog, int which) {
  uint64_t* const fields[] = {&backlog.wal_bytes, &backlog.unflushed_bytes, &backlog.runs, &backlog.upper_bytes,
                              &backlog.uncommitted_wal_bytes};
  return fields[which];
}
uint64_t MaxOf(const Backlog& backlog, int which) {
  const uint64_t maxima[] = {backlog.wal_bytes_max, backlog.unflushed_bytes_max, backlog.runs_max,
                             backlog.upper_bytes_max, backlog.uncommitted_wal_bytes_max};
  return maxima[which];
}

TEST(WriteDelayRate, IsZeroWithoutPendingBytes) {
  EXPECT_EQ(DelayNanos({}, 1 << 20, kPauseMicros), 0u);
  EXPECT_EQ(DelayNanos(LowBacklog(), 1 << 20, kPauseMicros), 0u);
}

TEST(WriteDelayRate, IsFullAtTheMaximumOfPendingBytes) {
  for (int which = 0; which < kFields; ++which) {
    Backlog backlog = LowBacklog();
    *FieldOf(backlog, which) = MaxOf(backlog, which);
    EXPECT_EQ(DelayNanos(backlog, 1, kPauseMicros), kPauseMicros * 1000) << which;
    *FieldOf(backlog, which) = UINT64_MAX;
    EXPECT_EQ(DelayNanos(backlog, 1, kPauseMicros), kPauseMicros * 1000) << which;
  }
}

TEST(WriteDelayRate, NamesTheBacklogThatDecides) {
  const std::string_view names[] = {"wal", "flush", "runs", "space", "commit"};  // in the order of FieldOf
  for (int which = 0; which < kFields; ++which) {
    Backlog backlog = LowBacklog();
    *FieldOf(backlog, which) = MaxOf(backlog, which) / 10 * 9;
    EXPECT_GT(DelayNanos(backlog, 1024, kPauseMicros), 0u) << which;
    EXPECT_EQ(WorstBacklog(backlog), names[which]);
  }
}

TEST(WriteDelayRate, NeverFallsAndNeverJumpsAsPendingBytesGrow) {
  for (int which = 0; which < kFields; ++which) {
    Backlog backlog = LowBacklog();
    const uint64_t backlog_max = 100'000;
    (which == 0   ? backlog.wal_bytes_max
     : which == 1 ? backlog.unflushed_bytes_max
     : which == 2 ? backlog.runs_max
     : which == 3 ? backlog.upper_bytes_max
                  : backlog.uncommitted_wal_bytes_max) = backlog_max;
    for (int other = 0; other < kFields; ++other) *FieldOf(backlog, other) = 0;
    uint64_t previous = 0;
    for (uint64_t value = 0; value <= backlog_max; value += backlog_max / 10'000) {
      *FieldOf(backlog, which) = value;
      const uint64_t delay = DelayNanos(backlog, 132, kPauseMicros);
      EXPECT_GE(delay, previous);
      // Below 100 us, a step of 1/10,000 of the maximum changes the delay by a few percent at most.
      if (delay < 100'000) { EXPECT_LE(delay - previous, 50 + delay / 16) << which << " at " << value; }
      previous = delay;
    }
    EXPECT_EQ(previous, kPauseMicros * 1000);
  }
}

TEST(WriteDelayRate, TheLargestPendingBytesDecide) {
  base::Random random(11);
  for (int i = 0; i < 1000; ++i) {
    Backlog backlog = LowBacklog();
    for (int which = 0; which < kFields; ++which) *FieldOf(backlog, which) = random.Uniform(MaxOf(backlog, which) + 1);
    const uint64_t delay = DelayNanos(backlog, 132, kPauseMicros);
    EXPECT_LE(delay, kPauseMicros * 1000);
    for (int which = 0; which < kFields; ++which) {
      Backlog more = backlog;
      *FieldOf(more, which) += random.Uniform(MaxOf(backlog, which));
      EXPECT_GE(DelayNanos(more, 132, kPauseMicros), delay);
    }
  }
}

TEST(WriteDelayRate, GrowsWithTheBytesOfThePut) {
  Backlog backlog = LowBacklog();
  backlog.runs = 60;
  const uint64_t small = DelayNanos(backlog, 100, kPauseMicros);
  EXPECT_GT(small, 0u);
  EXPECT_NEAR(static_cast<double>(DelayNanos(backlog, 1000, kPauseMicros)), 10.0 * static_cast<double>(small), 10.0);
}

TEST(WriteDelayRate, RemovalRestsLongerThanItTookUntilTooMuchWaits) {
  constexpr uint64_t kMillisecond = 1'000'000;
  constexpr uint64_t kBacklogMax = 1000;
  EXPECT_EQ(RemovalRestNanos(kMillisecond / 2, 0, kBacklogMax), 0u);  // this disk removes files at no cost
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
