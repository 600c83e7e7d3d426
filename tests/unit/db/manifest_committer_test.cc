// Goal: a commit makes the changes of the SuperVersion durable, and a failed commit leaves its changes to the
// next one.
#include "db/state/manifest_committer.h"

#include <gtest/gtest.h>

#include "manifest/loader.h"
#include "testing/fault_file_system.h"
#include "testing/manual_executor.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using testing::CrashMode;
using testing::CrashModel;
using testing::FileOp;

class ManifestCommitterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    ASSERT_OK(files_.SyncDirectory("/"));
  }
  std::shared_ptr<memtable::Memtable> NewMemtable() {
    return std::make_shared<memtable::Memtable>(order_, memtable::NewMemory(64 << 10));
  }
  void WriteFile(const std::string& path, char fill) {
    auto file = files_.Open(path, {.access = Access::kCreate});
    EXPECT_OK(file.status());
    EXPECT_OK((*file)->WriteAt(0, std::string(5000, fill)));
  }
  // NewBlobFile and NewTable write files and do not sync them. The table refers to the blob file.
  format::BlobFilePtr NewBlobFile() {
    const kv::FileNumber number = version_set_.AllocateNumber();
    WriteFile(format::BlobFilePath("/d", number), 'v');
    return std::make_shared<format::BlobFileMeta>(
        format::BlobFileMeta{.number = number, .bytes = 5000, .records = 1, .record_bytes = 4000});
  }
  format::FileMetaPtr NewTable(const format::BlobFilePtr& values) {
    const kv::FileNumber number = version_set_.AllocateNumber();
    WriteFile(format::TablePath("/d", number), 't');
    auto meta = std::make_shared<format::FileMeta>();
    meta->number = number;
    meta->bytes = 5000;
    meta->entries = meta->smallest_sequence = meta->largest_sequence = 1;
    meta->smallest = "a";
    meta->largest = "z";
    meta->values = {{.file = values->number, .bytes = 4000}};
    return meta;
  }
  void Flush(uint64_t end) {
    if (version_set_.Current() == nullptr || version_set_.Current()->active == nullptr)
      version_set_.SwitchMemtable(NewMemtable(), {});
    version_set_.SwitchMemtable(NewMemtable(), {.epoch = kEpoch, .position = end, .sequence = end});
    const auto values = NewBlobFile();
    ASSERT_OK(version_set_.InstallFlush(NewTable(values), {values}));
  }
  // A WAL of kEpoch with one frame. Nothing syncs it, so its durable position tells what was released.
  void BeginWal() {
    ASSERT_OK_AND_ASSIGN(std::shared_ptr<wal::Wal> created,
                         wal::Wal::Create({.file_system = &files_,
                                           .executor = &executor_,
                                           .directory = "/d",
                                           .database_id = 7,
                                           .epoch = kEpoch,
                                           .buffer_bytes = 32 << 10,
                                           .segment_bytes = 64 << 10,
                                           .allocate_number = [this] { return version_set_.AllocateNumber(); },
                                           .reusable_segments = {}}));
    const std::string_view frame = "a frame";
    ASSERT_OK(created->Append({&frame, 1}, 1, false));
    wal_.Replace(std::move(created), kEpoch);
  }
  // Checks that after a power cut the tables of the durable MANIFEST are there and whole.
  void CheckPowerCut(size_t tables) {
    auto image = files_.Crash(CrashMode::kMin, CrashModel::kStrict, 1);
    ASSERT_OK_AND_ASSIGN(const manifest::Loaded loaded, manifest::Load(image.get(), "/d", order_));
    EXPECT_EQ(loaded.version->files().size(), tables);
    for (const auto& meta : loaded.version->file_metas()) {
      EXPECT_THAT(image->ReadWhole(format::TablePath("/d", meta->number)),
                  testing::IsOkAndHolds(std::string(5000, 't')));
    }
    EXPECT_EQ(loaded.version->blob_files().size(), tables);
    for (const auto& each : loaded.version->blob_files()) {
      EXPECT_THAT(image->ReadWhole(format::BlobFilePath("/d", each.file->number)),
                  testing::IsOkAndHolds(std::string(5000, 'v')));
    }
  }

  static constexpr uint64_t kEpoch = 1;
  testing::FaultFileSystem files_;
  testing::ManualExecutor executor_;
  const kv::Order order_{BytewiseComparator()};
  std::vector<kv::FileNumber> replaced_;
  const version::VersionPtr empty_ = std::make_shared<const version::Version>();
  VersionSet version_set_{order_, empty_, kv::FileNumber{10}, kv::Position{1}, {.epoch = kEpoch, .sequence = 1}};
  wal::CurrentWal wal_;
  ManifestCommitter committer_{
      {.order = order_,
       .database_id = 7,
       .files = {.file_system = &files_,
                 .directory = "/d",
                 .allocate_number = [this] { return version_set_.AllocateNumber(); },
                 .check = [](const std::string&, const format::DescribedFile&) { return Status(); },
                 .file_replaced = [this](kv::FileNumber number) { replaced_.push_back(number); }}},
      version_set_,
      wal_,
      empty_};
};

