// Goal: two running compactions never interleave, and a pick that was made from an old Version is refused.
#include "compaction/running_compactions.h"

#include <gtest/gtest.h>

namespace mergedb::compaction {
namespace {

version::Version VersionOf(const std::vector<uint64_t>& positions) {
  std::vector<version::RunPtr> runs;
  for (const uint64_t position : positions) {
    runs.push_back(
        std::make_shared<const version::Run>(kv::Position{position}, 0, std::vector<version::VirtualTable>()));
  }
  return version::Version(std::move(runs));
}

picker::CompactionPick PlanOf(const std::vector<uint64_t>& positions, const format::Bounds& bounds = {}) {
  picker::CompactionPick pick;
  for (const uint64_t position : positions) pick.sources.push_back(kv::Position{position});
  pick.bounds = bounds;
  return pick;
}

class RunningCompactionsTest : public ::testing::Test {
 protected:
  const version::Version version_ = VersionOf({9, 7, 5, 3, 1});
  RunningCompactions running_{kv::Order(BytewiseComparator())};
};

TEST_F(RunningCompactionsTest, LetsDisjointRunsBeMergedAtOnce) {
  EXPECT_TRUE(running_.Claim(PlanOf({9, 7}), version_));
  EXPECT_TRUE(running_.Claim(PlanOf({3, 1}), version_));
  EXPECT_EQ(running_.running().size(), 2u);
}

TEST_F(RunningCompactionsTest, RefusesARunThatIsTaken) {
  EXPECT_TRUE(running_.Claim(PlanOf({7, 5}), version_));
  EXPECT_FALSE(running_.Claim(PlanOf({9, 7}), version_));
  EXPECT_FALSE(running_.Claim(PlanOf({5, 3}), version_));
  EXPECT_FALSE(running_.Claim(PlanOf({9, 7, 5, 3}), version_));
}

TEST_F(RunningCompactionsTest, LetsDisjointKeysOfTheSameRunsBeMergedAtOnce) {
  EXPECT_TRUE(running_.Claim(PlanOf({5, 3}, {.upper = "m"}), version_));
  EXPECT_TRUE(running_.Claim(PlanOf({5, 3}, {.lower = "m"}), version_));
  EXPECT_FALSE(running_.Claim(PlanOf({5, 3}, {.lower = "a", .upper = "b"}), version_));
}

TEST_F(RunningCompactionsTest, RefusesSourcesThatAreGoneOrNoLongerAdjacent) {
  EXPECT_FALSE(running_.Claim(PlanOf({9, 8}), version_));
  EXPECT_FALSE(running_.Claim(PlanOf({9, 5}), version_));
  EXPECT_FALSE(running_.Claim(PlanOf({1, 0}), version_));
  EXPECT_TRUE(running_.running().empty());
}

// At the time of the pick no older run holds a key of the pick. Then a job that ends moves such a key into an
// older run: the tombstones of the pick are needed again.
TEST_F(RunningCompactionsTest, RefusesToDropTombstonesAboveAnOlderKey) {
  const auto run = [](uint64_t position, const std::string& smallest, const std::string& largest) {
    auto meta = std::make_shared<format::FileMeta>();
    meta->number = kv::FileNumber{position};
    meta->smallest = smallest;
    meta->largest = largest;
    return std::make_shared<const version::Run>(kv::Position{position}, 0,
                                                std::vector<version::VirtualTable>{{.file = meta, .bounds = {}}});
  };
  picker::CompactionPick pick = PlanOf({5, 3});
  pick.is_bottommost = true;
  EXPECT_FALSE(running_.Claim(pick, version::Version({run(5, "a", "c"), run(3, "b", "m"), run(1, "k", "z")})));
  EXPECT_TRUE(running_.running().empty());
  EXPECT_TRUE(running_.Claim(pick, version::Version({run(5, "a", "c"), run(3, "b", "m"), run(1, "n", "z")})));
}

TEST_F(RunningCompactionsTest, TakesAgainWhatWasUnclaimed) {
  EXPECT_TRUE(running_.Claim(PlanOf({7, 5}, {.upper = "m"}), version_));
  EXPECT_TRUE(running_.Claim(PlanOf({7, 5}, {.lower = "m"}), version_));
  running_.Unclaim(PlanOf({7, 5}, {.upper = "m"}));
  EXPECT_FALSE(running_.Claim(PlanOf({9, 7}), version_));
  EXPECT_TRUE(running_.Claim(PlanOf({9, 7}, {.upper = "k"}), version_));
}

}  // namespace
}  // namespace mergedb::compaction
