// Goal: the estimate of the live bytes is a lower bound that tombstones reduce; the space bounds begin at their exact
// byte; runs move only where that is worth it. Method: small trees as text, one byte or table around each limit.
// picks_test.cc has the whole picks, write_delay_test.cc the write delay.
#include "picker/picker.h"

#include "picker/styles.h"
#include "tests/unit/picker/pick_input.h"

namespace mergedb::picker {
namespace {

uint64_t LiveKibibytes(const std::string& text, uint64_t known_kibibytes = 0) {
  const Tree tree(text);
  PickInput input = tree.Input();
  input.live_bytes_known = known_kibibytes << 10;
  return LiveBytesAtLeast(input) >> 10;
}

// A table has one entry for each KiB.
TEST(LiveBytes, AreTheLargestRunLessWhatNewerTombstonesMayDelete) {
  const std::string oldest = "position 1 level bottom: 1[a..z]1000KB\n";
  EXPECT_EQ(LiveKibibytes(oldest), 1000u);
  EXPECT_EQ(LiveKibibytes("position 9 level 0: 9[a..z]100KB\n" + oldest), 1000u);
  EXPECT_EQ(LiveKibibytes("position 9 level 0: 9[a..z]100KB,50%\n" + oldest), 950u);
  EXPECT_EQ(LiveKibibytes(oldest + "\nposition 9 level 0: 9[a..z]3000KB"), 3000u) << "the newer run is the largest";
  EXPECT_EQ(LiveKibibytes("position 9 level 0: 9[a..z]3000KB,100%\n" + oldest), 0u);
  EXPECT_EQ(LiveKibibytes("position 1 level bottom: 1[a..z]1000KB,30%"), 700u) << "its own tombstones are not live";
}

TEST(LiveBytes, OlderTombstonesDeleteNothingOfANewerRun) {
  EXPECT_EQ(LiveKibibytes("position 9 level 0: 9[a..z]800KB\nposition 1 level bottom: 1[a..z]1000KB,100%"), 800u);
}

TEST(LiveBytes, AreReducedByMaskedBytesDownToNothing) {
  const std::string oldest = "position 1 level bottom: 1[a..z]1000KB\n";
  EXPECT_EQ(LiveKibibytes("position 9 level 0: 9[a..z]4KB,0%,300KB\n" + oldest), 700u);
  EXPECT_EQ(LiveKibibytes("position 9 level 0: 9[a..z]4KB,0%,5000KB\n" + oldest), 4u) << "the newer run alone";
}

TEST(LiveBytes, AreAtLeastTheKnownOnesAndAtMostThoseOnDisk) {
  const std::string tree = "position 9 level 0: 9[a..z]100KB,50%\nposition 1 level bottom: 1[a..z]1000KB\n";
  EXPECT_EQ(LiveKibibytes(tree, 949), 950u);
  EXPECT_EQ(LiveKibibytes(tree, 951), 951u);
  EXPECT_EQ(LiveKibibytes(tree, 1100), 1100u);
  EXPECT_EQ(LiveKibibytes(tree, 1101), 1100u);
  EXPECT_EQ(LiveKibibytes("", 1000), 0u);
}

TEST(LiveBytes, IncludeValuesInProportion) {
  const Tree tree(
      "position 9 level 0: 9[a..z]100KB,50%\n"
      "position 1 level bottom: 1[a..z]1000KB{90:3000KB}\nvalues 90 3000KB\n");
  EXPECT_EQ(LiveBytesAtLeast(tree.Input()) >> 10, 4000u * 95 / 100);
  EXPECT_EQ(LiveTableBytesAtLeast(tree.Input()) >> 10, 950u);
}

TEST(SpaceBound, OfLazyIsTwiceTheLiveBytesAndATierOfFlushes) {
  const std::string at_bound = "position 9 level 1: 9[a..z]100MB\nposition 1 level bottom: 1[a..z]100MB\n";
  EXPECT_EQ(BytesAllowed(Tree(at_bound).Input()), 264 * kMebibyte);
  EXPECT_EQ(BytesOverBound(Tree("position 20 level 1: 20[a..z]64MB\n" + at_bound).Input()), 0u);
  EXPECT_EQ(BytesOverBound(Tree("position 20 level 1: 20[a..z]65537KB\n" + at_bound).Input()), 1024u);
}

TEST(SpaceBound, IsTighterWithoutWrites) {
  const std::string oldest = "position 1 level bottom: 1[a..z]100MB\n";
  const Tree quarter("position 9 level 1: 9[a..z]25MB\n" + oldest);
  const Tree more("position 9 level 1: 9[a..z]25601KB\n" + oldest);
  EXPECT_EQ(BytesOverBound(quarter.Input(Urgency::kQuiet)), 0u);
  EXPECT_EQ(BytesOverBound(more.Input(Urgency::kQuiet)), 1024u);
  EXPECT_EQ(BytesOverBound(quarter.Input(Urgency::kIdle)), 25 * kMebibyte);
  EXPECT_EQ(BytesOverBound(more.Input(Urgency::kWriting)), 0u);
}

// Outputs of a compaction stand beside the rest of the table that they replace.
TEST(LiveBytes, DoNotCountATableAndTheOutputsThatReplaceIt) {
  const std::string rest = "6[t..z]500KB\n";
  EXPECT_EQ(LiveKibibytes("position 1 level bottom: 5[a..s]1000KB " + rest), 1500u);
  EXPECT_EQ(LiveKibibytes("position 1 level bottom: 5[a..b) 7[b..f]300KB 5[g..s]1000KB " + rest), 1500u);
  EXPECT_EQ(LiveKibibytes("position 1 level bottom: 5[a..b) 7[b..f]300KB 8[g..p]900KB 5[q..s]1000KB " + rest), 1700u)
      << "the outputs are larger: values were added";
}

TEST(SpaceBound, OfCascadeIsOneAndAHalfTimesTheLiveBytesWhileWritesCome) {
  const Tree tree("position 9 level 4: 9[a..z]100MB\nposition 1 level 9: 1[a..z]1000MB\n");
  EXPECT_EQ(BytesAllowed(tree.Input(Urgency::kWriting, Style::kCascade)), (1500 + 12 * 4) * kMebibyte);
  EXPECT_EQ(BytesAllowed(tree.Input(Urgency::kQuiet, Style::kCascade)), 1250 * kMebibyte);
}

// docs/PROMISES.md. A partition of these tables has 1000/32 MiB.
TEST(SpaceBound, HasALimitAboveTheBytesAtWhichCompactionsBegin) {
  const std::string oldest = "position 1 level 9: 1[a..z]1000MB";
  const uint64_t partitions = 2 * 1000 * kMebibyte / 32;
  EXPECT_EQ(SpaceLimit(Tree(oldest + "\n").Input()), (2000 + 2 * 16 * 4) * kMebibyte + partitions);
  EXPECT_EQ(SpaceLimit(Tree(oldest + "\n").Input(Urgency::kWriting, Style::kCascade)),
            (1500 + 24 * 4) * kMebibyte + partitions);
  const Tree blobs(oldest + "{90:1000MB}\nvalues 90 1000MB\n");
  EXPECT_EQ(SpaceLimit(blobs.Input()), (4000 + 2 * 16 * 4 + 1000) * kMebibyte) << "one collection: all tables";
}

// A run of `count` adjacent tables of 1 MiB.
std::string TablesOfOneRun(uint64_t first_number, size_t count, const std::string& prefix) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const std::string key = prefix + std::to_string(1000 + i);
    text += " " + std::to_string(first_number + i) + "[" + key + ".." + key + "x]";
  }
  return text + "\n";
}

