// Goal: the urgency follows the last write and the waiting callers; one CompactRange call at a time has its turn; one
// tombstone-heavy scan per flush is taken.
// Method: no threads, so the mutex is not locked; a clock that the test advances.
#include "db/background/compaction_requests.h"

#include <gtest/gtest.h>

#include "testing/manual_clock.h"

namespace mergedb::db {
namespace {

using picker::Urgency;

constexpr uint64_t kSecond = 1'000'000'000;

class CompactionRequestsTest : public ::testing::Test {
 protected:
  testing::ManualClock clock_{100 * kSecond};
  CompactionRequests requests_{&clock_};
};

TEST_F(CompactionRequestsTest, UrgencyGrowsWithTheTimeSinceTheLastWrite) {
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kIdle) << "no write so far";
  requests_.NoteWriteLocked();
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kWriting);
  clock_.Advance(kSecond - 1);
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kWriting);
  clock_.Advance(1);
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kQuiet);
  clock_.Advance(4 * kSecond);
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kIdle);
}

// Writers note only the first write after a tick. The tick counts as the time of the writes in between.
TEST_F(CompactionRequestsTest, ATickCountsTheWritesSinceTheLastOne) {
  requests_.NoteWriteLocked();
  EXPECT_TRUE(requests_.wrote());
  clock_.Advance(kSecond);
  requests_.TickLocked();
  EXPECT_FALSE(requests_.wrote());
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kWriting);
  clock_.Advance(kSecond);
  requests_.TickLocked();
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kQuiet) << "no write between the two ticks";
  EXPECT_EQ(requests_.NanosSinceWriteLocked(), kSecond);
}

TEST_F(CompactionRequestsTest, TheHighestUrgencyOfTheWaitersCounts) {
  requests_.NoteWriteLocked();
  requests_.AddWaiterLocked(Urgency::kQuiet);
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kQuiet);
  requests_.AddWaiterLocked(Urgency::kIdle);
  requests_.AddWaiterLocked(Urgency::kQuiet);
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kIdle);
  requests_.RemoveWaiterLocked(Urgency::kIdle);
  requests_.RemoveWaiterLocked(Urgency::kQuiet);
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kQuiet) << "one of two equal waiters is left";
  requests_.RemoveWaiterLocked(Urgency::kQuiet);
  EXPECT_EQ(requests_.UrgencyLocked(), Urgency::kWriting);
}

TEST_F(CompactionRequestsTest, IsAtRestAfterAWaitUntilTheNextWrite) {
  requests_.NoteWriteLocked();
  EXPECT_FALSE(requests_.IsAtRestLocked());
  requests_.AddWaiterLocked(Urgency::kQuiet);
  clock_.Advance(10 * kSecond);
  EXPECT_FALSE(requests_.IsAtRestLocked()) << "a caller waits";
  requests_.NoteWriteLocked();
  requests_.RemoveWaiterLocked(Urgency::kQuiet);
  EXPECT_TRUE(requests_.IsAtRestLocked());
  requests_.TickLocked();
  EXPECT_TRUE(requests_.IsAtRestLocked()) << "the last write came before the end of the wait";
  EXPECT_FALSE(requests_.wrote());
  requests_.NoteWriteLocked();
  EXPECT_FALSE(requests_.IsAtRestLocked());
  clock_.Advance(kSecond);
  EXPECT_TRUE(requests_.IsAtRestLocked()) << "quiet";
}

TEST_F(CompactionRequestsTest, OneCompactRangeCallAtATimeHasItsTurn) {
  EXPECT_FALSE(requests_.ManualLocked());
  ASSERT_TRUE(requests_.TryBeginManualLocked({.lower = "a", .upper = "c"}, kv::Position{7}));
  const uint64_t first = requests_.ManualLocked()->id;
  EXPECT_FALSE(requests_.TryBeginManualLocked({.lower = "x"}, kv::Position{8}));
  EXPECT_EQ(requests_.ManualLocked()->bounds, (format::Bounds{.lower = "a", .upper = "c"}));
  EXPECT_EQ(requests_.ManualLocked()->newest, kv::Position{7});
  requests_.NoteManualDoneLocked(first);
  EXPECT_TRUE(requests_.ManualIsDoneLocked());

  // The first call ends, and the second one has its turn. A pick that began for the first call says nothing about it.
  requests_.EndManualLocked();
  ASSERT_TRUE(requests_.TryBeginManualLocked({.lower = "x"}, kv::Position{8}));
  EXPECT_FALSE(requests_.ManualIsDoneLocked());
  requests_.NoteManualDoneLocked(first);
  EXPECT_FALSE(requests_.ManualIsDoneLocked());
  requests_.NoteManualDoneLocked(requests_.ManualLocked()->id);
  EXPECT_TRUE(requests_.ManualIsDoneLocked());
}

TEST_F(CompactionRequestsTest, TakesOneScanForEachFlush) {
  EXPECT_FALSE(requests_.TryAddScanLocked({.lower = "a"}, 0)) << "nothing was flushed yet";
  ASSERT_TRUE(requests_.TryAddScanLocked({.lower = "b"}, 1));
  EXPECT_FALSE(requests_.TryAddScanLocked({.lower = "c"}, 2)) << "the first one is not picked yet";
  EXPECT_EQ(requests_.ScanLocked(), (format::Bounds{.lower = "b"}));
  requests_.RemoveScanLocked();
  EXPECT_FALSE(requests_.TryAddScanLocked({.lower = "d"}, 1));
  EXPECT_TRUE(requests_.TryAddScanLocked({.lower = "e"}, 2));
}

}  // namespace
}  // namespace mergedb::db
