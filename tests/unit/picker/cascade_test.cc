// Goal: each rule of cascade starts exactly at its limit and chooses the level that holds the result. Method: trees as
// text around the limits, with flushes of 4 MiB: level n holds 12 MiB x 2^n. tests/golden/picker/cascade.txt has an
// example of each rule.
#include "picker/styles.h"
#include "tests/unit/picker/pick_input.h"

namespace mergedb::picker {
namespace {

const std::string kLevelNine = "position 1 level 9: 1[a..z]3000MB\n";

// "13..10 -> L1 prefix": the newest and the oldest source, the target level and the reason.
std::string Cascade(const std::string& text, std::vector<RunningCompaction> running = {}) {
  Tree tree(text);
  tree.running = std::move(running);
  const auto pick = PickCascade(tree.Input(Urgency::kWriting, Style::kCascade));
  if (!pick) return "nothing";
  return std::to_string(kv::ToInt(pick->sources.front())) + ".." + std::to_string(kv::ToInt(pick->sources.back())) +
         " -> L" + std::to_string(pick->target_level) + " " + std::string(CompactionReasonName(pick->reason));
}

TEST(CascadeLevel, IsTheFirstThatHoldsTheBytes) {
  const Tree tree("");
  const PickInput input = tree.Input(Urgency::kWriting, Style::kCascade);
  EXPECT_EQ(CascadeLevel(input, 0), 1u) << "level 0 is for flushed runs";
  EXPECT_EQ(CascadeLevel(input, 24 * kMebibyte), 1u);
  EXPECT_EQ(CascadeLevel(input, 24 * kMebibyte + 1), 2u);
  EXPECT_EQ(CascadeLevel(input, 48 * kMebibyte), 2u);
  EXPECT_EQ(CascadeLevel(input, UINT64_MAX), 30u) << "the last level";
}

TEST(CascadePrefix, GoesToALevelThatHasRoomToSpare) {
  EXPECT_EQ(Cascade(Runs(12, 3, "0", "6MB") + "position 9 level 0: 9[a..z]6143KB\n" + kLevelNine),
            "12..9 -> L1 prefix");
  EXPECT_EQ(Cascade(Runs(12, 4, "0", "6MB") + kLevelNine), "12..9 -> L2 prefix") << "24 MiB would fill level 1";
}

TEST(CascadePrefix, TakesTheRunsOfTheLevelsOnItsWay) {
  const std::string flushed = Runs(14, 4, "0", "4MB");
  EXPECT_EQ(Cascade(flushed + "position 5 level 2: 5[a..z]40MB\n" + kLevelNine), "14..11 -> L1 prefix")
      << "16 MiB fit level 1, which is empty";
  EXPECT_EQ(Cascade(flushed + "position 5 level 1: 5[a..z]20MB\n" + kLevelNine), "14..5 -> L2 prefix");
  EXPECT_EQ(Cascade(flushed + "position 5 level 1: 5[a..z]24MB\nposition 4 level 3: 4[a..z]96MB\n" + kLevelNine),
            "14..5 -> L2 prefix");
}

TEST(CascadePrefix, AFlushedRunLargerThanLevel0IsNoneOfTheFour) {
  EXPECT_EQ(Cascade(Runs(14, 3, "0", "4MB") + "position 5 level 0: 5[a..z]12MB\n" + kLevelNine), "14..5 -> L2 prefix");
  EXPECT_EQ(Cascade(Runs(14, 3, "0", "4MB") + "position 5 level 0: 5[a..z]13MB\n" + kLevelNine), "nothing");
}

// Overwrites made the run of level 6 small: it counts at level 1, and is on the way of the prefix.
TEST(CascadePrefix, ARunThatBecameSmallCountsAtTheLevelThatHoldsIt) {
  EXPECT_EQ(Cascade(Runs(14, 4, "0", "4MB") + "position 5 level 6: 5[a..z]10MB\n" + kLevelNine), "14..5 -> L2 prefix");
}

TEST(CascadePrefix, StartsAboveARunningCompactionAtTwiceTheRuns) {
  const std::string rest = "position 5 level 6: 5[a..z]500MB\n" + kLevelNine;
  EXPECT_EQ(Cascade(Runs(17, 7, "0", "2MB") + rest, {Running({5, 1})}), "nothing");
  EXPECT_EQ(Cascade(Runs(17, 8, "0", "2MB") + rest, {Running({5, 1})}), "17..10 -> L1 prefix");
  EXPECT_EQ(Cascade(Runs(17, 7, "0", "2MB") + rest), "17..11 -> L1 prefix") << "nothing runs: four are enough";
}

// No level above the running compaction holds the flushed runs. Its own level is taken.
TEST(CascadePrefix, TwelveFlushedRunsGoToTheLastFreeLevelAlthoughItHasNoRoom) {
  const std::string held = "position 5 level 2: 5[a..z]40MB\n" + kLevelNine;
  EXPECT_EQ(Cascade(Runs(30, 11, "0", "4MB") + held, {Running({5})}), "nothing");
  EXPECT_EQ(Cascade(Runs(30, 12, "0", "4MB") + held, {Running({5})}), "30..19 -> L1 prefix");
  const std::string level_1 = "position 5 level 1: 5[a..z]20MB\n" + kLevelNine;
  EXPECT_EQ(Cascade(Runs(30, 12, "0", "4MB") + level_1, {Running({5})}), "nothing") << "no level is free";
}

TEST(CascadeSpace, AQuarterOfTheOldestRunMayLieAboveIt) {
  const std::string oldest = "position 1 level 6: 1[a..z]400MB\n";
  EXPECT_EQ(Cascade("position 9 level 4: 9[a..z]100MB\n" + oldest), "nothing");
  EXPECT_EQ(Cascade("position 9 level 4: 9[a..z]101MB\n" + oldest), "9..1 -> L6 space");
  EXPECT_EQ(Cascade("position 9 level 5: 9[a..z]369MB\n" + oldest), "9..1 -> L7 space") << "769 MiB do not fit level 6";
  EXPECT_EQ(Cascade(Runs(20, 3, "0", "4MB") + "position 9 level 4: 9[a..z]100MB\n" + oldest), "nothing")
      << "flushed runs do not count";
  EXPECT_EQ(Cascade(Runs(20, 3, "0", "4MB") + "position 9 level 4: 9[a..z]101MB\n" + oldest), "9..1 -> L6 space");
}

TEST(CascadeSpace, OnlyTheFourRunsAboveTheOldestCount) {
  const auto tree = [](const std::string& bytes) {
    return "position 9 level 1: 9[a..z]20MB\nposition 8 level 3: 8[a..z]90MB\nposition 7 level 5: 7[a..z]200MB\n"
           "position 6 level 6: 6[a..z]500MB\nposition 5 level 8: 5[a..z]" +
           bytes + "\nposition 1 level 11: 1[a..z]6000MB\n";
  };
  EXPECT_EQ(Cascade(tree("710MB")), "nothing") << "1,500 MiB in four runs, and 20 in the fifth";
  EXPECT_EQ(Cascade(tree("711MB")), "8..1 -> L10 space");
}

TEST(CascadeSpace, WaitsForTheEndOfEveryCompaction) {
  const std::string text =
      "position 12 level 1: 12[a..z]20MB\nposition 9 level 5: 9[a..z]200MB\nposition 1 level 6: 1[a..z]400MB\n";
  EXPECT_EQ(Cascade(text), "12..1 -> L6 space");
  EXPECT_EQ(Cascade(text, {Running({1})}), "nothing");
}

TEST(CascadeAdjacent, FourLevelsInARow) {
  const std::string three =
      "position 8 level 3: 8[a..z]96MB\nposition 7 level 4: 7[a..z]192MB\n"
      "position 6 level 5: 6[a..z]384MB\n";
  const std::string oldest = "position 1 level 11: 1[a..z]20000MB\n";
  EXPECT_EQ(Cascade(three + oldest), "nothing");
  EXPECT_EQ(Cascade("position 9 level 1: 9[a..z]20MB\n" + three + oldest), "nothing") << "level 2 is empty";
  EXPECT_EQ(Cascade("position 9 level 2: 9[a..z]48MB\n" + three + oldest), "9..6 -> L6 adjacent_full");
  EXPECT_EQ(Cascade("position 10 level 1: 10[a..z]24MB\nposition 9 level 2: 9[a..z]48MB\n" + three + oldest),
            "9..6 -> L6 adjacent_full")
      << "of five levels the four largest";
}

// The run of level 5 has more than its level holds, so the sum fits only level 7.
TEST(CascadeAdjacent, StaysAboveTheNextRun) {
  const std::string four =
      "position 9 level 2: 9[a..z]48MB\nposition 8 level 3: 8[a..z]96MB\n"
      "position 7 level 4: 7[a..z]192MB\nposition 6 level 5: 6[a..z]600MB\n";
  const std::string oldest = "position 1 level 11: 1[a..z]20000MB\n";
  EXPECT_EQ(Cascade(four + oldest), "9..6 -> L7 adjacent_full");
  EXPECT_EQ(Cascade(four + "position 5 level 7: 5[a..z]1000MB\n" + oldest), "9..6 -> L6 adjacent_full");
}

TEST(CascadePicker, NothingToCompactInFewerThanTwoFreeRuns) {
  EXPECT_EQ(Cascade(""), "nothing");
  EXPECT_EQ(Cascade(kLevelNine), "nothing");
  EXPECT_EQ(Cascade(Runs(30, 12, "0", "4MB") + kLevelNine, {Running({29})}), "nothing");
}

}  // namespace
}  // namespace mergedb::picker
