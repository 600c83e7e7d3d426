// Goal: the bytes of an ended transaction stay until their thread or handle begins again, and for two commits, and of
// at most so many transactions as the environment has readers. Method: roots without transactions in an environment
// that is not open. pointers_test.cc tests the bytes themselves. No call allocates: a commit may be durable already.
#include <gtest/gtest.h>

#include "lmdb/handles.h"
#include "testing/failing_allocation.h"

namespace mergedb::lmdb {
namespace {

class LmdbRetained : public ::testing::Test {
 protected:
  using RootPtr = std::shared_ptr<Root>;

  void Retain(uint64_t thread, const RootPtr& root) {
    RetainedList place(1);
    base::Lock lock(env_.mutex);
    NeedsNoMemory([&] { lmdb::Retain(&env_, &place, thread, root, &gone_); });
  }
  void ForgetOf(uint64_t thread, const Root* root) {
    base::Lock lock(env_.mutex);
    NeedsNoMemory([&] { lmdb::ForgetOf(&env_, thread, root, &gone_); });
  }
  void Commit() {
    base::Lock lock(env_.mutex);
    NeedsNoMemory([&] { lmdb::ForgetAfterCommit(&env_, &gone_); });
  }
  template <typename Call>
  static void NeedsNoMemory(Call call) {
    testing::FailAllocation(1);
    call();
    EXPECT_FALSE(testing::StopFailing());
  }
  // Retains a root that only the environment holds.
  void RetainOne(uint64_t thread) { Retain(thread, std::make_shared<Root>()); }
  std::vector<uint64_t> Threads() {
    base::Lock lock(env_.mutex);
    std::vector<uint64_t> threads;
    for (const Retained& each : env_.retained) threads.push_back(each.thread);
    return threads;
  }

  MDB_env env_;
  RetainedList gone_;
};

using Numbers = std::vector<uint64_t>;

TEST_F(LmdbRetained, OutlastsTwoCommits) {
  RetainOne(1);
  Commit();
  RetainOne(2);
  Commit();
  EXPECT_EQ(Threads(), (Numbers{1, 2}));
  Commit();
  EXPECT_EQ(Threads(), Numbers{2});
  ASSERT_EQ(gone_.size(), 1u);
  EXPECT_EQ(gone_.front().thread, 1u);
  Commit();
  EXPECT_EQ(Threads(), Numbers{});
}

TEST_F(LmdbRetained, GoesWhenItsThreadOrItsHandleBeginsAgain) {
  const auto held = std::make_shared<Root>();
  RetainOne(1);
  RetainOne(2);
  RetainOne(1);
  Retain(3, held);
  ForgetOf(1, nullptr);
  EXPECT_EQ(Threads(), (Numbers{2, 3}));
  EXPECT_EQ(gone_.size(), 2u);
  ForgetOf(9, held.get());
  EXPECT_EQ(Threads(), Numbers{2});
  ForgetOf(9, nullptr);
  EXPECT_EQ(Threads(), Numbers{2});
}

TEST_F(LmdbRetained, ARootThatAReaderHoldsIsEmptiedAndNotGivenAway) {
  const auto held = std::make_shared<Root>();
  Retain(1, held);
  ForgetOf(1, nullptr);
  EXPECT_EQ(Threads(), Numbers{});
  EXPECT_TRUE(gone_.empty());
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(LmdbRetained, IsTheSameRootOnlyOnce) {
  const auto root = std::make_shared<Root>();
  Retain(1, root);
  Retain(2, root);
  EXPECT_EQ(Threads(), Numbers{1});
}

TEST_F(LmdbRetained, TheOldestGoesWhenThereAreMoreThanReaders) {
  env_.readers_max = 3;
  for (uint64_t thread = 1; thread <= 3; ++thread) RetainOne(thread);
  EXPECT_EQ(Threads(), (Numbers{1, 2, 3}));
  RetainOne(4);
  EXPECT_EQ(Threads(), (Numbers{2, 3, 4}));
  ASSERT_EQ(gone_.size(), 1u);
  EXPECT_EQ(gone_.front().thread, 1u);
}

TEST_F(LmdbRetained, OfNothingNothingGoes) {
  Commit();
  ForgetOf(0, nullptr);
  EXPECT_TRUE(gone_.empty());
}

}  // namespace
}  // namespace mergedb::lmdb
