// Goal: a backlog of any kind delays writes; recycled files may use the room that the space bound leaves.
#include "db/background/write_controller.h"

#include <gtest/gtest.h>

#include "testing/fault_file_system.h"
#include "testing/manual_clock.h"
#include "testing/manual_executor.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"

namespace mergedb::db {
namespace {

using picker::Urgency;

constexpr uint64_t kMebi = uint64_t{1} << 20;

class WriteControllerTest : public ::testing::Test {
 protected:
  // The tree becomes the one that `text` describes (testing/tree_text.h), with `immutable` immutable memtables.
  void SetTree(std::string_view text, size_t immutable = 0) {
    const auto version = testing::ParseTree(order_, text);
    ASSERT_OK(version.status());
    super_version_.version = *version;
    super_version_.active = std::make_shared<memtable::Memtable>(order_, memtable::NewMemory(64 << 10));
    super_version_.immutable.assign(immutable, super_version_.active);
    controller_.UpdateTree(super_version_,
                           {.version = **version, .running = {}, .flush_bytes = kMebi, .order = order_});
  }
  // A WAL whose buffer is in memory, so that its bytes wait until WriteThrough.
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    BeginWal();
  }
  void BeginWal() {
    ASSERT_OK_AND_ASSIGN(std::shared_ptr<wal::Wal> made,
                         wal::Wal::Create({.file_system = &files_,
                                           .executor = &executor_,
                                           .directory = "/d",
                                           .buffer_bytes = 4 * kMebi,
                                           .unwritten_bytes_max = memory_.unwritten_bytes_max,
                                           .use_mapping = false,
                                           .allocate_number = [this] { return version_set_.AllocateNumber(); },
                                           .reusable_segments = {}}));
    wal_.Replace(std::move(made), 1);
  }
  uint64_t OtherBytes() const { return super_version_.version->bytes_on_disk(); }
  // A table of `bytes` becomes part of no version; the commit that releases it has not begun.
  void DropTable(uint64_t bytes) {
    const format::FileMeta meta{
        .number = version_set_.AllocateNumber(), .bytes = bytes, .entries = 1, .smallest = "a", .largest = "z"};
    format::VersionEdit edit;
    edit.adds.push_back({.position = kv::Position{1}, .file = std::make_shared<format::FileMeta>(meta), .bounds = {}});
    ASSERT_OK(version_set_.Install(edit));
    format::VersionEdit cut;
    cut.cuts.push_back({.position = kv::Position{1}, .bounds = {}});
    ASSERT_OK(version_set_.Install(cut));
  }
  void Commit() { version_set_.EndCommit(version_set_.BeginCommit(), true); }
  // A table of `bytes` is released.
  void ReleaseTable(uint64_t bytes) {
    format::FileMeta meta;
    meta.bytes = bytes;
    (void)obsolete_->Track(std::make_shared<const format::FileMeta>(meta));
  }
  void Purge() {
    for (const auto& file : obsolete_->Take()) obsolete_->NotePurged(file);
  }
  // A memtable that holds the changes of the WAL before `position` is flushed.
  void FlushUpTo(uint64_t position) {
    version_set_.SwitchMemtable(std::make_shared<memtable::Memtable>(order_, memtable::NewMemory(64 << 10)),
                                {.position = position});
    ASSERT_OK(version_set_.InstallFlush(nullptr));
  }

