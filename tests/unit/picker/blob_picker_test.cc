// Goal: blob garbage collection starts at the bound, chooses old files with a large share of garbage up to the
// limit of one collection, and compacts only keys that refer to them. Method: trees as text around each limit.
// tests/golden/picker/blobs.txt has whole picks.
#include "picker/styles.h"
#include "tests/unit/picker/pick_input.h"

namespace mergedb::picker {
namespace {

// The bytes of the files are those of their records: "90 100MB" has 100 MiB of records.
std::string Collected(const std::string& text, Urgency urgency = Urgency::kWriting,
                      std::vector<RunningCompaction> running = {}) {
  Tree tree(text);
  tree.running = std::move(running);
  const auto pick = PickBlobGarbage(tree.Input(urgency));
  if (!pick) return "nothing";
  std::string files;
  for (const kv::FileNumber file : pick->blob_files_to_collect)
    files += (files.empty() ? "" : ",") + std::to_string(kv::ToInt(file));
  return files + " [" + pick->bounds.lower.value_or("-") + ".." + pick->bounds.upper.value_or("-") + ")";
}

TEST(BlobPicker, CollectsAFileWithAsMuchGarbageAsTheBoundTolerates) {
  const auto collected = [](const std::string& live_bytes) {
    return Collected("position 9 level bottom: 9[a..z]8MB{90:" + live_bytes +
                     ",91:2MB}\nvalues 90 20MB\nvalues 91 100MB\n");
  };
  EXPECT_EQ(collected("10MB"), "90,91 [a..-)") << "half of the bytes at the bound of 2.0";
  EXPECT_EQ(collected("10241KB"), "91 [a..-)");
}

// A collection moves at most 16 MiB of this small database. Files 90 and 91 are of about the same age beside file 999.
TEST(BlobPicker, StopsAtTheLiveBytesOfOneCollection) {
  const auto collected = [](const std::string& shares) {
    return Collected("position 9 level bottom: 9[a..z]8MB{" + shares +
                     ",999:1MB}\nvalues 90 60MB\nvalues 91 100MB\nvalues 999 1MB\n");
  };
  EXPECT_EQ(collected("90:10MB,91:6MB"), "90,91 [a..-)");
  EXPECT_EQ(collected("90:10MB,91:6145KB"), "91 [a..-)");
  EXPECT_EQ(collected("90:10MB,91:16MB"), "91 [a..-)") << "the share of garbage decides, not the number";
  EXPECT_EQ(collected("90:29MB,91:40MB"), "91 [a..-)") << "the first file may have more than that";
}

// File 84 is 15 files older than the newest, file 96 three: half the share of garbage is enough.
TEST(BlobPicker, SparesYoungFilesWhileWritesCome) {
  const auto collected = [](const std::string& live_bytes, Urgency urgency) {
    return Collected("position 9 level bottom: 9[a..z]8MB{" + live_bytes +
                         ",99:1MB}\nvalues 84 100MB\nvalues 96 100MB\nvalues 99 1MB\n",
                     urgency);
  };
  EXPECT_EQ(collected("84:45MB,96:9MB", Urgency::kWriting), "84 [a..-)") << "55 of 100 MiB garbage, and 91";
  EXPECT_EQ(collected("84:45MB,96:9MB", Urgency::kQuiet), "96 [a..-)");
  EXPECT_EQ(collected("84:51MB,96:9MB", Urgency::kWriting), "96 [a..-)") << "the old one does not qualify";
}

TEST(BlobPicker, OfEqualSharesTheOlderFileComesFirst) {
  EXPECT_EQ(Collected("position 9 level bottom: 9[a..z]8MB{90:10MB,91:10MB}\nvalues 90 100MB\nvalues 91 100MB\n"),
            "90 [a..-)");
}

// File 92 has no garbage. Its bytes decide how far the others are over the bound.
TEST(BlobPicker, CollectsNoMoreThanNeededWhenWritesHaveStopped) {
  const auto collected = [](const std::string& no_garbage, Urgency urgency) {
    return Collected("position 9 level bottom: 9[a..z]8MB{90:5MB,91:5MB,92:" + no_garbage +
                         "}\nvalues 90 100MB\nvalues 91 100MB\nvalues 92 " + no_garbage + "\n",
                     urgency);
  };
  EXPECT_EQ(collected("362MB", Urgency::kQuiet), "90 [a..-)") << "95 MiB over the bound, and 95 of garbage";
  EXPECT_EQ(collected("361MB", Urgency::kQuiet), "90,91 [a..-)");
  EXPECT_EQ(collected("742MB", Urgency::kQuiet), "nothing") << "within the bound";
  EXPECT_EQ(collected("741MB", Urgency::kQuiet), "90 [a..-)");
  EXPECT_EQ(collected("20MB", Urgency::kWriting), "90,91 [a..-)") << "more is over the bound when it ends";
}

// Ten files of 100 MB, each with `live` MB of live values.
std::string TenFiles(const std::string& live) {
  std::string shares, values;
  for (int number = 90; number < 100; ++number) {
    shares += (number == 90 ? "" : ",") + std::to_string(number) + ":" + live + "MB";
    values += "values " + std::to_string(number) + " 100MB\n";
  }
  return "position 9 level bottom: 9[a..z]8MB{" + shares + "}\n" + values;
}

TEST(BlobPicker, MovesMoreAtOnceWhenWritesHaveStopped) {
  EXPECT_EQ(Collected(TenFiles("60"), Urgency::kQuiet), "90,91,92,93 [a..-)") << "at most 256 MiB";
  EXPECT_EQ(Collected(TenFiles("30"), Urgency::kQuiet), "90,91 [a..-)") << "the bound of writes leaves no room";
  EXPECT_EQ(Collected(TenFiles("30"), Urgency::kWriting), "90,91 [a..-)");
}

TEST(BlobPicker, TakesNoFileWithoutGarbage) {
  EXPECT_EQ(Collected("position 9 level bottom: 9[a..z]8MB{90:10MB,91:200MB}\nvalues 90 100MB\nvalues 91 200MB\n",
                      Urgency::kIdle),
            "90 [a..-)");
  EXPECT_EQ(
      Collected("position 9 level 1: 9[a..z]100MB\nposition 8 level bottom: 8[a..z]8MB{90:10MB}\nvalues 90 10MB\n",
                Urgency::kIdle),
      "nothing")
      << "over the bound, but no garbage";
}

// The bounds go from the first key that refers to a file to the first table behind all such keys, in any run.
TEST(BlobPicker, EndsWhereATableOfAnyRunBeginsBehindTheReferences) {
  const std::string values = "values 90 300MB\n";
  EXPECT_EQ(Collected("position 12 level 1: 12[m..p]8MB{90:5MB}\n"
                      "position 9 level bottom: 8[b..l]8MB{90:5MB} 9[o..q]8MB 10[r..z]8MB\n" +
                      values),
            "90 [b..r)");
  EXPECT_EQ(Collected("position 12 level 1: 12[m..p)8MB{90:5MB}\n"
                      "position 9 level bottom: 8[b..l]8MB{90:5MB} 9[p..q]8MB 10[r..z]8MB\n" +
                      values),
            "90 [b..p)")
      << "p is behind an open end";
  EXPECT_EQ(Collected("position 12 level 1: 12[m..p]8MB{90:5MB}\n"
                      "position 9 level bottom: 8[b..l]8MB{90:5MB} 9[p..q]8MB\n" +
                      values),
            "90 [b..-)");
  EXPECT_EQ(Collected("position 12 level 1: 12[c..d]8MB{90:5MB}\n"
                      "position 9 level bottom: 8[b..l]8MB{90:5MB} 9[p..q]8MB\n" +
                      values),
            "90 [b..p)")
      << "the older run has the smallest key";
}

TEST(BlobPicker, OneCollectionAtATime) {
  const std::string text =
      "position 9 level bottom: 9[a..m]8MB{90:5MB} 10[n..z]8MB{91:5MB}\nvalues 90 200MB\nvalues 91 100MB\n";
  RunningCompaction other = Running({9}, {.lower = "n", .upper = {}});
  EXPECT_EQ(Collected(text), "90,91 [a..-)");
  other.collects_blobs = true;
  EXPECT_EQ(Collected(text, Urgency::kWriting, {other}), "nothing");
}

TEST(BlobGarbage, ComesFirstIfItIsThreeTimesTheBytesAboveTheOldestRun) {
  const auto comes_first = [](const std::string& record_bytes, bool is_collecting = false) {
    Tree tree(
        "position 12 level 1: 12[a..z]4MB{91:16MB}\nposition 9 level bottom: 9[a..z]4MB{90:60MB}\n"
        "values 90 " +
        record_bytes + "\nvalues 91 16MB\n");
    tree.running = {Running({3})};
    tree.running[0].collects_blobs = is_collecting;
    return BlobGarbageComesFirst(tree.Input(Urgency::kQuiet));
  };
  EXPECT_TRUE(comes_first("120MB"));
  EXPECT_FALSE(comes_first("122879KB"));
  EXPECT_FALSE(comes_first("120MB", true));
}

TEST(BlobGarbage, ComesNotFirstWithinTheBoundOrWithoutGarbage) {
  const auto comes_first = [](const std::string& live_bytes) {
    const Tree tree("position 9 level bottom: 9[a..z]4MB{90:" + live_bytes + "}\nvalues 90 100MB\n");
    return BlobGarbageComesFirst(tree.Input(Urgency::kQuiet));
  };
  EXPECT_TRUE(comes_first("79MB"));
  EXPECT_FALSE(comes_first("80MB")) << "103 of 105 MiB";
  EXPECT_FALSE(comes_first("100MB"));
}

// Symptom: a damaged blob file with much garbage kept all later rules from their picks.
TEST(BlobGarbage, OfADamagedFileKeepsNoOtherRuleBack) {
  const Tree tree("position 9 level bottom: 9[a..z]4MB,90%{90:10MB}\nvalues 90 100MB\n");
  PickInput input = tree.Input(Urgency::kQuiet);
  const auto reason = [&] {
    const auto pick = Pick(input);
    return pick ? std::string(CompactionReasonName(pick->reason)) : "nothing";
  };
  EXPECT_EQ(reason(), CompactionReasonName(CompactionReason::kBlobGarbage));
  input.unreadable = std::make_shared<Unreadable>(Unreadable{.keys = {}, .blob_files = {kv::FileNumber{90}}});
  EXPECT_EQ(reason(), CompactionReasonName(CompactionReason::kTombstones));
}

TEST(CollectedBytes, AreTwoPartitionsOfValuesOrAllTables) {
  const auto bytes = [](const std::string& tables, const std::string& values) {
    return CollectedBytesMax(Tree("position 9 level bottom: 9[a..z]" + tables + "\n" + values).version()) / kMebibyte;
  };
  EXPECT_EQ(bytes("8MB", ""), 0u);
  EXPECT_EQ(bytes("8MB{90:1MB}", "values 90 100MB\n"), 16u);
  EXPECT_EQ(bytes("20MB{90:1MB}", "values 90 100MB\n"), 20u);
  EXPECT_EQ(bytes("20MB{90:1MB}", "values 90 1024MB\n"), 64u);
}

// `count` files of 10 MB, all live, whose keys are in all of four tables.
std::string Ordered(int count, uint64_t scattered_mb, Urgency urgency = Urgency::kWriting,
                    const std::string& others = "", std::vector<RunningCompaction> running = {}) {
  std::string shares, values;
  for (int number = 100; number < 100 + count; ++number) {
    shares += (number == 100 ? "" : ",") + std::to_string(number) + ":2560KB";
    values += "values " + std::to_string(number) + " 10MB\n";
  }
  std::string tables;
  for (const char* range : {"9[a..c]", "10[d..f]", "11[g..i]", "12[j..l]"})
    tables += std::string(" ") + range + "1MB{" + shares + "}";
  Tree tree("position 9 level bottom:" + tables + others + "\n" + values);
  tree.running = std::move(running);
  PickInput input = tree.Input(urgency);
  input.scattered_bytes = scattered_mb * kMebibyte;
  const auto pick = PickBlobOrder(input);
  if (!pick) return "nothing";
  EXPECT_EQ(pick->reason, CompactionReason::kBlobOrder);
  return std::to_string(pick->blob_files_to_collect.size()) + " from " +
         std::to_string(kv::ToInt(pick->blob_files_to_collect.front()));
}

TEST(BlobOrder, BeginsWhenScansHaveReadTwiceTheBytes) {
  EXPECT_EQ(Ordered(8, 159), "nothing");
  EXPECT_EQ(Ordered(8, 160), "8 from 100");
  EXPECT_EQ(Ordered(8, 160, Urgency::kIdle), "8 from 100");
  EXPECT_EQ(Ordered(0, 160), "nothing");
}

TEST(BlobOrder, LeavesAFewFilesWithTheSameKeys) {
  EXPECT_EQ(Ordered(3, 1'000), "nothing");
  EXPECT_EQ(Ordered(4, 1'000), "4 from 100");
}

TEST(BlobOrder, LeavesFilesThatHaveTheirKeysForThemselves) {
  EXPECT_EQ(Ordered(4, 1'000, Urgency::kWriting,
                    " 13[m..o]1MB{90:20MB} 14[p..r]1MB{90:10MB,91:10MB}\nvalues 90 30MB\nvalues 91 10MB"),
            "4 from 100");
}

TEST(BlobOrder, TakesAtMost256Files) { EXPECT_EQ(Ordered(300, 10'000), "256 from 100"); }

TEST(BlobOrder, WaitsForARunningCollection) {
  RunningCompaction other = Running({3});
  EXPECT_EQ(Ordered(8, 160, Urgency::kWriting, "", {other}), "8 from 100");
  other.collects_blobs = true;
  EXPECT_EQ(Ordered(8, 160, Urgency::kWriting, "", {other}), "nothing");
}

// 84 MiB are live and 100 on disk besides: 84 x 2 + 64 MiB are allowed.
TEST(BlobOrder, UsesTheSpaceThatTheBoundOfWritesLeaves) {
  EXPECT_EQ(Ordered(8, 1'000, Urgency::kWriting, " 13[m..o]1KB{90:1KB}\nvalues 90 100MB"), "4 from 100");
  EXPECT_EQ(Ordered(8, 1'000, Urgency::kWriting, " 13[m..o]1KB{90:1KB}\nvalues 90 120MB"), "nothing")
      << "fewer than four fit";
}

// `count` blob files of `kibibytes`, all live, in one table of `table_kibibytes`.
std::string SmallFiles(size_t count, size_t kibibytes, size_t table_kibibytes = 64) {
  std::string shares, values;
  for (size_t i = 0; i < count; ++i) {
    const std::string file = std::to_string(100 + i), bytes = std::to_string(kibibytes) + "KB";
    shares += (i == 0 ? "" : ",") + file + ":" + bytes;
    values += "values " + file + " " + bytes + "\n";
  }
  return "position 9 level bottom: 9[a..z]" + std::to_string(table_kibibytes) + "KB{" + shares + "}\n" + values;
}

size_t MergedFiles(const std::string& text, Urgency urgency = Urgency::kWriting) {
  Tree tree(text);
  const auto pick = PickSmallBlobs(tree.Input(urgency));
  if (pick) { EXPECT_EQ(pick->reason, CompactionReason::kSmallBlobs); }
  return pick ? pick->blob_files_to_collect.size() : 0;
}

TEST(SmallBlobs, AreMergedIfThereAreMany) {
  EXPECT_EQ(MergedFiles(SmallFiles(32, 10)), 0u);
  EXPECT_EQ(MergedFiles(SmallFiles(33, 10)), 33u);
  EXPECT_EQ(MergedFiles(SmallFiles(33, 10), Urgency::kIdle), 33u);
  EXPECT_EQ(MergedFiles(SmallFiles(33, 1023)), 0u) << "more than one collection moves";
  EXPECT_EQ(MergedFiles(SmallFiles(33, 1024)), 0u) << "not small: a quarter of a memtable";
}

TEST(SmallBlobs, StopAtTheLiveBytesOfOneCollection) { EXPECT_EQ(MergedFiles(SmallFiles(100, 400)), 40u); }

// Each file that goes may cost one MiB of tables.
TEST(SmallBlobs, WaitForMoreIfTheTablesAreLarge) {
  EXPECT_EQ(MergedFiles(SmallFiles(40, 10, 40 << 10)), 40u);
  EXPECT_EQ(MergedFiles(SmallFiles(40, 10, (40 << 10) + 1)), 0u);
  EXPECT_EQ(MergedFiles(SmallFiles(41, 10, (40 << 10) + 1)), 41u);
}

TEST(SmallBlobs, WaitForARunningCollection) {
  Tree tree(SmallFiles(40, 10));
  tree.running = {{.sources = {kv::Position{5}}, .bounds = {}, .collects_blobs = true}};
  EXPECT_FALSE(PickSmallBlobs(tree.Input()));
}

}  // namespace
}  // namespace mergedb::picker