TEST_F(ManifestCommitterTest, CommitsAFlushAndReleasesItsWal) {
  BeginWal();
  const uint64_t end = wal_.wal().end().position;
  Flush(end);
  files_.AddFault({.op = FileOp::kSync, .path_contains = ".tbl"});
  EXPECT_THAT(committer_.Commit(), testing::StatusIs(Code::kIOError));
  EXPECT_EQ(wal_.wal().durable_position(), 0u);
  ASSERT_OK(committer_.Commit());
  EXPECT_FALSE(version_set_.HasUncommitted());
  EXPECT_EQ(wal_.wal().durable_position(), end);
  EXPECT_EQ(version_set_.UncommittedWalBytes(), 0u);
  EXPECT_EQ(committer_.commits(), 1u);
  CheckPowerCut(1);
}

// The commit of a new epoch comes while the WAL of the old one is still there.
TEST_F(ManifestCommitterTest, LeavesTheWalOfAnotherEpochAlone) {
  BeginWal();
  version_set_.SwitchMemtable(NewMemtable(), {.epoch = kEpoch, .sequence = 1});
  version_set_.StartEpoch({.epoch = kEpoch + 1, .salt = 5, .sequence = 2});
  ASSERT_OK(committer_.Commit());
  EXPECT_EQ(wal_.wal().durable_position(), 0u);
  ASSERT_OK_AND_ASSIGN(const manifest::Loaded loaded, manifest::Load(&files_, "/d", order_));
  EXPECT_EQ(loaded.wal_start.epoch, kEpoch + 1);
  EXPECT_EQ(loaded.wal_segments.size(), 0u);
  EXPECT_EQ(loaded.staging_bytes, std::nullopt);
}

TEST_F(ManifestCommitterTest, ReplacesATableWhoseSyncFailed) {
  ASSERT_OK(committer_.Commit());
  Flush(100);
  files_.AddFault({.op = FileOp::kSync, .path_contains = ".tbl"});
  EXPECT_THAT(committer_.Commit(), testing::StatusIs(Code::kIOError));
  EXPECT_TRUE(version_set_.HasUncommitted());
  ASSERT_OK(committer_.Commit());
  EXPECT_EQ(replaced_.size(), 1u);
  EXPECT_EQ(files_.sync_after_failed_sync(), 0u);
  CheckPowerCut(1);
}

TEST_F(ManifestCommitterTest, CommitsAfterAnyFailureWhatAPowerCutCannotTake) {
  for (uint64_t n = 1; n < 12; ++n) {
    SCOPED_TRACE("n " + std::to_string(n));
    Flush(100 * n);
    files_.AddFault({.op = FileOp::kAnyChange, .nth = n % 6 + 1});
    const bool failed = !committer_.Commit().ok();
    files_.ClearFaults();
    if (failed) { ASSERT_OK(committer_.Commit()); }
    CheckPowerCut(n);
  }
  EXPECT_EQ(files_.sync_after_failed_sync(), 0u);
}

}  // namespace
}  // namespace mergedb::db
