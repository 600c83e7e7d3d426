// Goal: ApplyEdit changes a Version exactly as the VersionEdit says. Method: trees as text, then random edits,
// compared with a map from key to file.
#include "version/version_builder.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "testing/tree_text.h"
#include "tests/unit/version/order.h"
#include "version/invariants.h"
#include "version/version_diff.h"

namespace mergedb::version {
namespace {

VersionPtr Tree(std::string_view text) {
  auto parsed = mergedb::testing::ParseTree(kOrder, text);
  EXPECT_TRUE(parsed.has_value()) << parsed.status().ToString();
  return parsed ? *parsed : std::make_shared<Version>();
}

format::FileMetaPtr File(uint64_t number, std::string smallest, std::string largest, uint64_t bytes = 1000) {
  auto file = std::make_shared<format::FileMeta>();
  file->number = kv::FileNumber{number};
  file->bytes = bytes;
  file->entries = 10;
  file->smallest = std::move(smallest);
  file->largest = std::move(largest);
  return file;
}

format::VersionEdit::Cut Cut(uint64_t position, std::optional<std::string> lower, std::optional<std::string> upper) {
  return {.position = kv::Position{position}, .bounds = {.lower = std::move(lower), .upper = std::move(upper)}};
}

format::VersionEdit::Add Add(uint64_t position, format::FileMetaPtr file, format::Bounds bounds = {}) {
  return {.position = kv::Position{position}, .level = 0, .file = std::move(file), .bounds = std::move(bounds)};
}

std::string Apply(const Version& version, const format::VersionEdit& edit) {
  auto applied = ApplyEdit(kOrder, version, edit);
  return applied ? (*applied)->ToString() : std::string(CodeName(applied.error().code()));
}

TEST(ApplyEdit, AddsARunAtItsPositionNewestFirst) {
  const auto version = Tree("position 5 level 0: 000005[a..z]");
  format::VersionEdit edit;
  edit.adds = {Add(9, File(9, "b", "c")), Add(2, File(2, "d", "e"))};
  EXPECT_EQ(Apply(*version, edit),
            "position 9 level 0: 000009[b..c]\n"
            "position 5 level 0: 000005[a..z]\n"
            "position 2 level 0: 000002[d..e]\n");
}

// A table that refers to the given numbers of bytes in blob files.
format::FileMetaPtr FileWith(uint64_t number, std::string smallest, std::string largest,
                             std::vector<format::BlobShare> values) {
  auto file = std::make_shared<format::FileMeta>(*File(number, std::move(smallest), std::move(largest)));
  file->values = std::move(values);
  return file;
}

format::VersionEdit::AddBlobFile Values(uint64_t number, uint64_t record_bytes) {
  return {std::make_shared<format::BlobFileMeta>(
      format::BlobFileMeta{.number = kv::FileNumber{number}, .bytes = 2 * record_bytes, .record_bytes = record_bytes})};
}

// For example "7:40/100 9:...": the live bytes and the record bytes of each blob file.
std::string LiveBytes(const Version& version) {
  std::string text;
  for (const BlobFile& each : version.blob_files()) {
    text += (text.empty() ? "" : " ") + std::to_string(kv::ToInt(each.file->number)) + ":" +
            std::to_string(each.live_bytes) + "/" + std::to_string(each.file->record_bytes);
  }
  return text;
}

TEST(ApplyEdit, BlobFilesComeWithAnEditAndGoWithTheLastTableThatRefersToThem) {
  const kv::FileNumber seven{7}, nine{9};
  format::VersionEdit edit;
  edit.adds = {Add(5, FileWith(1, "a", "f", {{seven, 40}})), Add(4, FileWith(2, "a", "z", {{seven, 60}, {nine, 10}}))};
  edit.blob_files = {Values(9, 10), Values(7, 100)};
  const auto both = *ApplyEdit(kOrder, Version(), edit);
  EXPECT_EQ(LiveBytes(*both), "7:100/100 9:10/10");
  EXPECT_EQ(both->bytes(), 2'000u);
  EXPECT_EQ(both->bytes_on_disk(), 2'000u + 220);
  EXPECT_EQ(both->garbage_bytes(), 0u);

  // The compaction keeps 30 of the bytes in 7 that the two tables refer to, and none in 9.
  format::VersionEdit merge;
  merge.cuts = {Cut(5, {}, {}), Cut(4, {}, {})};
  merge.adds = {Add(4, FileWith(3, "a", "z", {{seven, 30}}))};
  const auto merged = *ApplyEdit(kOrder, *both, merge);
  EXPECT_EQ(LiveBytes(*merged), "7:30/100");
  EXPECT_EQ(merged->garbage_bytes(), 70u);
  EXPECT_EQ(merged->FindBlobFile(nine), nullptr);
  EXPECT_NE(merged->FindBlobFile(seven), nullptr);
}

TEST(ApplyEdit, AllBlobIndexesOfAClippedTableCount) {
  format::VersionEdit edit;
  edit.adds = {Add(5, FileWith(1, "a", "z", {{kv::FileNumber{7}, 100}}))};
  edit.blob_files = {Values(7, 100)};
  const auto version = *ApplyEdit(kOrder, Version(), edit);
  format::VersionEdit release;  // a compaction of [a, m) kept 45 bytes
  release.cuts = {Cut(5, {}, "m")};
  release.adds = {Add(5, FileWith(2, "a", "l", {{kv::FileNumber{7}, 45}}))};
  const auto half = *ApplyEdit(kOrder, *version, release);
  EXPECT_EQ(LiveBytes(*half), "7:100/100");
  release = {};
  release.cuts = {Cut(5, "m", {})};
  EXPECT_EQ(LiveBytes(**ApplyEdit(kOrder, *half, release)), "7:45/100");
}

TEST(ApplyEdit, ABlobIndexOfAnUnknownBlobFileIsCorruption) {
  format::VersionEdit edit;
  edit.adds = {Add(5, FileWith(1, "a", "z", {{kv::FileNumber{7}, 100}}))};
  EXPECT_EQ(Apply(Version(), edit), "Corruption");
}

TEST(ApplyEdit, ABlobFileHasOneDescription) {
  format::VersionEdit edit;
  edit.adds = {Add(5, FileWith(1, "a", "f", {{kv::FileNumber{7}, 100}}))};
  edit.blob_files = {Values(7, 100)};
  const auto version = *ApplyEdit(kOrder, Version(), edit);
  format::VersionEdit again;
  again.blob_files = {Values(7, 100)};
  EXPECT_EQ(LiveBytes(**ApplyEdit(kOrder, *version, again)), "7:100/100");
  again.blob_files = {Values(7, 101)};
  EXPECT_EQ(Apply(*version, again), "Corruption");
  edit.blob_files = {Values(7, 100), Values(7, 99)};
  EXPECT_EQ(Apply(Version(), edit), "Corruption") << "within one edit";
}

TEST(DiffVersions, NamesTheBlobFilesThatAreNew) {
  format::VersionEdit edit;
  edit.adds = {Add(5, FileWith(1, "a", "z", {{kv::FileNumber{7}, 100}}))};
  edit.blob_files = {Values(7, 100)};
  const auto source = *ApplyEdit(kOrder, Version(), edit);
  format::VersionEdit flush;
  flush.adds = {Add(6, FileWith(2, "a", "z", {{kv::FileNumber{8}, 50}}))};
  flush.blob_files = {Values(8, 50)};
  const auto target = *ApplyEdit(kOrder, *source, flush);
  const format::VersionEdit diff = DiffVersions(kOrder, *source, *target);
  EXPECT_EQ(diff, flush);
  EXPECT_EQ(LiveBytes(**ApplyEdit(kOrder, *source, diff)), "7:100/100 8:50/50");
  EXPECT_EQ(LiveBytes(**ApplyEdit(kOrder, Version(), VersionEditFromEmpty(*target))), "7:100/100 8:50/50");
}

TEST(ApplyEdit, CutInTheMiddleOfAVirtualTableLeavesTwo) {
  const auto version = Tree("position 5 level 0: 000005[a..z]");
  format::VersionEdit edit;
  edit.cuts = {Cut(5, "f", "m")};
  EXPECT_EQ(Apply(*version, edit), "position 5 level 0: 000005[a..f) 000005[m..z]\n");
}

TEST(ApplyEdit, CutRemovesVirtualTablesAndClipsTheOutermost) {
  const auto version = Tree("position 5 level 0: 000001[a..c] 000002[d..f] 000003[g..i] 000004[j..l]");
  format::VersionEdit edit;
  edit.cuts = {Cut(5, "b", "k")};
  EXPECT_EQ(Apply(*version, edit), "position 5 level 0: 000001[a..b) 000004[k..l]\n");
  edit.cuts = {Cut(5, "c5", "j")};
  EXPECT_EQ(Apply(*version, edit), "position 5 level 0: 000001[a..c] 000004[j..l]\n");
}

// A range tombstone ends where the next table begins: the largest key is exclusive.
TEST(ApplyEdit, ATableWithAnOpenEndMeetsItsNeighbourAndNoMore) {
  auto open = std::make_shared<format::FileMeta>(*File(1, "a", "f"));
  open->range_tombstones = 1;
  open->largest_is_open = true;
  format::VersionEdit edit;
  edit.adds = {Add(5, open), Add(5, File(2, "f", "m"))};
  const auto version = ApplyEdit(kOrder, Version(), edit);
  ASSERT_TRUE(version.has_value()) << version.status().ToString();
  EXPECT_EQ((*version)->ToString(), "position 5 level 0: 000001[a..f) 000002[f..m]\n");
  EXPECT_TRUE(CheckInvariants(kOrder, **version).ok());
  const version::Run& run = *(*version)->runs()[0];
  EXPECT_EQ(run.Find(kOrder, "e")->file->number, kv::FileNumber{1});
  EXPECT_EQ(run.Find(kOrder, "f")->file->number, kv::FileNumber{2});
  EXPECT_EQ(run.virtual_tables_with_ranges(), std::vector<uint32_t>{0});
  edit = {};
  edit.cuts = {Cut(5, "f", std::nullopt)};
  EXPECT_EQ(Apply(**version, edit), "position 5 level 0: 000001[a..f)\n");
  edit.cuts = {Cut(5, "c", std::nullopt)};
  EXPECT_EQ(Apply(**version, edit), "position 5 level 0: 000001[a..c)\n");
  edit.cuts = {Cut(5, std::nullopt, "f")};
  EXPECT_EQ(Apply(**version, edit), "position 5 level 0: 000002[f..m]\n");
}

TEST(ApplyEdit, AVirtualTableWithoutKeysVanishes) {
  const auto version = Tree("position 5 level 0: 000001[a..c] 000002[d..f]");
  format::VersionEdit edit;
  edit.cuts = {Cut(5, std::nullopt, "c1")};
  EXPECT_EQ(Apply(*version, edit), "position 5 level 0: 000002[d..f]\n");
  edit.cuts = {Cut(5, std::nullopt, "c")};
  EXPECT_EQ(Apply(*version, edit), "position 5 level 0: 000001[c..c] 000002[d..f]\n");
}

TEST(ApplyEdit, ARunThatShowsNothingVanishesAndMayBeCutAgain) {
  const auto version = Tree("position 5 level 0: 000001[a..c]\nposition 3 level 0: 000002[a..z]");
  format::VersionEdit edit;
  edit.cuts = {Cut(5, std::nullopt, std::nullopt), Cut(4, "a", "b")};
  edit.levels = {{.position = kv::Position{5}, .level = 1}};
  EXPECT_EQ(Apply(*version, edit), "position 3 level 0: 000002[a..z]\n");
}

TEST(ApplyEdit, MovesAPartOfTwoRunsIntoTheOlder) {
  const auto version = Tree("position 5 level 0: 000005[a..z]\nposition 3 level 1: 000003[b..y]");
  format::VersionEdit edit;
  edit.cuts = {Cut(5, std::nullopt, "m"), Cut(3, std::nullopt, "m")};
  edit.adds = {Add(3, File(7, "a", "l"))};
  edit.levels = {{.position = kv::Position{3}, .level = 2}};
  EXPECT_EQ(Apply(*version, edit),
            "position 5 level 0: 000005[m..z]\n"
            "position 3 level 2: 000007[a..l] 000003[m..y]\n");
}

TEST(ApplyEdit, RefusesVirtualTablesThatOverlap) {
  const auto version = Tree("position 5 level 0: 000005[f..m]");
  for (const auto& [smallest, largest] : {std::pair{"a", "f"}, {"m", "z"}, {"g", "h"}, {"a", "z"}}) {
    format::VersionEdit edit;
    edit.adds = {Add(5, File(9, smallest, largest))};
    EXPECT_EQ(Apply(*version, edit), "Corruption") << smallest;
  }
  format::VersionEdit twins;
  twins.adds = {Add(5, File(9, "a", "c")), Add(5, File(10, "b", "d"))};
  EXPECT_EQ(Apply(*version, twins), "Corruption");
}

TEST(ApplyEdit, RefusesWhatMakesNoSense) {
  const Version empty;
  format::VersionEdit backwards;
  backwards.cuts = {Cut(1, "m", "a")};
  EXPECT_EQ(Apply(empty, backwards), "Corruption");
  format::VersionEdit hidden;
  hidden.adds = {Add(1, File(1, "a", "c"), {.lower = "d", .upper = {}})};
  EXPECT_EQ(Apply(empty, hidden), "Corruption");
  format::VersionEdit no_table;
  no_table.adds = {Add(1, nullptr)};
  EXPECT_EQ(Apply(empty, no_table), "Corruption");
  format::VersionEdit inside_out;
  inside_out.adds = {Add(1, File(1, "z", "a"))};
  EXPECT_EQ(Apply(empty, inside_out), "Corruption");
}

TEST(ApplyEdit, AnEmptyCutDoesNothing) {
  const auto version = Tree("position 5 level 0: 000005[a..z]");
  format::VersionEdit edit;
  edit.cuts = {Cut(5, "f", "f")};
  EXPECT_EQ(Apply(*version, edit), version->ToString());
}

TEST(ApplyEdit, SharesTheRunsThatItDoesNotTouch) {
  const auto version = Tree("position 5 level 0: 000005[a..z]\nposition 3 level 1: 000003[b..y]");
  format::VersionEdit edit;
  edit.cuts = {Cut(5, "f", "g")};
  const auto applied = ApplyEdit(kOrder, *version, edit);
  ASSERT_TRUE(applied.has_value());
  EXPECT_EQ((*applied)->FindRun(kv::Position{3}), version->FindRun(kv::Position{3}));
}

TEST(Version, CountsAFileOnceAndWholeUntilNothingShowsIt) {
  const auto version = Tree(
      "position 5 level 0: 000005[a..f)8MB 000006[f..g]2MB 000005[m..p)\n"
      "position 3 level 1: 000005[q..z]");
  EXPECT_EQ(version->bytes(), 10u << 20);
  EXPECT_EQ(version->runs()[0]->bytes(), 10u << 20);
  EXPECT_EQ(version->runs()[1]->bytes(), 8u << 20);
  EXPECT_EQ(version->files().size(), 2u);
  format::VersionEdit edit;
  edit.cuts = {Cut(5, std::nullopt, std::nullopt)};
  EXPECT_EQ((*ApplyEdit(kOrder, *version, edit))->bytes(), 8u << 20);
  edit.cuts.push_back(Cut(3, std::nullopt, std::nullopt));
  EXPECT_EQ((*ApplyEdit(kOrder, *version, edit))->bytes(), 0u);
}

TEST(RunFind, FindsTheVirtualTableThatMayHaveAKey) {
  const auto version = Tree("position 5 level 0: 000005[b..f) 000006[f..h] 000007[m..p]");
  const version::Run& run = *version->runs()[0];
  const auto found = [&](std::string_view key) {
    const VirtualTable* virtual_table = run.Find(kOrder, key);
    return virtual_table ? kv::ToInt(virtual_table->file->number) : 0;
  };
  EXPECT_EQ(found("a"), 0u);
  EXPECT_EQ(found("b"), 5u);
  EXPECT_EQ(found("ez"), 5u);
  EXPECT_EQ(found("f"), 6u);
  EXPECT_EQ(found("h"), 6u);
  EXPECT_EQ(found("ha"), 0u);
  EXPECT_EQ(found("p"), 7u);
  EXPECT_EQ(found("q"), 0u);
  EXPECT_EQ(run.FindIndex(kOrder, "i"), 2u);
  EXPECT_EQ(run.FindIndex(kOrder, "q"), 3u);
  using Range = std::pair<size_t, size_t>;
  EXPECT_EQ(run.Overlap(kOrder, {}), Range(0, 3));
  EXPECT_EQ(run.Overlap(kOrder, {.lower = "f", .upper = "m"}), Range(1, 2));
  EXPECT_EQ(run.Overlap(kOrder, {.lower = "i", .upper = "j"}), Range(2, 2));
}

// Random edits, compared with a map that knows which file shows which key.
class RandomEdits {
 public:
  explicit RandomEdits(uint64_t seed) : random_(seed) {}

  void Run() {
    for (int step = 0; step < 40; ++step) {
      const VersionPtr before = version_;
      Step();
      if (::testing::Test::HasFailure()) return;
      Check();
      const format::VersionEdit diff = DiffVersions(kOrder, *before, *version_);
      EXPECT_EQ(Apply(*before, diff), version_->ToString());
      EXPECT_EQ(Apply(Version(), VersionEditFromEmpty(*version_)), version_->ToString());
    }
  }

 private:
  static std::string Key(uint64_t key) {
    return {static_cast<char>('a' + key / 10), static_cast<char>('0' + key % 10)};
  }

  void Step() {
    const uint64_t position = 1 + random_.Uniform(4);
    const uint64_t lower = random_.Uniform(100);
    const uint64_t upper = lower + 1 + random_.Uniform(100 - lower);
    auto& shown = model_[position];
    format::VersionEdit edit;
    edit.cuts.push_back(Cut(position, Key(lower), Key(upper)));
    for (uint64_t key = lower; key < upper; ++key) shown[key] = 0;
    if (!random_.OneIn(3)) {
      // The file's keys may reach beyond the bounds of the virtual table.
      const uint64_t smallest = lower - random_.Uniform(lower + 1);
      const uint64_t largest = upper - 1 + random_.Uniform(101 - upper);
      const auto file = File(++files_, Key(smallest), Key(largest));
      edit.adds.push_back(Add(position, file, {.lower = Key(lower), .upper = Key(upper)}));
      for (uint64_t key = lower; key < upper; ++key) shown[key] = files_;
    }
    auto applied = ApplyEdit(kOrder, *version_, edit);
    ASSERT_TRUE(applied.has_value()) << applied.error().ToString();
    version_ = *applied;
  }

  void Check() {
    const Status status = CheckInvariants(kOrder, *version_);
    ASSERT_TRUE(status.ok()) << status.ToString() << "\n" << version_->ToString();
    for (auto& [position, shown] : model_) {
      const RunPtr run = version_->FindRun(kv::Position{position});
      for (uint64_t key = 0; key < 100; ++key) {
        const VirtualTable* virtual_table = run ? run->Find(kOrder, Key(key)) : nullptr;
        ASSERT_EQ(virtual_table ? kv::ToInt(virtual_table->file->number) : 0, shown[key]) << Key(key) << "\n"
                                                                                          << version_->ToString();
      }
    }
  }

  base::Random random_;
  VersionPtr version_ = std::make_shared<Version>();
  std::map<uint64_t, std::map<uint64_t, uint64_t>> model_;  // position -> key -> file
  uint64_t files_ = 0;
};

TEST(ApplyEdit, ShowsWhatAMapShowsAfterRandomEdits) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomEdits(seed).Run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace mergedb::version