TEST(PickMove, IntoARunOf64TimesTheTablesUnlessWritesHaveStopped) {
  const auto pick = [](size_t tables, Urgency urgency) {
    const Tree tree("position 9 level 0: 9[m..n]\nposition 8 level 0:" + TablesOfOneRun(100, tables, "c"));
    return PickMove(tree.Input(urgency)).has_value();
  };
  EXPECT_TRUE(pick(64, Urgency::kWriting));
  EXPECT_FALSE(pick(65, Urgency::kWriting));
  EXPECT_TRUE(pick(65, Urgency::kQuiet));
  EXPECT_TRUE(pick(65, Urgency::kIdle));
}

TEST(PickMove, TheNextPairIfTheNewestRunMeetsItsNeighbour) {
  const Tree tree(
      "position 9 level 0: 9[a..z]4MB\nposition 8 level 0: 8[m..n]4MB\nposition 7 level 0: 7[c..d]4MB\n"
      "position 6 level 0: 6[e..f]4MB\n");
  EXPECT_EQ(Print(PickMove(tree.Input())), "8+7 -> L0 reason=disjoint input=8MB move");
}

TEST(PickMove, TheResultHasTheLargestLevelThatFits) {
  const auto pick = [](const std::string& source, const std::string& target, Style style) {
    const Tree tree("position 9 level " + source + "\nposition 8 level " + target + "\n");
    const auto found = PickMove(tree.Input(Urgency::kWriting, style));
    return found ? found->target_level : 9999;
  };
  EXPECT_EQ(pick("2: 9[m..n]4MB", "1: 8[a..b]4MB", Style::kLazy), 2u);
  EXPECT_EQ(pick("0: 9[m..n]4MB", "1: 8[a..b]4MB", Style::kLazy), 1u);
  EXPECT_EQ(pick("0: 9[m..n]4MB", "0: 8[a..b]60MB", Style::kLazy), 1u) << "64 MiB are a full tier";
  EXPECT_EQ(pick("0: 9[m..n]4MB", "0: 8[a..b]59MB", Style::kLazy), 0u);
  EXPECT_EQ(pick("bottom: 9[m..n]4MB", "1: 8[a..b]4MB", Style::kLazy), 1u) << "the source is not the oldest run";
  EXPECT_EQ(pick("0: 9[m..n]4MB", "0: 8[a..b]59MB", Style::kCascade), 3u);
}

