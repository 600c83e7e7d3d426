// The line that LevelDB's benchmark prints, and the sum of the threads' statistics.
#include "bench/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mergedb::bench {
namespace {

using testing::MatchesRegex;

TEST(ReportLine, IsLevelDbs) {
  ThreadStats stats;
  stats.Start(false);
  stats.CountOps(1000);
  stats.AddBytes(116000);
  stats.AddMessage("(1000 ops)");
  stats.Stop();
  EXPECT_THAT(ReportLine("fillrandom", stats),
              MatchesRegex("fillrandom   : +[0-9]+\\.[0-9]+ micros/op; +[0-9]+\\.[0-9] MB/s \\(1000 ops\\)\n"));
  EXPECT_EQ(ReportLine("fillrandom", stats).find(" micros/op;"), 12u + 3u + 11u);
}

TEST(ReportLine, HasNoTailWithoutBytesOrMessage) {
  ThreadStats stats;
  stats.Start(false);
  stats.CountOps(1);
  stats.Stop();
  EXPECT_THAT(ReportLine("compact", stats), MatchesRegex("compact      : +[0-9]+\\.[0-9]+ micros/op;\n"));
}

TEST(ThreadStats, CountsOneLatencyForOperationsThatTookEffectTogether) {
  ThreadStats stats;
  stats.Start(true);
  stats.FinishedOps(1000);
  stats.FinishedOps(1000);
  EXPECT_EQ(stats.done(), 2000);
  EXPECT_EQ(stats.latencies().count(), 2u);
}

TEST(ThreadStats, MergedThreadsAddTheirTimeButNotTheWall) {
  ThreadStats first, second;
  first.Start(false);
  second.Start(false);
  first.CountOps(10);
  second.CountOps(30);
  first.Stop();
  second.Stop();
  const double sum = first.wall_seconds() + second.wall_seconds();
  first.Merge(second);
  EXPECT_EQ(first.done(), 40);
  EXPECT_NEAR(first.thread_seconds(), sum, 1e-9);
  EXPECT_LE(first.wall_seconds(), sum + 1e-9);
}

TEST(ThreadStats, TimeTakenOffIsNotWork) {
  ThreadStats stats;
  stats.Start(false);
  while (NowNanos() % 1000000 > 500000) {}
  stats.Stop();
  const double before = stats.wall_seconds();
  stats.TakeOff(before / 2);
  EXPECT_NEAR(stats.wall_seconds(), before / 2, 1e-8);
}

}  // namespace
}  // namespace mergedb::bench
