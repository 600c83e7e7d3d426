// Goal: a file is durable under its name after Sync, and a file whose sync failed is replaced by a checked copy.
#include "db/state/file_syncer.h"

#include <gtest/gtest.h>

#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using testing::FileOp;

class FileSyncerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    ASSERT_OK(files_.SyncDirectory("/"));
    ASSERT_OK_AND_ASSIGN(auto file, files_.Open(kPath, {.access = Access::kCreate}));
    ASSERT_OK(file->WriteAt(0, "values"));
  }
  Status Sync() {
    format::VersionEdit edit;
    edit.blob_files.push_back({std::make_shared<format::BlobFileMeta>(format::BlobFileMeta{.number = kNumber})});
    return syncer_.Sync(edit);
  }
  void FailOnce(FileOp op) { files_.AddFault({.op = op}); }
  void CheckIsDurable() {
    auto image = files_.Crash(testing::CrashMode::kMin, testing::CrashModel::kStrict, 1);
    EXPECT_THAT(image->ReadWhole(kPath), testing::IsOkAndHolds("values"));
  }

  const kv::FileNumber kNumber{1};
  const std::string kPath = format::BlobFilePath("/d", kNumber);
  testing::FaultFileSystem files_;
  uint64_t next_file_ = 2;
  std::vector<kv::FileNumber> replaced_;
  Status check_;
  FileSyncer syncer_{{.file_system = &files_,
                      .directory = "/d",
                      .allocate_number = [this] { return kv::FileNumber{next_file_++}; },
                      .check = [this](const std::string&, const format::DescribedFile&) { return check_; },
                      .file_replaced = [this](kv::FileNumber number) { replaced_.push_back(number); }},
                     version::Version()};
};

TEST_F(FileSyncerTest, SyncsAFileOnce) {
  ASSERT_OK(Sync());
  CheckIsDurable();
  FailOnce(FileOp::kAnyChange);
  EXPECT_OK(Sync());
}

TEST_F(FileSyncerTest, SyncsTheNameAgainIfTheDirectoryWasNotSynced) {
  FailOnce(FileOp::kSyncDirectory);
  EXPECT_THAT(Sync(), testing::StatusIs(Code::kIOError));
  EXPECT_FALSE(syncer_.HasFailed(kNumber));
  ASSERT_OK(Sync());
  CheckIsDurable();
}

TEST_F(FileSyncerTest, ReplacesAFileWhoseSyncFailedByAGoodCopy) {
  FailOnce(FileOp::kSync);
  EXPECT_THAT(Sync(), testing::StatusIs(Code::kIOError));
  EXPECT_TRUE(syncer_.HasFailed(kNumber));

  check_ = Status::Corruption("the copy is damaged");
  EXPECT_THAT(Sync(), testing::StatusIs(Code::kCorruption));
  EXPECT_TRUE(syncer_.HasFailed(kNumber));
  EXPECT_THAT(files_.List("/d"), testing::IsOkAndHolds(::testing::SizeIs(1)));

  check_ = {};
  ASSERT_OK(Sync());
  EXPECT_FALSE(syncer_.HasFailed(kNumber));
  EXPECT_THAT(replaced_, ::testing::ElementsAre(kNumber));
  EXPECT_EQ(files_.sync_after_failed_sync(), 0u);
  CheckIsDurable();
}

}  // namespace
}  // namespace mergedb::db
