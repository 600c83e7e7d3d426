// Goal: lazy compacts the first full tier of runs that no compaction holds, and nothing else. Method: trees as text,
// with one run more or fewer than a tier takes. tests/golden/picker/lazy.txt has whole picks.
#include "picker/styles.h"
#include "tests/unit/picker/pick_input.h"

namespace mergedb::picker {
namespace {

// "30..15 -> 1": the newest and the oldest source, and the target level.
std::string Tier(const std::optional<CompactionPick>& pick) {
  if (!pick) return "nothing";
  return std::to_string(kv::ToInt(pick->sources.front())) + ".." + std::to_string(kv::ToInt(pick->sources.back())) +
         " -> " + (pick->target_level == format::kBottommostLevel ? "bottom" : std::to_string(pick->target_level));
}

const std::string kOldest = "position 1 level bottom: 1[a..z]4000MB\n";

TEST(LazyPicker, CompactsTheFullTierOfTheLowestLevel) {
  const Tree two_tiers(Runs(60, 16, "1", "64MB") + Runs(40, 16, "2", "64MB") + kOldest);
  EXPECT_EQ(Tier(PickTier(two_tiers.Input())), "60..45 -> 2");
  const Tree lower_tier(Runs(60, 15, "1", "64MB") + Runs(40, 16, "2", "64MB") + kOldest);
  EXPECT_EQ(Tier(PickTier(lower_tier.Input())), "40..25 -> 3");
  const Tree no_tier(Runs(60, 15, "1", "64MB") + Runs(40, 15, "2", "64MB") + kOldest);
  EXPECT_EQ(Tier(PickTier(no_tier.Input())), "nothing");
}

TEST(LazyPicker, ATierThatIsTheOldestBecomesTheBottom) {
  const Tree tree(Runs(60, 3, "0", "4MB") + Runs(40, 16, "1", "64MB"));
  EXPECT_EQ(Tier(PickTier(tree.Input())), "40..25 -> bottom");
}

// Flushes of 1 MiB gather until there are 64 of them; the next tier still takes 16.
TEST(LazyPicker, OnlyTheFlushedTierIsWiderForSmallFlushes) {
  const auto tier = [](size_t flushed, size_t compacted) {
    const Tree tree(Runs(200, flushed, "0", "1MB") + Runs(100, compacted, "1", "64MB") + kOldest);
    PickInput input = tree.Input();
    input.flush_bytes = kMebibyte;
    return Tier(PickTier(input));
  };
  EXPECT_EQ(tier(63, 15), "nothing");
  EXPECT_EQ(tier(64, 15), "200..137 -> 1");
  EXPECT_EQ(tier(63, 16), "100..85 -> 2");
}

TEST(LazyPicker, OfATierWithMoreThan64RunsTheOldest64AreCompacted) {
  EXPECT_EQ(Tier(PickTier(Tree(Runs(100, 64, "0", "4MB") + kOldest).Input())), "100..37 -> 1");
  EXPECT_EQ(Tier(PickTier(Tree(Runs(100, 65, "0", "4MB") + kOldest).Input())), "99..36 -> 1");
}

// A running compaction in the middle of a tier: the runs on one side of it must be a full tier.
TEST(LazyPicker, ATierEndsAtARunningCompaction) {
  Tree tree(Runs(100, 32, "0", "4MB") + kOldest);
  tree.running = {Running({85})};
  EXPECT_EQ(Tier(PickTier(tree.Input())), "84..69 -> 1") << "15 runs are above, 16 below";
  tree.running = {Running({84})};
  EXPECT_EQ(Tier(PickTier(tree.Input())), "100..85 -> 1") << "16 runs are above, 15 below";
  tree.running = {Running({85}), Running({69})};
  EXPECT_EQ(Tier(PickTier(tree.Input())), "nothing");
}

TEST(LazyPicker, ARunOfTheBottomLevelIsInNoTier) {
  EXPECT_EQ(Tier(PickTier(Tree(Runs(100, 16, "bottom", "4MB")).Input())), "nothing");
}

TEST(LazyPicker, NothingInAnEmptyTree) { EXPECT_EQ(Tier(PickTier(Tree("").Input())), "nothing"); }

// At kQuiet the bound is 1.25 times the bytes of the oldest run.
TEST(LazyPicker, CompactsEightFlushedRunsWhenQuietAndWithinTheBound) {
  const auto tier = [](size_t flushed, const std::string& oldest_bytes, Urgency urgency) {
    const Tree tree(Runs(20, flushed, "0", "1MB") + "position 1 level bottom: 1[a..z]" + oldest_bytes);
    return Tier(PickIdleTier(tree.Input(urgency)));
  };
  EXPECT_EQ(tier(8, "32MB", Urgency::kQuiet), "20..13 -> 1");
  EXPECT_EQ(tier(7, "32MB", Urgency::kQuiet), "nothing");
  EXPECT_EQ(tier(8, "31MB", Urgency::kQuiet), "nothing") << "over the bound they go to the bottom with the others";
  EXPECT_EQ(tier(8, "32MB", Urgency::kWriting), "nothing");
}

TEST(LazyLevel, OfARunIsTheTierThatItWouldFill) {
  const Tree tree("");
  const PickInput input = tree.Input();  // 16 flushes of 4 MiB
  EXPECT_EQ(LazyLevel(input, 0), 0u);
  EXPECT_EQ(LazyLevel(input, 64 * kMebibyte - 1), 0u);
  EXPECT_EQ(LazyLevel(input, 64 * kMebibyte), 1u);
  EXPECT_EQ(LazyLevel(input, 1024 * kMebibyte - 1), 1u);
  EXPECT_EQ(LazyLevel(input, 1024 * kMebibyte), 2u);
  EXPECT_EQ(LazyLevel(input, UINT64_MAX), 8u) << "the last tier";
}

}  // namespace
}  // namespace mergedb::picker
