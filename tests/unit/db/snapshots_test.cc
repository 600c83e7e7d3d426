// Goal: the list of live sequences, for which jobs keep versions.
#include "db/state/snapshots.h"

#include <gtest/gtest.h>

namespace mergedb::db {
namespace {

using Sequences = std::vector<kv::Sequence>;

class SnapshotsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Snapshot> Get() { return snapshots_->Get(now_++); }
  const std::shared_ptr<Snapshots> snapshots_ = std::make_shared<Snapshots>();
  uint64_t now_ = 100;
};

TEST_F(SnapshotsTest, ListsThePublishedSequenceForThoseWithoutASnapshot) {
  snapshots_->Publish(7);
  EXPECT_EQ(snapshots_->Live(), Sequences{7});
  EXPECT_EQ(snapshots_->oldest().count, 0u);
}

TEST_F(SnapshotsTest, ListsEachSequenceOnceUntilItsLastSnapshotGoes) {
  snapshots_->Publish(3);
  auto a = Get(), b = Get();
  snapshots_->Publish(9);
  auto c = Get();
  EXPECT_EQ(snapshots_->Live(), (Sequences{3, 9}));
  EXPECT_EQ(snapshots_->oldest().count, 3u);
  EXPECT_EQ(snapshots_->oldest().since_nanos, 100u);
  a = nullptr;
  EXPECT_EQ(snapshots_->Live(), (Sequences{3, 9}));
  b = nullptr;
  EXPECT_EQ(snapshots_->Live(), Sequences{9});
}

TEST_F(SnapshotsTest, TakesThePublishedSequence) {
  snapshots_->Publish(50);
  EXPECT_EQ(snapshots_->Get(0)->sequence(), 50u);
}

TEST_F(SnapshotsTest, KnowsItsOwnAndOutlivesItsHolder) {
  auto other = std::make_shared<Snapshots>();
  auto ours = Get(), theirs = other->Get(0);
  EXPECT_TRUE(snapshots_->Owns(ours.get()));
  EXPECT_FALSE(snapshots_->Owns(theirs.get()));
  EXPECT_FALSE(snapshots_->Owns(nullptr));
  other = nullptr;
  theirs = nullptr;  // this snapshot keeps its list alive
}

}  // namespace
}  // namespace mergedb::db
