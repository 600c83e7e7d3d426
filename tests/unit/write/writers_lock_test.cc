// Goal: the order in which waiters for the writers' lock join the writer queue, and the errors that end a wait.
#include "write/writers_lock.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace mergedb::write {
namespace {

using testing::StatusIs;

class WritersLockTest : public ::testing::Test {
 protected:
  static Waiter Transaction(const int* owner) { return {.purpose = ForLock{.owner = owner}}; }
  Waiter Commit() { return {.purpose = &change_, .wake = &wake_}; }

  const Change change_ = {};
  base::CondVar wake_;
  const int a_ = 1, b_ = 2;
  WritersLock lock_;
};

TEST_F(WritersLockTest, ExcludesAllWritersExceptItsOwner) {
  EXPECT_FALSE(lock_.Excludes(nullptr));
  lock_.Take({.owner = &a_});
  EXPECT_TRUE(lock_.Excludes(nullptr));
  EXPECT_TRUE(lock_.Excludes(&b_));
  EXPECT_FALSE(lock_.Excludes(&a_));
  lock_.Unlock(&a_);
  EXPECT_TRUE(lock_.is_free());
  EXPECT_EQ(lock_.Admit(), nullptr);
}

TEST_F(WritersLockTest, AdmitsInOrderOfArrivalUpToTheNextOwner) {
  lock_.Take({.owner = &a_});
  Waiter first = Commit(), second = Transaction(&b_), third = Commit();
  for (Waiter* waiter : {&first, &second, &third}) {
    lock_.Wait(*waiter);
    EXPECT_EQ(waiter->state, Waiter::State::kForLock);
  }
  EXPECT_EQ(lock_.Admit(), nullptr);
  lock_.Unlock(&a_);
  EXPECT_EQ(lock_.Admit(), &first);
  EXPECT_EQ(lock_.Admit(), &second);
  EXPECT_NE(second.state, Waiter::State::kForLock);
  EXPECT_FALSE(lock_.Excludes(&b_));
  EXPECT_EQ(lock_.Admit(), nullptr);
  EXPECT_EQ(third.state, Waiter::State::kForLock);
  lock_.Unlock(&b_);
  EXPECT_EQ(lock_.Admit(), &third);
  EXPECT_TRUE(lock_.is_free());
}

TEST_F(WritersLockTest, AWaiterThatGivesUpLeavesTheOthersInOrder) {
  lock_.Take({.owner = &a_});
  Waiter first = Commit(), second = Commit(), third = Commit(), fourth = Commit();
  for (Waiter* waiter : {&first, &second, &third}) lock_.Wait(*waiter);
  lock_.GiveUp(second);
  lock_.GiveUp(third);
  EXPECT_TRUE(second.is_done());
  EXPECT_THAT(second.status, StatusIs(Code::kBusy));
  lock_.Wait(fourth);
  lock_.Unlock(&a_);
  EXPECT_EQ(lock_.Admit(), &first);
  EXPECT_EQ(lock_.Admit(), &fourth);
  EXPECT_EQ(lock_.Admit(), nullptr);
}

TEST_F(WritersLockTest, AThreadDoesNotWaitForItself) {
  lock_.Take({.owner = &a_, .thread = base::ThreadNumber()});
  Waiter own = Commit();
  lock_.Wait(own);
  EXPECT_TRUE(own.is_done());
  EXPECT_THAT(own.status, StatusIs(Code::kBusy));
}

TEST_F(WritersLockTest, AThreadWaitsForATransactionThatMovedToAnotherThread) {
  lock_.Take({.owner = &a_, .thread = base::ThreadNumber()});
  lock_.MoveTo(&a_, base::ThreadNumber() + 1);
  Waiter waiter = Commit();
  lock_.Wait(waiter);
  EXPECT_EQ(waiter.state, Waiter::State::kForLock);
  lock_.MoveTo(&a_, base::ThreadNumber());
  Waiter own = Commit();
  lock_.Wait(own);
  EXPECT_THAT(own.status, StatusIs(Code::kBusy));
  lock_.Unlock(&a_);
  EXPECT_EQ(lock_.Admit(), &waiter);
}

TEST_F(WritersLockTest, StopEndsPresentAndLaterWaits) {
  lock_.Take({.owner = &a_});
  Waiter present = Commit(), later = Commit();
  lock_.Wait(present);
  lock_.Stop();
  lock_.Wait(later);
  for (const Waiter* waiter : {&present, &later}) {
    EXPECT_TRUE(waiter->is_done());
    EXPECT_NE(waiter->state, Waiter::State::kForLock);
    EXPECT_THAT(waiter->status, StatusIs(Code::kShuttingDown));
  }
  lock_.Unlock(&a_);
  EXPECT_EQ(lock_.Admit(), nullptr);
}

}  // namespace
}  // namespace mergedb::write
