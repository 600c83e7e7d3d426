// Goal: the ids tell which keyspaces a write may use, at any point of a series of commits. Method: examples.
#include "db/access/keyspace_ids.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class KeyspaceIdsTest : public ::testing::Test {
 protected:
  // Checks a change that writes to `used`, creates and drops.
  Status Check(std::vector<kv::KeyspaceId> used, write::KeyspaceChanges changes = {}) {
    return ids_.Check({.keyspaces = used, .keyspace_changes = changes.empty() ? nullptr : &changes});
  }

  KeyspaceIds ids_;
};

TEST_F(KeyspaceIdsTest, NothingIsCreatedBeforeTheRecordsAreLoaded) {
  EXPECT_FALSE(ids_.is_loaded());
  EXPECT_FALSE(ids_.WasMade(1));
  EXPECT_EQ(ids_.Allocate(), 0u);
  ids_.Load({{2, "two"}}, 4);
  EXPECT_TRUE(ids_.is_loaded());
  EXPECT_TRUE(ids_.WasMade(3));
  EXPECT_FALSE(ids_.WasMade(4));
  EXPECT_FALSE(ids_.IsLive(3)) << "dropped";
  EXPECT_TRUE(ids_.IsLive(2));
  ids_.Load({{1, "one"}, {2, "two"}, {3, "three"}}, 9);
  EXPECT_FALSE(ids_.IsLive(3)) << "what was loaded first counts: commits may have changed it since";
}

TEST_F(KeyspaceIdsTest, IdsAreGivenOutAsFarAsTheyAreReservedAndOnlyOnce) {
  ids_.Load({}, 5);
  EXPECT_EQ(ids_.Allocate(), 0u);
  ids_.Reserve(7);
  EXPECT_EQ(ids_.Allocate(), 5u);
  ids_.Reserve(6);  // an older Reserve that arrives late
  EXPECT_EQ(ids_.Allocate(), 6u);
  EXPECT_EQ(ids_.Allocate(), 0u);
  EXPECT_EQ(ids_.next(), 7u);
}

TEST_F(KeyspaceIdsTest, AWriteNeedsALiveKeyspace) {
  ids_.Load({{1, "one"}, {2, "two"}}, 5);
  EXPECT_OK(Check({1, 2}));
  EXPECT_THAT(Check({1, 3}), StatusIs(Code::kInvalidArgument, HasSubstr("keyspace 3 was dropped")));
  EXPECT_THAT(Check({9}), StatusIs(Code::kInvalidArgument, HasSubstr("never created")));
}

TEST_F(KeyspaceIdsTest, ADropIsPendingUntilItsGroupIsPublishedOrCameToNothing) {
  ids_.Load({{1, "one"}, {2, "two"}}, 3);
  EXPECT_OK(Check({}, {.created = {}, .created_names = {}, .dropped = {1}}));
  EXPECT_TRUE(ids_.IsLive(1));
  ids_.Discard();
  EXPECT_TRUE(ids_.IsLive(1));
  EXPECT_OK(Check({}, {.created = {}, .created_names = {}, .dropped = {1}}));
  ids_.Publish();
  EXPECT_FALSE(ids_.IsLive(1));
}

TEST_F(KeyspaceIdsTest, AMemberOfAGroupSeesThoseBeforeIt) {
  ids_.Load({{1, "one"}}, 2);
  EXPECT_THAT(Check({2}), StatusIs(Code::kInvalidArgument));
  EXPECT_OK(Check({}, {.created = {2}, .created_names = {"two"}, .dropped = {}}));
  EXPECT_OK(Check({2}));
  EXPECT_OK(Check({}, {.created = {}, .created_names = {}, .dropped = {1, 2}}));
  EXPECT_THAT(Check({1}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Check({2}), StatusIs(Code::kInvalidArgument)) << "made and dropped in one group";
  EXPECT_TRUE(ids_.IsLive(1)) << "to others only when it is published";
  ids_.Publish();
  EXPECT_FALSE(ids_.IsLive(1));
  EXPECT_FALSE(ids_.IsLive(2));
}

TEST_F(KeyspaceIdsTest, ALiveOneHasItsName) {
  ids_.Load({{1, "one"}}, 2);
  EXPECT_EQ(ids_.NameOf(1), "one");
  EXPECT_OK(Check({}, {.created = {2}, .created_names = {"two"}, .dropped = {1}}));
  EXPECT_EQ(ids_.NameOf(2), std::nullopt) << "not published";
  ids_.Publish();
  EXPECT_EQ(ids_.NameOf(1), std::nullopt);
  EXPECT_EQ(ids_.NameOf(2), "two");
}

TEST_F(KeyspaceIdsTest, AGroupThatFailedLeavesNothing) {
  ids_.Load({{1, "one"}}, 2);
  EXPECT_OK(Check({}, {.created = {2}, .created_names = {"two"}, .dropped = {1}}));
  ids_.Discard();
  EXPECT_OK(Check({1}));
  EXPECT_THAT(Check({2}), StatusIs(Code::kInvalidArgument));
  ids_.Publish();
  EXPECT_TRUE(ids_.IsLive(1));
  EXPECT_FALSE(ids_.IsLive(2));
}

// Symptom: a member of a group that finds the disk full is published with the group. Writes may then go to
// the keyspace that it failed to create, and a keyspace that another member dropped comes back.
TEST_F(KeyspaceIdsTest, AMemberThatWasWithdrawnLeavesNothing) {
  ids_.Load({{1, "1"}, {2, "2"}}, 3);
  const write::KeyspaceChanges failed{.created = {3}, .created_names = {"three"}, .dropped = {1}};
  EXPECT_OK(Check({}, failed));
  EXPECT_OK(Check({}, {.created = {}, .created_names = {}, .dropped = {2}}));
  ids_.Withdraw(failed);
  ids_.Publish();
  EXPECT_OK(Check({1}));
  EXPECT_FALSE(ids_.IsLive(2));
  EXPECT_FALSE(ids_.IsLive(3));
}

}  // namespace
}  // namespace mergedb::db
