// Goal: compactions into the oldest run start at the bound, take the part with the largest gain up to their limit of
// bytes, and leave out what running compactions hold. Method: trees as text around each limit. tests/golden/picker has
// whole picks.
#include "picker/styles.h"
#include "tests/unit/picker/pick_input.h"

namespace mergedb::picker {
namespace {

// "20+1 [c..g)": the sources and the bounds.
std::string Part(const std::optional<CompactionPick>& pick) {
  if (!pick) return "nothing";
  std::string text;
  for (const kv::Position source : pick->sources) text += (text.empty() ? "" : "+") + std::to_string(kv::ToInt(source));
  return text + " [" + pick->bounds.lower.value_or("-") + ".." + pick->bounds.upper.value_or("-") + ")";
}

TEST(BottommostPicker, StartsWithTheFirstByteOverTheBound) {
  const auto pick = [](const std::string& bytes) {
    const Tree tree("position 9 level 1: 9[a..z]82MB\nposition 8 level 1: 8[a..z]" + bytes +
                    "\nposition 1 level bottom: 1[a..z]100MB\n");
    return Part(PickBottommost(tree.Input()));
  };
  EXPECT_EQ(pick("82MB"), "nothing") << "264 MiB: twice the live bytes, and 16 flushes";
  EXPECT_EQ(pick("83969KB"), "9+8+1 [-..-)");
}

TEST(BottommostPicker, NothingInFewerThanTwoRuns) {
  EXPECT_EQ(Part(PickBottommost(Tree("").Input(Urgency::kIdle))), "nothing");
  EXPECT_EQ(Part(PickBottommost(Tree("position 1 level 0: 1[a..z]").Input(Urgency::kIdle))), "nothing");
}

// Eight partitions of 8 MiB, which begin at a, c, e ... o. `upper`: the table above each, if any. A compaction takes
// 32 MiB.
std::string IdlePart(const std::vector<std::string>& upper, std::vector<RunningCompaction> running = {}) {
  std::string newer, oldest;
  for (size_t i = 0; i < 8; ++i) {
    const char first = static_cast<char>('a' + 2 * i);
    const std::string keys = std::string("[") + first + ".." + static_cast<char>(first + 1) + "]";
    oldest += " " + std::to_string(10 + i) + keys + "8MB";
    if (i < upper.size() && !upper[i].empty()) newer += " " + std::to_string(50 + i) + keys + upper[i];
  }
  Tree tree("position 9 level 1:" + newer + "\nposition 1 level bottom:" + oldest + "\n");
  tree.running = std::move(running);
  return Part(PickBottommost(tree.Input(Urgency::kIdle)));
}

TEST(BottommostPicker, TakesNeighboursUpToTheBytesOfOneStep) {
  EXPECT_EQ(IdlePart({"8MB", "8MB", "8MB"}), "9+1 [-..e)");
  EXPECT_EQ(IdlePart({"8MB", "8193KB", "8MB"}), "9+1 [c..e)") << "no neighbour fits";
  EXPECT_EQ(IdlePart({"4MB", "8MB", "3MB"}), "9+1 [c..g)") << "the larger neighbour is behind, and too large then";
  EXPECT_EQ(IdlePart({"100MB"}), "9+1 [-..c)") << "one partition at least";
}

TEST(BottommostPicker, ChoosesTheLargestGainForTheInput) {
  EXPECT_EQ(IdlePart({"1MB", "", "1MB", "4MB", "1MB"}), "9+1 [g..i)");
  EXPECT_EQ(IdlePart({"", "", "", "", "", "", "", "1MB"}), "9+1 [o..-)");
}

TEST(BottommostPicker, TakesNeighboursWithHalfOfTheBestScoreAndWithBytesAboveThem) {
  EXPECT_EQ(IdlePart({"2MB", "8MB"}), "9+1 [c..e)") << "2/10 is less than half of 8/16";
  EXPECT_EQ(IdlePart({"3MB", "8MB"}), "9+1 [-..e)") << "3/11 is more";
  EXPECT_EQ(IdlePart({"1MB", "", "1MB"}), "9+1 [-..c)") << "nothing lies above the neighbour";
  EXPECT_EQ(IdlePart({"1MB", "1MB", "1MB", "1MB"}), "9+1 [-..g)") << "27 MiB; the fourth makes 36";
}

TEST(BottommostPicker, LeavesOutPartitionsThatARunningCompactionHolds) {
  const auto held = [](const std::string& lower, const std::string& upper) {
    return std::vector{Running({9, 1}, {.lower = lower, .upper = upper})};
  };
  const std::vector<std::string> upper(8, "1MB");
  EXPECT_EQ(IdlePart(upper, held("a", "c")), "9+1 [c..i)");
  EXPECT_EQ(IdlePart(upper, held("c", "e")), "9+1 [-..c)") << "the neighbour is taken";
  EXPECT_EQ(IdlePart(upper, held("b", "d")), "9+1 [e..k)") << "a part of a partition is held";
  EXPECT_EQ(IdlePart(upper, {Running({9, 1})}), "nothing");
}

TEST(BottommostPicker, TakesOnlyRunsBelowARunningCompactionAboveTheOldest) {
  Tree tree(Runs(9, 4, "1", "8MB") + "position 1 level bottom: 1[a..z]8MB\n");
  EXPECT_EQ(Part(PickBottommost(tree.Input(Urgency::kIdle))), "9+8+7+6+1 [-..-)");
  tree.running = {Running({9, 8})};
  EXPECT_EQ(Part(PickBottommost(tree.Input(Urgency::kIdle))), "7+6+1 [-..-)");
  tree.running = {Running({7})};
  EXPECT_EQ(Part(PickBottommost(tree.Input(Urgency::kIdle))), "6+1 [-..-)");
  tree.running = {Running({7, 6})};
  EXPECT_EQ(Part(PickBottommost(tree.Input(Urgency::kIdle))), "nothing");
}

TEST(BottommostPicker, TakesAtMost64Runs) {
  const auto pick = [](size_t newer) {
    const Tree tree(Runs(100, newer, "1", "1MB") + "position 1 level bottom: 1[a..z]8MB\n");
    const auto found = PickBottommost(tree.Input(Urgency::kIdle));
    return found ? found->sources : std::vector<kv::Position>();
  };
  EXPECT_EQ(pick(63).size(), 64u);
  EXPECT_EQ(pick(64).size(), 64u);
  EXPECT_EQ(kv::ToInt(pick(64).front()), 99u) << "the newest run stays";
}

// The bound allows 8 MiB above the oldest run at kQuiet. Flushed runs stay while they are at most half of that and no
// more than the other runs above.
TEST(BottommostPicker, LeavesLightFlushedRunsToTheirTier) {
  const auto newest = [](const std::string& flushed, const std::string& others) {
    const Tree tree(flushed + "position 5 level 1: 5[a..z]" + others + "\nposition 1 level bottom: 1[a..z]32MB\n");
    const auto found = PickBottommost(tree.Input(Urgency::kQuiet));
    return found ? kv::ToInt(found->sources.front()) : 0;
  };
  EXPECT_EQ(newest("position 9 level 0: 9[a..z]4MB\n", "24MB"), 5u);
  EXPECT_EQ(newest("position 9 level 0: 9[a..z]4097KB\n", "24MB"), 9u);
  EXPECT_EQ(newest(Runs(20, 7, "0", "512KB"), "24MB"), 5u) << "7 flushed runs, 3.5 MiB";
  EXPECT_EQ(newest(Runs(20, 8, "0", "512KB"), "24MB"), 20u) << "8 runs are worth a compaction, whatever their size";
}

// The range tombstones of the flushed run mask half of the oldest run, so a little above it is over the bound.
TEST(BottommostPicker, TakesFlushedRunsThatAreMoreThanTheOthers) {
  const auto pick = [](const std::string& others) {
    const Tree tree("position 9 level 0: 9[a..z]4MB,0%,50MB\nposition 5 level 1: 5[a..z]" + others +
                    "\nposition 1 level bottom: 1[a..z]100MB\n");
    return Part(PickBottommost(tree.Input(Urgency::kQuiet)));
  };
  EXPECT_EQ(pick("4MB"), "5+1 [-..-)");
  EXPECT_EQ(pick("3MB"), "9+5+1 [-..-)");
}

constexpr uint64_t kNever = 0;  // a snapshot older than all tombstones

std::string Tombstones(const std::string& tables, Urgency urgency = Urgency::kWriting,
                       std::vector<RunningCompaction> running = {}, kv::Sequence oldest_snapshot = kv::kSequenceMax) {
  Tree tree("position 1 level bottom: " + tables);
  tree.running = std::move(running);
  PickInput input = tree.Input(urgency);
  input.oldest_snapshot = oldest_snapshot;
  return Part(PickTombstones(input));
}

TEST(TombstonePicker, RewritesTablesOfWhichMoreThanAQuarterAreTombstones) {
  EXPECT_EQ(Tombstones("1[a..f]1MB,25%"), "nothing");
  EXPECT_EQ(Tombstones("1[a..f]1MB,26%"), "1 [a..-)");
  EXPECT_EQ(Tombstones("1[a..f]1MB,1%", Urgency::kIdle), "1 [a..-)");
  EXPECT_EQ(Tombstones("1[a..f]1MB,0%", Urgency::kIdle), "nothing");
  EXPECT_EQ(Tombstones("1[a..f]1MB,0%,0KB"), "1 [a..-)") << "a range tombstone that no snapshot needs";
  EXPECT_EQ(Tombstones("1[a..f]1MB,90%", Urgency::kIdle, {}, kNever), "nothing");
}

TEST(TombstonePicker, TakesTablesInARowUpTo32Mebibytes) {
  EXPECT_EQ(Tombstones("1[a..b]1MB 2[c..d]1MB,30% 3[e..f]1MB,30% 4[g..h]1MB"), "1 [c..g)");
  EXPECT_EQ(Tombstones("1[a..b]16MB,30% 2[c..d]16MB,30% 3[e..f]16MB,30%"), "1 [a..e)");
  EXPECT_EQ(Tombstones("1[a..b]16MB,30% 2[c..d]15MB,30% 3[e..f]16MB,30%"), "1 [a..-)");
}

TEST(TombstonePicker, SkipsTablesThatARunningCompactionHolds) {
  const std::vector<RunningCompaction> held{Running({1}, {.lower = "a", .upper = "b"})};
  EXPECT_EQ(Tombstones("1[a..b]1MB,30% 2[c..d]1MB 3[e..f]1MB,30%", Urgency::kWriting, held), "1 [e..-)");
  EXPECT_EQ(Tombstones("1[a..b]1MB,30%", Urgency::kWriting, held), "nothing");
}

// Symptom: a table with too many tombstones was not rewritten beside a running compaction of the tables before it.
// Cause: the search went on behind the first table that the blocked part did not take. Consequence: one compaction at a
// time where two could run.
TEST(TombstonePicker, BehindABlockedPartTheNextTableIsTheNextPart) {
  EXPECT_EQ(Tombstones("1[a..b]32MB,30% 2[c..d]1MB,30% 3[e..f]1MB", Urgency::kWriting,
                       {Running({1}, {.lower = "a", .upper = "c"})}),
            "1 [c..e)");
}

std::string PartialTables(const std::string& text, Urgency urgency = Urgency::kQuiet,
                          std::vector<RunningCompaction> running = {}) {
  Tree tree(text);
  tree.running = std::move(running);
  return Part(PickPartialTables(tree.Input(urgency)));
}

// An interrupted compaction has replaced the keys from b to k. Table 1 still refers to all of file 90.
TEST(PartialTables, AreRewrittenIfTheirBytesAreOverTheBound) {
  const auto pick = [](const std::string& written, Urgency urgency, std::vector<RunningCompaction> running = {}) {
    return PartialTables("position 1 level bottom: 1[a..b) 2[b..k]1MB{91:" + written +
                             "} 1[m..z]1MB{90:100MB}\nvalues 90 100MB\nvalues 91 " + written + "\n",
                         urgency, std::move(running));
  };
  EXPECT_EQ(pick("50MB", Urgency::kQuiet), "1 [a..b)");
  EXPECT_EQ(pick("50MB", Urgency::kIdle), "1 [a..b)");
  EXPECT_EQ(pick("20MB", Urgency::kQuiet), "nothing") << "within the bound";
  EXPECT_EQ(pick("50MB", Urgency::kWriting), "nothing") << "within the bound of writes";
  EXPECT_EQ(pick("50MB", Urgency::kQuiet, {Running({7})}), "nothing") << "a compaction shows its inputs in part";
}

TEST(PartialTables, OfTheNewestRunFirstAndInARow) {
  const std::string oldest =
      "position 1 level bottom: 1[a..b) 3[b..c) 4[c..d]1MB{92:90MB} 3[e..f]1MB{91:40MB} 1[g..h]1MB{91:60MB}\n"
      "values 90 300MB\nvalues 91 100MB\nvalues 92 90MB\n";
  EXPECT_EQ(PartialTables(oldest), "1 [a..c)");
  EXPECT_EQ(PartialTables("position 5 level 1: 5[a..b) 6[b..c]1MB 5[m..z]1MB{90:100MB}\n" + oldest), "5 [a..b)");
}

TEST(TombstoneScanPicker, TakesAllRunsUnlessThereAreMoreThan64) {
  const auto pick = [](const std::string& text) { return PickTombstoneScan(Tree(text).Input(), {}).has_value(); };
  EXPECT_TRUE(pick(Runs(100, 64, "0", "1MB")));
  EXPECT_FALSE(pick(Runs(100, 65, "0", "1MB")));
  EXPECT_FALSE(pick(""));
}

}  // namespace
}  // namespace mergedb::picker