TEST(PickManual, IsDoneIfNoRunIsAsOldAsTheCall) {
  const Tree tree("position 9 level 0: 9[a..z]\nposition 8 level 0: 8[a..z]\n");
  const ManualPick before = PickManual(tree.Input(), {}, kv::Position{7});
  EXPECT_TRUE(before.is_done);
  EXPECT_FALSE(before.pick.has_value());
  EXPECT_TRUE(PickManual(Tree("").Input(), {}, kv::Position{7}).is_done);
  const ManualPick at = PickManual(tree.Input(), {}, kv::Position{8});
  EXPECT_TRUE(at.is_done) << "only the oldest run takes part";
  EXPECT_EQ(Print(PickManual(tree.Input(), {}, kv::Position{9}).pick),
            "9+8 -> bottom reason=manual input=2MB drops_tombstones");
}

TEST(NeedsNoCompaction, WhenNothingRunsAndNothingCanStart) {
  Tree tree("position 9 level 0: 9[a..z]1KB\nposition 8 level bottom: 8[a..z]\n");
  EXPECT_TRUE(NeedsNoCompaction(tree.Input(Urgency::kQuiet)));
  EXPECT_FALSE(NeedsNoCompaction(tree.Input(Urgency::kIdle))) << "two runs";
  tree.running = {Running({8})};
  EXPECT_FALSE(NeedsNoCompaction(tree.Input(Urgency::kQuiet))) << "a compaction runs";
}

}  // namespace
}  // namespace mergedb::picker
