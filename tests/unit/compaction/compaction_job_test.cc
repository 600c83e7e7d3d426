// Goal: each publication of a job is right by itself: after it, the tree shows the same as before, even if the
// job goes no further. Released inputs are unpinned. A failed job leaves no file of its own.
#include "compaction/compaction_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "format/table_layout.h"
#include "testing/manual_clock.h"
#include "tests/unit/compaction/tables.h"
#include "version/version_builder.h"

namespace mergedb::compaction {
namespace {

using testing::DeleteEntry;
using testing::OwnedEntry;
using testing::PutEntry;

std::string Key(int i) { return "key" + std::to_string(1'000 + i); }

class JobTest : public ::testing::Test, protected CompactedTree {
 protected:
  using Shown = std::map<std::string, std::string>;  // a deleted key is absent

  void SetUp() override {
    std::vector<OwnedEntry> older, newer;
    for (int i = 0; i < 600; ++i) {
      older.push_back(PutEntry(Key(i), 10 + static_cast<kv::Sequence>(i), "old" + std::string(100, 'o')));
      if (i % 3 == 0) newer.push_back(DeleteEntry(Key(i), 2'000 + static_cast<kv::Sequence>(i)));
      if (i % 3 == 1)
        newer.push_back(PutEntry(Key(i), 2'000 + static_cast<kv::Sequence>(i), "new" + std::string(100, 'n')));
    }
    format::VersionEdit edit;
    edit.adds.push_back({.position = kv::Position{2}, .level = 0, .file = tables_.Write(newer), .bounds = {}});
    edit.adds.push_back({.position = kv::Position{1}, .level = 0, .file = tables_.Write(older), .bounds = {}});
    ASSERT_OK(Apply(edit));
  }
  std::vector<kv::Sequence> LiveSequences() override { return {5'000}; }
  Status Install(const format::VersionEdit& edit) override {
    const Shown before = ShownNow();
    ++publications_;
    RETURN_IF_ERROR(Apply(edit));
    EXPECT_EQ(ShownNow(), before) << "publication " << publications_;
    return {};
  }
  format::BlobFilePtr FindBlobFile(kv::FileNumber number) override { return version_->FindBlobFile(number); }
  Status Apply(const format::VersionEdit& edit) {
    auto next = version::ApplyEdit(tables_.order, *version_, edit);
    if (!next) return next.error();
    version_ = std::move(*next);
    return {};
  }
  // Reads from the newest run on: the first version of a key is its value, unless a range tombstone of a
  // newer run masks it. Within a run of these tests no range tombstone masks an entry: jobs drop such
  // entries.
  Shown ShownNow() {
    Shown shown;
    std::set<std::string> met;
    std::vector<std::pair<std::string, std::string>> covered;
    const auto is_covered = [&](const std::string& key) {
      return std::any_of(covered.begin(), covered.end(),
                         [&](const auto& each) { return each.first <= key && key < each.second; });
    };
    for (const auto& run : version_->runs()) {
      const auto covered_by_newer = covered;
      for (const auto& virtual_table : run->virtual_tables()) {
        std::vector<kv::RangeTombstone> ranges;
        const auto reader = *tables_.cache->Open(virtual_table.file);
        reader->range_tombstones().AppendTo(tables_.order, virtual_table.bounds.lower, virtual_table.bounds.upper,
                                            &ranges);
        for (const auto& range : ranges) covered.emplace_back(range.begin, range.end);
      }
      std::vector<std::pair<std::string, std::string>> with_own = std::exchange(covered, covered_by_newer);
      for (const auto& virtual_table : run->virtual_tables()) {
        for (const OwnedEntry& entry : tables_.Read(virtual_table.file)) {
          if (virtual_table.bounds.lower && entry.key < *virtual_table.bounds.lower) continue;
          if (virtual_table.bounds.upper && entry.key >= *virtual_table.bounds.upper) continue;
          if (is_covered(entry.key) || !met.insert(entry.key).second) continue;
          if (kv::KindOf(entry.tag) == kv::Kind::kPut) shown[entry.key] = entry.value;
          if (kv::KindOf(entry.tag) == kv::Kind::kPutBlobIndex) shown[entry.key] = ValueOf(entry);
        }
      }
      covered = std::move(with_own);
    }
    return shown;
  }
  std::string ValueOf(const OwnedEntry& entry) {
    format::BlobIndex reference;
    EXPECT_OK(format::DecodeBlobIndex(entry.value, &reference));
    const auto file = version_->FindBlobFile(reference.file);
    if (file == nullptr) return "a blob file that is not there";
    auto reader = tables_.values->Open(*file);
    blob::Found found;
    EXPECT_OK((*reader)->Get(reference, entry.key, {}, &found));
    return std::string(found.value);
  }
  CompactionJobContext Context() {
    return {.factory = tables_.factory,
            .tree = *this,
            .tables = *tables_.cache,
            .values = tables_.values.get(),
            .clock = &clock_,
            .compression = {Compression::kNone, Compression::kNone},
            .publication_bytes = 8'192};
  }
  static picker::CompactionPick MergeAll() {
    picker::CompactionPick pick;
    pick.sources = {kv::Position{2}, kv::Position{1}};
    pick.target_level = 3;
    pick.is_bottommost = true;
    pick.output_file_bytes = 8'192;
    return pick;
  }

  // Runs the job to its end, or to its failure.
  Status Run(const picker::CompactionPick& pick) {
    CompactionJob job(Context(), pick, version_);
    Result<bool> step = false;
    while (step && !*step) step = job.Step(0);
    return step.status();
  }
  // Forges a table with valid checksums: its properties and the returned description claim `sequence` for all
  // entries.
  format::FileMetaPtr WithSequence(const format::FileMeta& meta, kv::Sequence sequence) {
    const std::string path = format::TablePath("dir", meta.number);
    std::string bytes = *tables_.files.ReadWhole(path);
    format::Footer footer;
    EXPECT_OK(format::DecodeFooter(std::string_view(bytes).substr(bytes.size() - format::kFooterBytes), bytes.size(),
                                   &footer));
    bytes.resize(footer.sections_end() - format::kTrailerBytes);
    format::Properties properties;
    EXPECT_OK(format::DecodeProperties(std::string_view(bytes).substr(footer.properties_offset()), &properties));
    properties.meta.smallest_sequence = properties.meta.largest_sequence = sequence;
    bytes.resize(footer.properties_offset());
    const std::string payload = format::EncodeProperties(properties);
    char trailer[format::kTrailerBytes];
    format::StoreTrailer(trailer, payload, Compression::kNone, {.unique_id = footer.unique_id, .offset = bytes.size()});
    bytes.append(payload).append(trailer, sizeof trailer);
    footer.properties_bytes = payload.size() + sizeof trailer;
    bytes.resize(footer.file_bytes - format::kFooterBytes);
    EXPECT_OK(tables_.files.WriteWhole(path, bytes + format::EncodeFooter(footer)));
    format::FileMeta forged = meta;
    forged.smallest_sequence = forged.largest_sequence = sequence;
    return std::make_shared<format::FileMeta>(forged);
  }
  void Add(kv::Position position, format::FileMetaPtr file) {
    format::VersionEdit edit;
    edit.adds.push_back({.position = position, .level = 0, .file = std::move(file), .bounds = {}});
    ASSERT_OK(Apply(edit));
  }

  testing::Tables tables_;
  testing::ManualClock clock_;
  version::VersionPtr version_ = std::make_shared<const version::Version>();
  int publications_ = 0;
};

TEST_F(JobTest, ShowsTheSameAfterEveryPublication) {
  const Shown before = ShownNow();
  ASSERT_EQ(before.size(), 400u);
  CompactionJob job(Context(), MergeAll(), version_);
  for (bool is_done = false; !is_done;) {
    const auto step = job.Step(0);
    ASSERT_OK(step.status());
    is_done = *step;
    ASSERT_EQ(ShownNow(), before) << "after publication " << publications_;
  }
  EXPECT_GT(publications_, 3);
  ASSERT_EQ(version_->runs().size(), 1u);
  EXPECT_EQ(version_->runs()[0]->level(), 3u);
  EXPECT_EQ(version_->tombstones(), 0u);
  EXPECT_EQ(version_->entries(), 400u);
}

// Symptom: a deleted key comes back for a while. Cause: the job releases its inputs up to the first key of
// the unfinished table, although the range tombstones of that table begin before the key. Consequence: the
// entries that they mask in older runs are visible until the table is installed.
TEST_F(JobTest, HidesWhatRangeTombstonesMaskAfterEveryPublication) {
  std::vector<OwnedEntry> oldest;
  for (int i = 0; i < 600; i += 7) oldest.push_back(PutEntry(Key(i), 1, "oldest"));
  const std::string begin = Key(100), end = Key(400);
  Outputs newest(tables_.factory, {.range_tombstones = kv::RangeTombstones::Fragment(
                                       tables_.order, {{begin, end, 4'000}}, {}, kv::RangeTombstones::Keys::kCopies)});
  ASSERT_OK(newest.Finish());
  format::VersionEdit edit;
  edit.adds.push_back({.position = kv::Position{3}, .level = 0, .file = newest.Take().at(0), .bounds = {}});
  edit.adds.push_back({.position = kv::Position{0}, .level = 0, .file = tables_.Write(oldest), .bounds = {}});
  ASSERT_OK(Apply(edit));
  const Shown before = ShownNow();
  ASSERT_FALSE(before.contains(Key(105)) || before.contains(Key(399)));

  picker::CompactionPick pick = MergeAll();
  pick.sources.insert(pick.sources.begin(), kv::Position{3});
  pick.is_bottommost = false;
  pick.cut_keys = {Key(50), Key(250), Key(420)};
  CompactionJobContext context = Context();
  context.publication_bytes = 1;
  CompactionJob job(context, pick, version_);
  for (bool is_done = false; !is_done;) {
    const auto step = job.Step(0);
    ASSERT_OK(step.status());
    is_done = *step;
  }
  EXPECT_GT(publications_, 3);
  ASSERT_EQ(ShownNow(), before);
  EXPECT_EQ(version_->runs().size(), 2u);
  EXPECT_GT(version_->range_tombstones(), 1u) << "clipped at the cuts";
}

TEST_F(JobTest, PinsNoVersion) {
  const std::weak_ptr<const version::Version> at_start = version_;
  CompactionJob job(Context(), MergeAll(), version_);
  while (publications_ == 0) ASSERT_OK(job.Step(0).status());
  EXPECT_TRUE(at_start.expired()) << "a long job would pin all that others replace";
}

TEST_F(JobTest, PinsNoTableBesideItsKeys) {
  ASSERT_OK(Run(MergeAll()));
  picker::CompactionPick first_keys = MergeAll(), last_keys = MergeAll();
  first_keys.sources = last_keys.sources = {kv::Position{1}};
  first_keys.bounds.upper = Key(100);
  last_keys.bounds.lower = Key(300);
  const CompactionJob waiting(Context(), first_keys, version_);
  const std::weak_ptr<const format::FileMeta> last = version_->runs().front()->virtual_tables().back().file;
  ASSERT_OK(Run(last_keys));
  EXPECT_TRUE(last.expired()) << "a job that waits for its first step would keep files that others replaced";
}

TEST_F(JobTest, LeavesNoFileOfAFailure) {
  const Shown before = ShownNow();
  const size_t files = tables_.files_there();
  tables_.files.AddFault({.op = testing::FileOp::kWrite, .path_contains = ".tbl", .sticky = true});
  EXPECT_THAT(Run(MergeAll()), testing::StatusIs(Code::kIOError));
  tables_.files.ClearFaults();
  EXPECT_EQ(publications_, 0);
  EXPECT_EQ(tables_.files_there(), files);
  EXPECT_EQ(ShownNow(), before);
}

// The same two runs again; their large values are in two blob files.
class BlobGarbageTest : public JobTest {
 protected:
  void SetUp() override {
    tables_.factory.blob_value_bytes_min = 100;
    JobTest::SetUp();
    CompactionJob job(Context(), MergeAll(), version_);
    for (bool is_done = false; !is_done;) {
      const auto step = job.Step(0);
      ASSERT_OK(step.status());
      is_done = *step;
    }
    ASSERT_GE(version_->blob_files().size(), 2u);
    EXPECT_EQ(version_->garbage_bytes(), 0u);
    publications_ = 0;
  }
  picker::CompactionPick Clean() const {
    picker::CompactionPick pick;
    pick.sources = {kv::Position{1}};
    pick.target_level = 3;
    pick.is_bottommost = true;
    pick.output_file_bytes = 8'192;
    pick.blob_files_to_collect = {version_->blob_files().front().file->number};
    return pick;
  }
};

TEST_F(BlobGarbageTest, MovesWhatIsLiveAndLeavesTheRest) {
  const Shown before = ShownNow();
  const picker::CompactionPick pick = Clean();
  const uint64_t files = version_->blob_files().size();
  const kv::FileNumber other = version_->blob_files().back().file->number;
  const auto live = version_->blob_files().front().live_bytes;
  CompactionJob job(Context(), pick, version_);
  for (bool is_done = false; !is_done;) {
    const auto step = job.Step(0);
    ASSERT_OK(step.status());
    is_done = *step;
    ASSERT_EQ(ShownNow(), before) << "after publication " << publications_;
  }
  EXPECT_EQ(version_->FindBlobFile(pick.blob_files_to_collect[0]), nullptr);
  EXPECT_NE(version_->FindBlobFile(other), nullptr);
  EXPECT_GE(version_->blob_files().size(), files);
  EXPECT_EQ(job.counts().blob_bytes_moved, live);
  EXPECT_EQ(version_->garbage_bytes(), 0u);
}

TEST_F(BlobGarbageTest, BringsValuesBackIntoTablesWhenNoneIsToBeSeparate) {
  const Shown before = ShownNow();
  tables_.factory.blob_value_bytes_min = 0;
  picker::CompactionPick pick = Clean();
  pick.blob_files_to_collect.clear();
  for (const auto& each : version_->blob_files()) pick.blob_files_to_collect.push_back(each.file->number);
  ASSERT_OK(Run(pick));
  EXPECT_EQ(ShownNow(), before);
  EXPECT_TRUE(version_->blob_files().empty());
}

TEST_F(BlobGarbageTest, LeavesNoFileOfAFailure) {
  const Shown before = ShownNow();
  const auto files = version_->blob_files().size();
  tables_.files.AddFault({.op = testing::FileOp::kRead, .path_contains = ".val", .nth = 2, .sticky = true});
  EXPECT_THAT(Run(Clean()), testing::StatusIs(Code::kIOError));
  tables_.files.ClearFaults();
  EXPECT_EQ(ShownNow(), before);
  EXPECT_EQ(version_->blob_files().size(), files);
}

TEST_F(BlobGarbageTest, DoesNotBeginWhereAFileCannotBeOpened) {
  const Shown before = ShownNow();
  const picker::CompactionPick pick = Clean();
  tables_.values->Evict(pick.blob_files_to_collect[0]);
  tables_.files.AddFault({.op = testing::FileOp::kOpen, .path_contains = ".val"});
  EXPECT_THAT(Run(pick), testing::StatusIs(Code::kIOError, ::testing::HasSubstr(format::BlobFilePath(
                                                               "dir", pick.blob_files_to_collect[0]))));
  EXPECT_EQ(publications_, 0);
  ASSERT_OK(Run(pick));
  EXPECT_EQ(ShownNow(), before);
  EXPECT_EQ(version_->FindBlobFile(pick.blob_files_to_collect[0]), nullptr);
}

// The checksum of the table is right, but no writer makes such a blob index.
TEST_F(BlobGarbageTest, EndsAtAReferenceThatIsNone) {
  const Shown before = ShownNow();
  ASSERT_OK_AND_ASSIGN(
      auto table, table::Writer::Create(&tables_.files, "dir/000900.tbl", kv::FileNumber{900}, 1, tables_.order, {}));
  ASSERT_OK(table->Add(ViewOf(OwnedEntry{Key(0), kv::MakeTag(9'000, kv::Kind::kPutBlobIndex), "\xff"}, tables_.order)));
  ASSERT_OK_AND_ASSIGN(const auto forged, table->Finish());
  Add(kv::Position{2}, forged);
  picker::CompactionPick pick = Clean();
  pick.sources = {kv::Position{2}, kv::Position{1}};
  EXPECT_THAT(Run(pick), testing::StatusIs(Code::kCorruption, ::testing::HasSubstr("expected a blob index, found ff")));
  EXPECT_EQ(publications_, 0);
  format::VersionEdit without;
  without.cuts.push_back({.position = kv::Position{2}, .bounds = {}});
  ASSERT_OK(Apply(without));
  EXPECT_EQ(ShownNow(), before);
  ASSERT_OK(Run(Clean()));
}

TEST_F(JobTest, MovesWithoutWriting) {
  const size_t files = tables_.files_there();
  picker::CompactionPick pick = MergeAll();
  pick.is_move = true;
  // Cuts the two runs to disjoint halves.
  format::VersionEdit halves;
  halves.cuts.push_back({.position = kv::Position{2}, .bounds = {.lower = Key(300)}});
  halves.cuts.push_back({.position = kv::Position{1}, .bounds = {.upper = Key(300)}});
  ASSERT_OK(Apply(halves));
  const Shown before = ShownNow();
  CompactionJob job(Context(), pick, version_);
  const auto step = job.Step(0);
  ASSERT_OK(step.status());
  EXPECT_TRUE(*step);
  EXPECT_EQ(ShownNow(), before);
  EXPECT_EQ(version_->runs().size(), 1u);
  EXPECT_EQ(tables_.files_there(), files);
}

// Symptom: CompactRange never returns. Cause: a forged table whose deletes are newer than any reader. Each
// compaction keeps these deletes, and the next pick selects them again. Found by fuzz/directory_fuzz.cc.
TEST_F(JobTest, RefusesAnInputThatIsNewerThanTheTreeSays) {
  tables_.RemoveWhatNobodyNames();
  for (const int deletes : {1, 3'000}) {  // found at the end; found at a publication
    SCOPED_TRACE(deletes);
    std::vector<OwnedEntry> entries;
    for (int i = 0; i < deletes; ++i) entries.push_back(DeleteEntry(Key(i), 9'000));
    const auto written = tables_.Write(entries);
    const auto forged = WithSequence(*written, 100);
    Add(kv::Position{3}, forged);
    const size_t files = tables_.files_there();
    picker::CompactionPick pick = MergeAll();
    pick.sources = {kv::Position{3}};
    EXPECT_THAT(Run(pick),
                testing::StatusIs(
                    Code::kCorruption,
                    ::testing::HasSubstr("has sequence 9000, larger than that of its tables in the MANIFEST, 100")));
    EXPECT_EQ(publications_, 0);
    EXPECT_EQ(tables_.files_there(), files);
    format::VersionEdit without;
    without.cuts.push_back({.position = kv::Position{3}, .bounds = {}});
    ASSERT_OK(Apply(without));
  }
}

}  // namespace
}  // namespace mergedb::compaction
