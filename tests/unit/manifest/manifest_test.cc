// Commits, new MANIFEST files and failures: after any of them, CURRENT names a MANIFEST with the last committed
// state.
#include "manifest/manifest.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "manifest/loader.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::manifest {
namespace {

using testing::CrashMode;
using testing::CrashModel;
using testing::FileOp;

class ManifestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    ASSERT_OK(files_.SyncDirectory("/"));
  }
  // An edit with facts only is both a complete edit and a difference.
  Status Commit(kv::Sequence last) {
    format::VersionEdit edit;
    edit.database_id = 7;
    edit.comparator = std::string(BytewiseComparator()->Name());
    edit.last_sequence = last;
    return manifest_.Commit(edit);
  }
  static kv::Sequence LastIn(testing::FaultFileSystem& files) {
    auto loaded = Load(&files, "/d", kv::Order(BytewiseComparator()));
    EXPECT_OK(loaded.status());
    return loaded ? loaded->last_sequence : 0;
  }
  kv::Sequence LastAfterPowerCut() { return LastIn(*files_.Crash(CrashMode::kMin, CrashModel::kStrict, 1)); }

  testing::FaultFileSystem files_;
  uint64_t next_ = 1;
  Manifest manifest_{
      {.file_system = &files_, .directory = "/d", .database_id = 7, .rollover_bytes = 2000, .allocate_number = [this] {
         return kv::FileNumber{next_++};
       }}};
};

TEST_F(ManifestTest, WritesNothingBeforeTheFirstCommit) {
  EXPECT_TRUE(manifest_.needs_snapshot());
  EXPECT_EQ(manifest_.number(), std::nullopt);
  EXPECT_TRUE(files_.Files().empty());
}

TEST_F(ManifestTest, IsDurableWhenCommitReturns) {
  for (kv::Sequence last = 1; last <= 20; ++last) {
    ASSERT_OK(Commit(last));
    EXPECT_EQ(LastAfterPowerCut(), last);
  }
  EXPECT_FALSE(manifest_.needs_snapshot());
}

TEST_F(ManifestTest, RollsOverWhenItHasGrown) {
  for (kv::Sequence last = 1; last <= 200; ++last) ASSERT_OK(Commit(last));
  EXPECT_GT(*manifest_.number(), kv::FileNumber{1});
  EXPECT_EQ(LastAfterPowerCut(), 200u);
}

TEST_F(ManifestTest, StartsANewFileAfterAnyFailure) {
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE("n " + std::to_string(n));
    const uint64_t hits = files_.faults_hit();
    files_.AddFault({.op = FileOp::kAnyChange, .nth = n});
    const Status status = Commit(1000 + n);
    const bool is_hit = files_.faults_hit() > hits;
    files_.ClearFaults();
    if (!is_hit) break;
    EXPECT_TRUE(status.IsIOError()) << status.ToString();
    EXPECT_TRUE(manifest_.needs_snapshot());
    ASSERT_OK(Commit(2000 + n));
    EXPECT_EQ(LastAfterPowerCut(), 2000 + n);
    if (n % 2 == 0) {  // the next fault then hits a Commit that starts a new file
      files_.AddFault({.op = FileOp::kSync});
      EXPECT_FALSE(Commit(1).ok());
      files_.ClearFaults();
    }
  }
  EXPECT_EQ(files_.sync_after_failed_sync(), 0u);
}

// Symptom: 31 MiB of MANIFESTs beside 0.3 MiB of data. Cause: only the next open removed replaced MANIFESTs.
TEST_F(ManifestTest, KeepsNoFileThatAnotherHasFollowed) {
  for (kv::Sequence last = 1; last <= 500; ++last) {
    ASSERT_OK(Commit(last));
    EXPECT_EQ(files_.Files().size(), 2u) << ::testing::PrintToString(files_.Files());
  }
  EXPECT_GT(*manifest_.number(), kv::FileNumber{2});
}

