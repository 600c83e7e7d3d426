// Goal: partitions cover all keys, come closest to their size, and share out the bytes above them. Method: small runs
// as text, at the sizes and keys that change the answer; random runs, in which no byte may be lost.
#include "picker/partitions.h"

#include <cmath>

#include "base/random.h"
#include "tests/unit/picker/pick_input.h"

namespace mergedb::picker {
namespace {

// "|[-..g) 8|[g..-) 8": the bounds of the partitions, with the MiB of the oldest run.
std::string Print(const std::vector<Partition>& partitions) {
  std::string text;
  for (const Partition& each : partitions) {
    text += "|[" + each.bounds.lower.value_or("-") + ".." + each.bounds.upper.value_or("-") + ") " +
            std::to_string(each.oldest_bytes / kMebibyte);
  }
  return text;
}

std::string PartitionsOf(const std::string& tables, uint64_t partition_bytes = 8 * kMebibyte) {
  const Tree tree("position 1 level bottom: " + tables);
  return Print(MakePartitions(tree.run(0), partition_bytes));
}

TEST(MakePartitions, BeginWhereTablesBegin) {
  EXPECT_EQ(PartitionsOf("1[a..f]8MB 2[g..m]8MB 3[n..z]8MB"), "|[-..g) 8|[g..n) 8|[n..-) 8");
  EXPECT_EQ(PartitionsOf("1[a..b]4MB 2[c..d]4MB 3[e..f]4MB 4[g..h]4MB"), "|[-..e) 8|[e..-) 8");
}

TEST(MakePartitions, TakeATableOfWhichHalfStillFits) {
  EXPECT_EQ(PartitionsOf("1[a..b]6144KB 2[c..d]4096KB"), "|[-..c) 6|[c..-) 4");
  EXPECT_EQ(PartitionsOf("1[a..b]6144KB 2[c..d]4094KB"), "|[-..-) 9");
}

TEST(MakePartitions, AreNeverEmpty) {
  EXPECT_EQ(PartitionsOf("1[a..z]64MB"), "|[-..-) 64");
  EXPECT_EQ(PartitionsOf("1[a..b]64MB 2[c..d]1KB"), "|[-..c) 64|[c..-) 0");
  EXPECT_EQ(PartitionsOf("1[a..b]0KB 2[c..d]64MB"), "|[-..-) 64") << "a table without bytes is no partition";
}

// The MiB that a run adds to the three partitions [..g), [g..n) and [n..).
std::string UpperOf(const std::string& tables) {
  const Tree tree("position 9 level 1: " + tables + "\nposition 1 level bottom: 1[a..f]8MB 2[g..m]8MB 3[n..z]8MB");
  auto partitions = MakePartitions(tree.run(1), 8 * kMebibyte);
  AddUpper(BytewiseOrder(), tree.run(0), &partitions);
  std::string text;
  for (const Partition& each : partitions) {
    text += std::to_string(std::lround(each.upper_bytes / static_cast<double>(kMebibyte))) + " ";
  }
  return text;
}

TEST(AddUpper, ATableCountsInEqualSharesWhereItHasKeys) {
  EXPECT_EQ(UpperOf("11[a..z]9MB"), "3 3 3 ");
  EXPECT_EQ(UpperOf("11[a..f]6MB"), "6 0 0 ");
  EXPECT_EQ(UpperOf("11[a..g]6MB"), "3 3 0 ");
  EXPECT_EQ(UpperOf("11[a..g)6MB"), "6 0 0 ") << "g is not shown";
  EXPECT_EQ(UpperOf("11[g..g]6MB"), "0 6 0 ");
  EXPECT_EQ(UpperOf("11[h..n]6MB"), "0 3 3 ");
  EXPECT_EQ(UpperOf("11[h..i]2MB 12[j..o]6MB"), "0 5 3 ");
}

TEST(AddUpper, KeysBeyondTheOldestRunCountAtItsEnds) { EXPECT_EQ(UpperOf("11[A..B]5MB 12[zx..zz]7MB"), "5 0 7 "); }

TEST(AddUpper, AFileThatIsShownInPiecesCountsInShares) {
  EXPECT_EQ(UpperOf("11[a..c)8MB 11[n..z]"), "4 0 4 ");
  EXPECT_EQ(UpperOf("11[a..i)8MB 11[n..z]"), "2 2 4 ");
}

TEST(AddUpper, SharesOutEntriesTombstonesValuesAndMaskedBytesToo) {
  const Tree tree(
      "position 9 level 1: 11[a..g]4MB,25%,8MB{90:6MB}\n"
      "position 1 level bottom: 1[a..f]8MB{91:1MB} 2[g..m]8MB\n"
      "values 90 6MB\nvalues 91 1MB\n");
  auto partitions = MakePartitions(tree.run(1), 8 * kMebibyte);
  ASSERT_EQ(partitions.size(), 2u);
  EXPECT_EQ(partitions[0].oldest_value_bytes, kMebibyte);
  AddUpper(BytewiseOrder(), tree.run(0), &partitions);
  for (const Partition& each : partitions) {
    EXPECT_EQ(each.upper_bytes, 2.0 * kMebibyte);
    EXPECT_EQ(each.upper_value_bytes, 3.0 * kMebibyte);
    EXPECT_EQ(each.upper_tombstones, 512.0);
    EXPECT_EQ(each.upper_masked_bytes, 4.0 * kMebibyte);
  }
}

TEST(PartitionGain, IsTheUpperBytesAndWhatTheirTombstonesDelete) {
  const Partition base{.bounds = {},
                       .oldest_bytes = 60,
                       .oldest_value_bytes = 40,
                       .oldest_entries = 10,
                       .upper_bytes = 20,
                       .upper_value_bytes = 5};
  const auto gain = [&](double tombstones, double masked_bytes) {
    Partition partition = base;
    partition.upper_tombstones = tombstones;
    partition.upper_masked_bytes = masked_bytes;
    return partition.GainBytes();
  };
  EXPECT_EQ(gain(0, 0), 25.0);
  EXPECT_EQ(gain(3, 0), 25.0 + 30);
  EXPECT_EQ(gain(3, 40), 25.0 + 30 + 40);
  EXPECT_EQ(gain(10, 0), 25.0 + 100);
  EXPECT_EQ(gain(1000, 0), 25.0 + 100) << "a tombstone deletes one entry at most";
  EXPECT_EQ(gain(3, 1000), 25.0 + 100) << "no more than there is";
}

TEST(PartitionGain, OfAPartitionWithoutEntriesIsTheUpperBytes) {
  const Partition partition{.bounds = {},
                            .oldest_bytes = 60,
                            .upper_bytes = 20,
                            .upper_value_bytes = 5,
                            .upper_tombstones = 9,
                            .upper_masked_bytes = 9};
  EXPECT_EQ(partition.GainBytes(), 25.0);
}

TEST(PartitionBytes, AreA32ndOfTheDatabaseFrom8To256Mebibytes) {
  EXPECT_EQ(PartitionBytes(0), 8 * kMebibyte);
  EXPECT_EQ(PartitionBytes(256 * kMebibyte), 8 * kMebibyte);
  EXPECT_EQ(PartitionBytes(256 * kMebibyte + 32), 8 * kMebibyte + 1);
  EXPECT_EQ(PartitionBytes(8192 * kMebibyte - 32), 256 * kMebibyte - 1);
  EXPECT_EQ(PartitionBytes(8192 * kMebibyte), 256 * kMebibyte);
  EXPECT_EQ(PartitionBytes(UINT64_MAX), 256 * kMebibyte);
}

TEST(OutputBytes, AreThoseOfAFlushFromAnEighthOfAPartitionToAPartition) {
  const Tree tree("");
  const auto bytes = [&](uint64_t flushed_bytes, uint64_t partition_bytes) {
    PickInput input = tree.Input();
    input.flushed_bytes = flushed_bytes;
    return OutputBytes(input, partition_bytes);
  };
  EXPECT_EQ(bytes(3 * kMebibyte, 8 * kMebibyte), 3 * kMebibyte);
  EXPECT_EQ(bytes(0, 8 * kMebibyte), 4 * kMebibyte) << "no flush yet: the size of a memtable";
  EXPECT_EQ(bytes(1, 8 * kMebibyte), kMebibyte);
  EXPECT_EQ(bytes(1, 64 * kMebibyte), 8 * kMebibyte);
  EXPECT_EQ(bytes(1, 2 * kMebibyte), kMebibyte) << "at least 1 MiB";
  EXPECT_EQ(bytes(100 * kMebibyte, 8 * kMebibyte), 8 * kMebibyte);
}

TEST(CutKeys, AreBordersForPiecesOfAtLeastTheirSize) {
  std::vector<Partition> partitions(5);
  for (size_t i = 1; i < partitions.size(); ++i)
    partitions[i].bounds.lower = std::string(1, static_cast<char>('a' + i));
  using Keys = std::vector<std::string>;
  EXPECT_EQ(CutKeys(partitions, 0, 64), Keys());
  EXPECT_EQ(CutKeys(partitions, 127, 64), Keys());
  EXPECT_EQ(CutKeys(partitions, 128, 64), Keys({"c"}));
  EXPECT_EQ(CutKeys(partitions, 3 * 64, 64), Keys({"b", "d"}));
  EXPECT_EQ(CutKeys(partitions, 5 * 64, 64), Keys({"b", "c", "d", "e"}));
  EXPECT_EQ(CutKeys(partitions, 500 * 64, 64), Keys({"b", "c", "d", "e"})) << "no more pieces than partitions";
  EXPECT_EQ(CutKeys(std::vector<Partition>(1), 500 * 64, 64), Keys());
}

// Tables of random sizes with random keys, of which neighbours may be pieces of one file.
std::string RandomTables(base::Random& random, uint64_t first_number) {
  std::string text;
  for (int key = static_cast<int>(random.Uniform(20)); key < 500; key += 1 + static_cast<int>(random.Uniform(20))) {
    const int last = key + static_cast<int>(random.Uniform(40));
    text += " " + std::to_string(first_number++) + "[k" + std::to_string(1000 + key) + "..k" +
            std::to_string(1000 + last) + "]" + std::to_string(random.Uniform(9000)) + "KB";
    key = last;
  }
  return text;
}

TEST(Partitions, LoseNoByteAndLeaveNoGap) {
  constexpr uint64_t kSeed = 7;
  base::Random random(kSeed);
  for (int round = 0; round < 50; ++round) {
    const Tree tree("position 9 level 1:" + RandomTables(random, 1000) +
                    "\nposition 1 level bottom:" + RandomTables(random, 1));
    auto partitions = MakePartitions(tree.run(1), 8 * kMebibyte);
    AddUpper(BytewiseOrder(), tree.run(0), &partitions);
    uint64_t oldest = 0;
    double upper = 0;
    for (size_t i = 0; i < partitions.size(); ++i) {
      oldest += partitions[i].oldest_bytes;
      upper += partitions[i].upper_bytes;
      EXPECT_EQ(partitions[i].bounds.lower, i == 0 ? std::nullopt : partitions[i - 1].bounds.upper);
    }
    EXPECT_FALSE(partitions.back().bounds.upper.has_value());
    EXPECT_EQ(oldest, tree.run(1).bytes()) << "seed " << kSeed << ", round " << round;
    EXPECT_NEAR(upper, static_cast<double>(tree.run(0).bytes()), 1.0) << "seed " << kSeed << ", round " << round;
  }
}

}  // namespace
}  // namespace mergedb::picker
