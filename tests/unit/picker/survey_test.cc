// Goal: a compaction is blocked by running ones that share positions and keys with it, and by no other; tombstones
// stay exactly while an older run may show their keys; tables move only if none overlap. Method: trees as text, at
// the first key and position that changes the answer.
#include "picker/survey.h"

#include "tests/unit/picker/pick_input.h"

namespace mergedb::picker {
namespace {

constexpr const char* kFourRuns =
    "position 9 level 0: 9[a..z]\n"
    "position 8 level 0: 8[a..z]\n"
    "position 5 level 0: 5[a..z]\n"
    "position 2 level bottom: 2[a..z]\n";

TEST(IsBlocked, ByARunningCompactionThatSharesAPositionAndAKey) {
  Tree tree(kFourRuns);
  tree.running = {Running({8, 5}, {.lower = "d", .upper = "m"})};
  const PickInput input = tree.Input();
  EXPECT_TRUE(IsBlocked(input, {.newest = 1, .oldest = 1}, {}));
  EXPECT_TRUE(IsBlocked(input, {.newest = 2, .oldest = 2}, {}));
  EXPECT_TRUE(IsBlocked(input, {.newest = 0, .oldest = 1}, {}));
  EXPECT_TRUE(IsBlocked(input, {.newest = 2, .oldest = 3}, {}));
  EXPECT_TRUE(IsBlocked(input, {.newest = 0, .oldest = 3}, {}));
}

TEST(IsBlocked, NotByOtherPositionsOrOtherKeys) {
  Tree tree(kFourRuns);
  EXPECT_FALSE(IsBlocked(tree.Input(), {.newest = 0, .oldest = 3}, {})) << "nothing runs";
  tree.running = {Running({8, 5}, {.lower = "d", .upper = "m"})};
  const PickInput input = tree.Input();
  EXPECT_FALSE(IsBlocked(input, {.newest = 0, .oldest = 0}, {}));
  EXPECT_FALSE(IsBlocked(input, {.newest = 3, .oldest = 3}, {}));
  const Span held{.newest = 1, .oldest = 2};
  EXPECT_FALSE(IsBlocked(input, held, {.lower = {}, .upper = "d"}));
  EXPECT_FALSE(IsBlocked(input, held, {.lower = "m", .upper = {}}));
  EXPECT_TRUE(IsBlocked(input, held, {.lower = {}, .upper = "da"}));
  EXPECT_TRUE(IsBlocked(input, held, {.lower = "lz", .upper = {}}));
}

TEST(IsFree, OnlyARunOfWhichNoKeyIsHeld) {
  Tree tree(kFourRuns);
  tree.running = {Running({8, 5}, {.lower = "d", .upper = "e"})};
  const PickInput input = tree.Input();
  EXPECT_TRUE(IsFree(input, 0));
  EXPECT_FALSE(IsFree(input, 1));
  EXPECT_FALSE(IsFree(input, 2));
  EXPECT_TRUE(IsFree(input, 3));
}

TEST(ReachesOldest, ACompactionWhoseLastSourceIsTheOldestRun) {
  const Tree tree(kFourRuns);
  EXPECT_TRUE(ReachesOldest(tree.Input(), Running({5, 2})));
  EXPECT_TRUE(ReachesOldest(tree.Input(), Running({2}, {.lower = "x", .upper = {}})));
  EXPECT_FALSE(ReachesOldest(tree.Input(), Running({9, 8, 5})));
}

// Returns whether an older run shows a key in the range of the newest `sources` runs.
bool IsAnyKeyBelow(const std::string& text, size_t sources = 1, const format::Bounds& bounds = {}) {
  const Tree tree(text);
  return AnyKeyBelow(BytewiseOrder(), tree.version(), {.newest = 0, .oldest = sources - 1}, bounds);
}

TEST(AnyKeyBelow, FromTheFirstToTheLastKeyOfTheSources) {
  const std::string source = "position 9 level 0: 9[c..f]\n";
  EXPECT_TRUE(IsAnyKeyBelow(source + "position 2 level 0: 2[f..g]"));
  EXPECT_FALSE(IsAnyKeyBelow(source + "position 2 level 0: 2[fa..g]"));
  EXPECT_TRUE(IsAnyKeyBelow(source + "position 2 level 0: 2[a..c]"));
  EXPECT_FALSE(IsAnyKeyBelow(source + "position 2 level 0: 2[a..c)")) << "c is not shown";
  EXPECT_TRUE(IsAnyKeyBelow(source + "position 5 level 0: 5[a..b] 6[g..h]\nposition 2 level 0: 2[d..e]"))
      << "the second older run";
  EXPECT_FALSE(IsAnyKeyBelow(source + "position 5 level 0: 5[a..b] 6[g..h]")) << "a gap around the source";
}

TEST(AnyKeyBelow, AnOpenEndShowsNoKeyUnlessAnotherSourceEndsThereClosed) {
  const std::string older = "position 2 level 0: 2[f..g]";
  EXPECT_FALSE(IsAnyKeyBelow("position 9 level 0: 9[c..f)\n" + older));
  EXPECT_FALSE(IsAnyKeyBelow("position 9 level 0: 9[c..f)\nposition 8 level 0: 8[d..f)\n" + older, 2));
  EXPECT_TRUE(IsAnyKeyBelow("position 9 level 0: 9[c..f)\nposition 8 level 0: 8[d..f]\n" + older, 2));
  EXPECT_TRUE(IsAnyKeyBelow("position 9 level 0: 9[c..f]\nposition 8 level 0: 8[d..f)\n" + older, 2));
  EXPECT_FALSE(IsAnyKeyBelow("position 9 level 0: 9[c..e]\nposition 8 level 0: 8[d..f)\n" + older, 2))
      << "the open end is the largest";
}

TEST(AnyKeyBelow, AGapBetweenTheSourcesCounts) {
  const std::string older = "position 2 level 0: 2[m..n]";
  EXPECT_TRUE(IsAnyKeyBelow("position 9 level 0: 9[a..b]\nposition 8 level 0: 8[x..z]\n" + older, 2));
  EXPECT_FALSE(IsAnyKeyBelow("position 9 level 0: 9[a..b] 10[x..z]\n" + older, 1, {.lower = "w", .upper = {}}));
}

TEST(AnyKeyBelow, NoneBelowTheOldestRunAndNoneWhereTheSourcesShowNothing) {
  const std::string two = "position 9 level 0: 9[c..f]\nposition 2 level 0: 2[a..z]\n";
  EXPECT_FALSE(IsAnyKeyBelow(two, 2));
  EXPECT_FALSE(IsAnyKeyBelow(two, 1, {.lower = "g", .upper = {}}));
  EXPECT_TRUE(IsAnyKeyBelow(two, 1, {.lower = "e", .upper = "f"}));
}

// Returns whether all runs of the tree can move into the oldest one; a flush has 4 MiB.
bool CanMoveAll(const std::string& text, uint64_t flush_bytes = 4 * kMebibyte) {
  const Tree tree(text);
  PickInput input = tree.Input();
  input.flush_bytes = flush_bytes;
  return CanMove(input, {.newest = 0, .oldest = tree.version().runs().size() - 1});
}

TEST(CanMove, TablesOfAQuarterOfAFlushOnAverage) {
  const std::string oldest = "position 8 level 0: 8[a..b]1KB";  // the run that does not move may be small
  EXPECT_TRUE(CanMoveAll("position 9 level 0: 9[m..p]1024KB\n" + oldest));
  EXPECT_FALSE(CanMoveAll("position 9 level 0: 9[m..p]1023KB\n" + oldest));
  EXPECT_TRUE(CanMoveAll("position 9 level 0: 9[m..n]1500KB 10[o..p]548KB\n" + oldest));
  EXPECT_FALSE(CanMoveAll("position 9 level 0: 9[m..n]1500KB 10[o..p]547KB\n" + oldest));
  EXPECT_TRUE(CanMoveAll("position 9 level 0: 9[m..p]1KB\n" + oldest, 0));
}

TEST(CanMove, NotIfTwoTablesShowOneKey) {
  EXPECT_TRUE(CanMoveAll("position 9 level 0: 9[m..p)\nposition 8 level 0: 8[p..z]"));
  EXPECT_FALSE(CanMoveAll("position 9 level 0: 9[m..p]\nposition 8 level 0: 8[p..z]"));
  EXPECT_TRUE(CanMoveAll("position 9 level 0: 9[a..b] 10[e..f] 11[i..j]\nposition 8 level 0: 8[c..d]"));
  EXPECT_FALSE(CanMoveAll("position 9 level 0: 9[a..b] 10[e..f] 11[i..j]\nposition 8 level 0: 8[c..e]"));
  EXPECT_FALSE(CanMoveAll("position 9 level 0: 9[a..z]\nposition 8 level 0: 8[c..d] 10[e..f]")) << "within the table";
  EXPECT_FALSE(CanMoveAll("position 9 level 0: 9[a..b]\nposition 8 level 0: 8[c..d]\nposition 7 level 0: 7[b..b]"))
      << "the newest run meets the oldest one";
}

TEST(BytesWithin, AFileThatIsShownInPiecesCountsInShares) {
  const Tree tree("position 9 level 0: 12[a..f)8MB 15[g..h]1MB 12[q..z]");
  const auto within = [&](const format::Bounds& bounds) {
    return BytesWithin(BytewiseOrder(), tree.run(0), bounds) / kMebibyte;
  };
  EXPECT_EQ(within({}), 9u);
  EXPECT_EQ(within({.lower = "a", .upper = {}}), 9u);
  EXPECT_EQ(within({.lower = "a", .upper = "g"}), 4u);
  EXPECT_EQ(within({.lower = "f", .upper = "ga"}), 1u);
  EXPECT_EQ(within({.lower = "e", .upper = "ga"}), 5u);
  EXPECT_EQ(within({.lower = "i", .upper = "q"}), 0u);
}

TEST(FlushedWidth, GivesACompactionOf64MebibytesWithin16And64Runs) {
  const Tree tree("");
  const auto width = [&](uint64_t flush_bytes) {
    PickInput input = tree.Input();
    input.flush_bytes = flush_bytes;
    return FlushedWidth(input);
  };
  EXPECT_EQ(width(1), 64u);
  EXPECT_EQ(width(kMebibyte), 64u);
  EXPECT_EQ(width(2 * kMebibyte), 32u);
  EXPECT_EQ(width(3 * kMebibyte), 21u);
  EXPECT_EQ(width(4 * kMebibyte), 16u);
  EXPECT_EQ(width(UINT64_MAX), 16u);
  EXPECT_EQ(width(0), 16u) << "not known: 4 MiB";
}

}  // namespace
}  // namespace mergedb::picker