  const kv::Order order_{BytewiseComparator()};
  const Options options_{.log_bytes_max = 0};
  MemoryPlan memory_{.unwritten_bytes_max = 1 * kMebi,
                     .memtable_bytes = 1 * kMebi,
                     .memtables_max = 3,
                     .uncommitted_wal_bytes_max = 20 * kMebi};
  testing::ManualClock clock_;
  write::WriteDelay delay_{&clock_, kMebi};
  testing::FaultFileSystem files_;
  testing::ManualExecutor executor_;
  wal::CurrentWal wal_;
  VersionSet version_set_{order_, std::make_shared<const version::Version>(), kv::FileNumber{1}, kv::Position{1}, {}};
  const std::shared_ptr<ObsoleteFiles> obsolete_ = std::make_shared<ObsoleteFiles>();
  Events events_{options_, "dir"};
  Stalls stalls_{events_};
  read::SuperVersion super_version_;
  const WriteController::Gauges gauges_{version_set_, *obsolete_, stalls_, wal_};
  WriteController controller_{options_, memory_, gauges_, delay_};
};

constexpr std::string_view kOneRun = "position 3 level bottom: 000007[a..zz]64MB";

TEST_F(WriteControllerTest, NoBacklogNoDelay) {
  SetTree(kOneRun);
  EXPECT_EQ(delay_.rate(), 0u);
}

TEST_F(WriteControllerTest, ABacklogOfTheWalDelaysWrites) {
  SetTree(kOneRun);
  const std::string frame(memory_.unwritten_bytes_max * 9 / 10, 'v');
  const std::string_view payload = frame;
  ASSERT_OK(wal_.wal().Append({&payload, 1}, 1, false));
  EXPECT_EQ(delay_.rate(), 0u) << "it counts from the next update on";
  controller_.UpdateDelay(super_version_);
  EXPECT_GT(delay_.rate(), 0u);
  ASSERT_OK(wal_.wal().WriteThrough());
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), 0u);
}

// Symptom: with large write buffers, writes were delayed by the maximum at a small part of the room where writers wait.
TEST_F(WriteControllerTest, ABacklogOfTheWalCountsAgainstWhereItsWritersWait) {
  memory_.unwritten_bytes_max = kMebi / 8;
  BeginWal();
  ASSERT_GT(wal_.wal().unwritten_bytes_max(), 4 * memory_.unwritten_bytes_max) << "a frame must find room";
  SetTree(kOneRun);
  const std::string frame(wal_.wal().unwritten_bytes_max() * 4 / 10, 'v');
  const std::string_view payload = frame;
  ASSERT_OK(wal_.wal().Append({&payload, 1}, 1, false));
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), 0u);
}

TEST_F(WriteControllerTest, ImmutableMemtablesDelayWrites) {
  SetTree(kOneRun, 2);
  EXPECT_EQ(delay_.rate(), 0u) << "two thirds of the memory for unflushed writes";
  SetTree(kOneRun, 3);
  EXPECT_EQ(delay_.rate(), options_.write_delay_us_max * 1000);
}

TEST_F(WriteControllerTest, ManySortedRunsDelayWritesUntilTheTreeHasFewer) {
  std::string many;
  for (int i = 200; i > 100; --i) {
    many += "position " + std::to_string(i) + " level 0: 000" + std::to_string(i) + "[a..z]1KB\n";
  }
  SetTree(many + std::string(kOneRun));
  EXPECT_GT(delay_.rate(), 0u);
  super_version_.immutable.clear();
  controller_.UpdateDelay(super_version_);
  EXPECT_GT(delay_.rate(), 0u) << "the tree is still that of the last UpdateTree";
  SetTree(kOneRun);
  EXPECT_EQ(delay_.rate(), 0u);
}

TEST_F(WriteControllerTest, BytesAboveTheSpaceBoundDelayWrites) {
  SetTree("position 9 level 0: 000009[a..zz]900MB\nposition 3 level bottom: 000007[a..zz]1000MB\n");
  EXPECT_EQ(delay_.rate(), 0u) << "within twice the live bytes";
  std::string tree;
  for (int i = 9; i > 3; --i) {
    tree += "position " + std::to_string(i) + " level 0: 00000" + std::to_string(i) + "[a..zz]900MB\n";
  }
  SetTree(tree + "position 3 level bottom: 000003[a..zz]1000MB\n");
  EXPECT_GT(delay_.rate(), 0u);
}

// A compaction job releases 8 memtables' worth of outputs at once, at most 64 MiB.
TEST_F(WriteControllerTest, TheBytesOfAReleaseFollowTheMemtable) {
  EXPECT_EQ(controller_.publication_bytes(), 8 * kMebi);
  memory_.memtable_bytes = 100 * kMebi;
  const WriteController large(options_, memory_, gauges_, delay_);
  EXPECT_EQ(large.publication_bytes(), 64 * kMebi);
}