// Each retry of a failed commit takes a new file number. A file that CURRENT may name stays until a commit
// succeeds.
TEST_F(ManifestTest, KeepsNoFileOfFailedAttempts) {
  for (const FileOp op : {FileOp::kCreate, FileOp::kWrite, FileOp::kSync, FileOp::kRename, FileOp::kSyncDirectory}) {
    SCOPED_TRACE(testing::OpName(op));
    ASSERT_OK(Commit(1));
    files_.AddFault({.op = FileOp::kSync});
    EXPECT_FALSE(Commit(2).ok());  // every commit after this one starts a new file
    files_.ClearFaults();
    files_.AddFault({.op = op, .sticky = true});
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(Commit(3).ok());
    files_.ClearFaults();
    const bool may_be_named = op == FileOp::kRename || op == FileOp::kSyncDirectory;
    if (!may_be_named) {
      EXPECT_LE(files_.Files().size(), 3u) << ::testing::PrintToString(files_.Files());  // maybe also CURRENT.tmp
    }
    ASSERT_OK(Commit(4));
    EXPECT_EQ(files_.Files().size(), 2u) << ::testing::PrintToString(files_.Files());
    EXPECT_EQ(LastAfterPowerCut(), 4u);
  }
}

// Symptom: after a clean close, an older copy of the MANIFEST was accepted.
TEST_F(ManifestTest, AnOlderFileUnderABoundEndIsNoticed) {
  std::vector<std::string> older;
  for (kv::Sequence last = 1; last <= 5; ++last) {
    ASSERT_OK(Commit(last));
    older.push_back(*files_.ReadWhole(format::ManifestPath("/d", *manifest_.number())));
  }
  ASSERT_OK(manifest_.BindEnd());
  EXPECT_EQ(LastIn(files_), 5u);
  older.pop_back();
  for (const std::string& bytes : older) {
    ASSERT_OK(files_.WriteWhole(format::ManifestPath("/d", *manifest_.number()), bytes));
    EXPECT_THAT(Load(&files_, "/d", kv::Order(BytewiseComparator())),
                testing::StatusIs(Code::kCorruption, ::testing::HasSubstr("older MANIFEST")));
  }
}

TEST_F(ManifestTest, AnyCrashWhileTheEndIsBoundLeavesAllThatWasCommitted) {
  ASSERT_OK(Commit(1));
  ASSERT_OK(Commit(2));
  files_.SetOpHook([&](uint64_t op, const char*, const std::string&) {
    for (const CrashMode mode : testing::kPowerCutModes)
      EXPECT_EQ(LastIn(*files_.Crash(mode, CrashModel::kStrict, op)), 2u);
    EXPECT_EQ(LastIn(*files_.Crash(CrashMode::kKill, CrashModel::kStrict, op)), 2u);
  });
  ASSERT_OK(manifest_.BindEnd());
  files_.SetOpHook(nullptr);
  for (const CrashMode mode : testing::kPowerCutModes)
    EXPECT_EQ(LastIn(*files_.Crash(mode, CrashModel::kStrict, 1)), 2u);
}

TEST_F(ManifestTest, LeavesCurrentWhole) {
  ASSERT_OK(Commit(1));
  files_.SetOpHook([&](uint64_t op, const char*, const std::string&) {
    for (const CrashMode mode : testing::kPowerCutModes) {
      auto image = files_.Crash(mode, CrashModel::kStrict, op);
      const kv::Sequence last = LastIn(*image);
      EXPECT_TRUE(last == 1 || last == 2) << last;
    }
  });
  bool is_begun = false;
  ASSERT_OK(WriteCurrent(&files_, "/d", {*manifest_.number()}, &is_begun));
  ASSERT_OK(Commit(2));
  files_.SetOpHook(nullptr);
}

}  // namespace
}  // namespace mergedb::manifest
