// Goal: seeks that visit many runs pay for compactions that leave fewer, and nothing begins before they have paid.
// Method: trees as text; credits one visit below and at the price.
#include "picker/styles.h"
#include "tests/unit/picker/pick_input.h"

namespace mergedb::picker {
namespace {

const std::string kBottommost = "position 1 level bottom: 1[a..z]100MB\n";

std::string ForReads(const std::string& text, uint64_t visits, Style style = Style::kLazy,
                     std::vector<RunningCompaction> running = {}) {
  Tree tree(text);
  tree.running = std::move(running);
  PickInput input = tree.Input(Urgency::kWriting, style);
  input.extra_run_visits = visits;
  return Print(PickForReads(input));
}

TEST(ReadsPicker, FourFlushedRunsBecomeOneWhenSeeksHavePaid) {
  const std::string tree = Runs(20, 4, "0", "4MB") + kBottommost;
  const uint64_t price = RunVisitsFor(16 * kMebibyte);
  EXPECT_GT(price, kRunVisitsMin);
  EXPECT_EQ(ForReads(tree, price), "20+19+18+17 -> L1 reason=reads input=16MB");
  EXPECT_EQ(ForReads(tree, price - 1), "nothing");
  EXPECT_EQ(ForReads(tree, 0), "nothing");
}

TEST(ReadsPicker, FewerThanFourRunsOfALevelGoIntoTheOldestRun) {
  const std::string tree = Runs(20, 3, "0", "4MB") + kBottommost;
  EXPECT_EQ(ForReads(tree, UINT64_MAX), "20+19+18+1 -> bottom reason=reads input=112MB drops_tombstones");
  EXPECT_EQ(ForReads(tree, RunVisitsFor(112 * kMebibyte) - 1), "nothing");
}

TEST(ReadsPicker, AHigherTierIsMergedToo) {
  EXPECT_EQ(ForReads(Runs(40, 3, "0", "4MB") + Runs(20, 4, "1", "64MB") + kBottommost, UINT64_MAX),
            "20+19+18+17 -> L2 reason=reads input=256MB");
}

TEST(ReadsPicker, OneRunIsLeftAlone) {
  EXPECT_EQ(ForReads(kBottommost, UINT64_MAX), "nothing");
  EXPECT_EQ(ForReads("", UINT64_MAX), "nothing");
}

TEST(ReadsPicker, AFewVisitsPayForNothing) {
  const std::string tree = Runs(20, 4, "0", "4KB") + kBottommost;
  EXPECT_EQ(RunVisitsFor(16 << 10), kRunVisitsMin);
  EXPECT_EQ(ForReads(tree, kRunVisitsMin - 1), "nothing");
  EXPECT_EQ(ForReads(tree, kRunVisitsMin), "20+19+18+17 -> L1 reason=reads input=16384B");
}

TEST(ReadsPicker, RunsOfARunningCompactionStay) {
  const std::string tree = Runs(20, 4, "0", "4MB") + kBottommost;
  EXPECT_EQ(ForReads(tree, UINT64_MAX, Style::kLazy, {Running({20, 19, 18, 17, 1})}), "nothing");
}

TEST(ReadsPicker, CascadeMergesIntoTheOldestRun) {
  EXPECT_EQ(ForReads(Runs(20, 4, "0", "4MB") + kBottommost, UINT64_MAX, Style::kCascade),
            "20+19+18+17+1 -> bottom reason=reads input=116MB drops_tombstones");
}

TEST(ReadsPicker, OtherWorkComesFirst) {
  Tree tree(Runs(60, 16, "0", "4MB") + kBottommost);
  PickInput input = tree.Input();
  input.extra_run_visits = UINT64_MAX;
  const auto pick = Pick(input);
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->reason, CompactionReason::kTierFull);
}

}  // namespace
}  // namespace mergedb::picker
