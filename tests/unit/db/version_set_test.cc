// Goal: each SuperVersion has the memtables and the version that it should have, a change that does not fit is
// refused, and a commit takes all changes up to its begin.
#include "db/state/version_set.h"

#include <gtest/gtest.h>

#include "testing/failing_allocation.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

class VersionSetTest : public ::testing::Test {
 protected:
  std::shared_ptr<memtable::Memtable> NewMemtable() {
    return std::make_shared<memtable::Memtable>(order_, memtable::NewMemory(64 << 10));
  }
  format::BlobFilePtr NewBlobFile() {
    return std::make_shared<format::BlobFileMeta>(format::BlobFileMeta{
        .number = version_set_.AllocateNumber(), .bytes = 5000, .records = 1, .record_bytes = 4000});
  }
  format::FileMetaPtr NewTable(const format::BlobFilePtr& values) {
    auto meta = std::make_shared<format::FileMeta>();
    meta->number = version_set_.AllocateNumber();
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
    version_set_.SwitchMemtable(NewMemtable(), {.epoch = 1, .position = end, .sequence = end});
    const auto values = NewBlobFile();
    ASSERT_OK(version_set_.InstallFlush(NewTable(values), {values}));
  }

  const kv::Order order_{BytewiseComparator()};
  VersionSet version_set_{order_,
                          std::make_shared<const version::Version>(),
                          kv::FileNumber{10},
                          kv::Position{1},
                          {.epoch = 1, .sequence = 1}};
};

TEST_F(VersionSetTest, ShowsAFlushAtOnce) {
  Flush(100);
  EXPECT_EQ(version_set_.Current()->version->files().size(), 1u);
  EXPECT_EQ(version_set_.Current()->immutable.size(), 0u);
  EXPECT_TRUE(version_set_.HasUncommitted());
  EXPECT_EQ(version_set_.UncommittedWalBytes(), 100u);
}

TEST_F(VersionSetTest, ACommitCoversTheChangesBeforeItsBegin) {
  Flush(100);
  const VersionSet::CommitState first = version_set_.BeginCommit();
  EXPECT_EQ(first.version, version_set_.Current()->version);
  EXPECT_EQ(first.wal_start.position, 100u);
  EXPECT_FALSE(version_set_.HasUncommitted());
  Flush(250);
  EXPECT_TRUE(version_set_.HasUncommitted());
  version_set_.EndCommit(first, true);
  EXPECT_TRUE(version_set_.HasUncommitted());
  EXPECT_EQ(version_set_.UncommittedWalBytes(), 150u);
  EXPECT_EQ(version_set_.committed_changes() + 1, version_set_.changes());

  const VersionSet::CommitState second = version_set_.BeginCommit();
  version_set_.EndCommit(second, false);
  EXPECT_TRUE(version_set_.HasUncommitted());
  EXPECT_EQ(version_set_.UncommittedWalBytes(), 150u);
}

TEST_F(VersionSetTest, PutsANewerFlushAtANewerPosition) {
  Flush(100);
  Flush(200);
  const auto& runs = version_set_.Current()->version->runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_GT(runs[0]->position(), runs[1]->position());
}

// Neither a flush nor a compaction installs a tree that the next open would refuse.
TEST_F(VersionSetTest, RefusesWhatDoesNotFitAndStaysAsItIs) {
  Flush(100);
  const read::SuperVersionPtr before = version_set_.Current();
  format::VersionEdit edit;
  edit.adds.push_back({.position = before->version->runs().front()->position(),
                       .level = 0,
                       .file = NewTable(NewBlobFile()),
                       .bounds = {}});
  EXPECT_THAT(version_set_.Install(edit),
              testing::StatusIs(Code::kCorruption, ::testing::HasSubstr("where it overlaps another table")));
  EXPECT_EQ(version_set_.Current(), before);

  version_set_.SwitchMemtable(NewMemtable(), {.epoch = 1, .position = 200, .sequence = 200});
  const auto values = NewBlobFile();
  const auto table = NewTable(values);
  EXPECT_THAT(version_set_.InstallFlush(table, {}),
              testing::StatusIs(Code::kCorruption,
                                ::testing::HasSubstr("a table refers to it, but no VersionEdit has added it")));
  EXPECT_EQ(version_set_.Current()->version, before->version);
  EXPECT_EQ(version_set_.Current()->immutable.size(), 1u) << "readers find it there";
  ASSERT_OK(version_set_.InstallFlush(table, {values}));
  EXPECT_EQ(version_set_.Current()->version->files().size(), 2u);
}

// A SuperVersion from before a batch of several memtables may contain the first of these memtables and not
// the last.
TEST_F(VersionSetTest, ASuperVersionFromBeforeALargeBatchIsTooOld) {
  Flush(100);
  const read::SuperVersionPtr before = version_set_.Current();
  EXPECT_FALSE(version_set_.IsTooOld(*before));
  version_set_.SwitchMemtable(NewMemtable(), {.epoch = 1, .position = 110, .sequence = 110});  // between two pieces
  const read::SuperVersionPtr amid = version_set_.Current();
  EXPECT_FALSE(version_set_.IsTooOld(*amid)) << "the batch is not published";
  version_set_.CountLargeBatch();
  EXPECT_TRUE(version_set_.IsTooOld(*before));
  EXPECT_TRUE(version_set_.IsTooOld(*amid));
  EXPECT_FALSE(version_set_.IsTooOld(*version_set_.Current()));
  Flush(200);
  EXPECT_FALSE(version_set_.IsTooOld(*version_set_.Current()));
}

// If the memory runs out in the writer that switches, background work makes SuperVersions until the process has ended.
TEST_F(VersionSetTest, ALackOfMemoryLosesNoMemtable) {
  Flush(100);
  uint64_t end = 100;
  for (int64_t n = 1; n <= 4; ++n) {
    // WHY 32 times: the queue of immutable memtables allocates now and then.
    for (int i = 0; i < 32; ++i) {
      const auto active = version_set_.Current()->active;
      auto next = NewMemtable();
      ++end;
      try {
        testing::FailAllocation(n);
        version_set_.SwitchMemtable(std::move(next), {.epoch = 1, .position = end, .sequence = end});
      } catch (const std::bad_alloc&) {}
      (void)testing::StopFailing();
      ASSERT_OK(version_set_.Install({}));
      const read::SuperVersionPtr after = version_set_.Current();
      ASSERT_NE(after->active, nullptr) << "allocation " << n;
      EXPECT_TRUE(after->active == active || after->immutable.front() == active) << "allocation " << n;
    }
  }
}

}  // namespace
}  // namespace mergedb::db