TEST_F(WriteControllerTest, RecycledFilesUseTheRoomThatTheSpaceBoundLeaves) {
  SetTree(kOneRun);
  const uint64_t writing = controller_.RecycledBytesMax(Urgency::kWriting, OtherBytes());
  const uint64_t quiet = controller_.RecycledBytesMax(Urgency::kQuiet, OtherBytes());
  EXPECT_GE(writing, 64 * kMebi) << "the bound is twice the live bytes";
  EXPECT_GT(quiet, 0u);
  EXPECT_LT(quiet, writing);
  EXPECT_EQ(controller_.RecycledBytesMax(Urgency::kIdle, OtherBytes()), 0u);
  EXPECT_EQ(controller_.RecycledBytesMax(Urgency::kWriting, OtherBytes() + 10 * kMebi), writing - 10 * kMebi);
}

TEST_F(WriteControllerTest, RecycledFilesLeaveRoomForUnreleasedOutputsAndMemtables) {
  SetTree(kOneRun);
  const uint64_t room = controller_.RecycledBytesMax(Urgency::kWriting, OtherBytes());
  EXPECT_EQ(room, controller_.limit_bytes() - OtherBytes() - 3 * kMebi);
  controller_.NoteUnpublished(10 * kMebi);
  EXPECT_EQ(controller_.RecycledBytesMax(Urgency::kWriting, OtherBytes()), room - 10 * kMebi);
  EXPECT_EQ(controller_.RecycledBytesMax(Urgency::kWriting, 1000 * kMebi), 0u);
  EXPECT_EQ(controller_.RecycledBytesMax(Urgency::kQuiet, 1000 * kMebi), 0u);
}

TEST_F(WriteControllerTest, FilesThatWaitForACommitDelayWritesUntilItEnds) {
  SetTree(kOneRun);
  EXPECT_FALSE(controller_.NeedsCommit());
  DropTable(controller_.limit_bytes() - OtherBytes());
  EXPECT_TRUE(controller_.NeedsCommit());
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), options_.write_delay_us_max * 1000);
  Commit();
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), 0u);
}

TEST_F(WriteControllerTest, ReleasedFilesDelayWritesUntilTheyArePurged) {
  SetTree(kOneRun);
  EXPECT_FALSE(controller_.NeedsPurge());
  EXPECT_FALSE(controller_.IsFull());
  ReleaseTable(controller_.limit_bytes() - OtherBytes());
  EXPECT_TRUE(controller_.NeedsPurge());
  EXPECT_TRUE(controller_.IsFull());
  EXPECT_FALSE(controller_.NeedsCommit()) << "a commit would release nothing";
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), options_.write_delay_us_max * 1000);
  Purge();
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), 0u);
  ReleaseTable(1);
  EXPECT_FALSE(controller_.NeedsPurge()) << "the space bound is far away";
}

TEST_F(WriteControllerTest, NothingIsNearABoundThatIsNotKnownYet) {
  DropTable(1);
  EXPECT_FALSE(controller_.NeedsCommit());
  controller_.NoteRunning(kMebi);
  super_version_.active = std::make_shared<memtable::Memtable>(order_, memtable::NewMemory(64 << 10));
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), 0u);
}

TEST_F(WriteControllerTest, OutputsThatRunningCompactionsMayWriteDelayWrites) {
  SetTree(kOneRun);
  controller_.NoteRunning(controller_.limit_bytes() - OtherBytes());
  EXPECT_FALSE(controller_.NeedsCommit()) << "a commit would release nothing";
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), options_.write_delay_us_max * 1000);
  controller_.NoteRunning(0);
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), 0u);
}

TEST_F(WriteControllerTest, AWalThatWaitsForACommitDelaysWrites) {
  SetTree(kOneRun);
  version_set_.SwitchMemtable(std::make_shared<memtable::Memtable>(order_, memtable::NewMemory(64 << 10)), {});
  FlushUpTo(memory_.uncommitted_wal_bytes_max);
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), options_.write_delay_us_max * 1000);
  Commit();
  FlushUpTo(memory_.uncommitted_wal_bytes_max * 3 / 2);
  controller_.UpdateDelay(super_version_);
  EXPECT_EQ(delay_.rate(), 0u);
}

TEST_F(WriteControllerTest, OnlySlowRemovalsRestAndNotWithAFullBacklog) {
  SetTree(kOneRun);
  EXPECT_EQ(controller_.RemovalRestNanos(1'000, 0), 0u);
  EXPECT_EQ(controller_.RemovalRestNanos(10'000'000, 0), 30'000'000u);
  EXPECT_EQ(controller_.RemovalRestNanos(10'000'000, uint64_t{1} << 40), 0u);
}

}  // namespace
}  // namespace mergedb::db
