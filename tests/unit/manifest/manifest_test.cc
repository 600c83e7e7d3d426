// Commits, roll-overs and failures: whatever happens, CURRENT names a MANIFEST that says what was last committed.
#include "manifest/manifest.h"

#include <gtest/gtest.h>

#include "manifest/loader.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::manifest {
namespace {

using testing::CrashMode;
using testing::CrashModel;
using testing::Op;

class ManifestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    ASSERT_OK(files_.SyncDirectory("/"));
  }
  // Complete whether asked for or not: an edit of facts alone is both.
  Status Commit(kv::Sequence last) {
    format::Edit edit;
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
  Manifest manifest_{{.file_system = &files_,
                      .directory = "/d",
                      .database_id = 7,
                      .rollover_bytes = 2000,
                      .allocate_number = [this] { return kv::FileNumber{next_++}; }}};
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
    files_.AddFault({.op = Op::kAnyChange, .nth = n});
    const Status status = Commit(1000 + n);
    const bool is_hit = files_.faults_hit() > hits;
    files_.ClearFaults();
    if (!is_hit) break;
    EXPECT_TRUE(status.IsIOError()) << status.ToString();
    EXPECT_TRUE(manifest_.needs_snapshot());
    ASSERT_OK(Commit(2000 + n));
    EXPECT_EQ(LastAfterPowerCut(), 2000 + n);
    if (n % 2 == 0) {  // in the next round it is the start of a file that fails
      files_.AddFault({.op = Op::kSync});
      EXPECT_FALSE(Commit(1).ok());
      files_.ClearFaults();
    }
  }
  EXPECT_EQ(files_.sync_after_failed_sync(), 0u);
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
  ASSERT_OK(WriteCurrent(&files_, "/d", *manifest_.number()));
  ASSERT_OK(Commit(2));
  files_.SetOpHook(nullptr);
}

}  // namespace
}  // namespace mergedb::manifest
