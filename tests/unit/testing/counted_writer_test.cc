// Goal: the readers of a counted writer recognize every number of batches, and reject a state between two
// batches.
#include "testing/counted_writer.h"

#include <gtest/gtest.h>

#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

using Way = CountedWriter::Way;

TEST(CountedWriter, RecognizesEveryNumberOfBatchesEveryWay) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  const CountedWriter writer({.id = 1, .keys = 10, .all_keys_one_in = 17});
  for (uint64_t n = 0; n < 80; ++n) {
    if (n > 0) { ASSERT_OK(db->Write({}, writer.Batch(n))); }
    for (size_t way = 0; way < CountedWriter::kWays; ++way) {
      const auto seen = writer.ReadBetween(*db, static_cast<Way>(way), n, n);
      ASSERT_EQ(seen.problem, "") << n;
    }
    for (const bool at_snapshot : {false, true}) {
      const auto seen = writer.ReadPair(*db, n % 10, at_snapshot);
      ASSERT_EQ(seen.problem, "") << n;
      ASSERT_EQ(seen.count, n);
    }
  }
}

TEST(CountedWriter, NoticesABatchThatIsMissingTwiceOrInParts) {
  const CountedWriter writer({.keys = 10, .all_keys_one_in = 17});
  for (const uint64_t spoiled : {17, 25, 31}) {
    SimulatedEnv sim;
    ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
    for (uint64_t n = 1; n <= 40; ++n) {
      if (n == spoiled) continue;
      ASSERT_OK(db->Write({}, writer.Batch(n)));
    }
    EXPECT_NE(writer.Read(*db, Way::kIterator).problem, "") << spoiled;
    ASSERT_OK(db->Write({}, writer.Batch(spoiled)));
    EXPECT_NE(writer.Read(*db, Way::kBackwards).problem, "") << spoiled;
  }
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  for (uint64_t n = 1; n <= 40; ++n) ASSERT_OK(db->Write({}, writer.Batch(n)));
  EXPECT_EQ(writer.ReadBetween(*db, Way::kIterator, 40, 41).problem, "");
  EXPECT_NE(writer.ReadBetween(*db, Way::kIterator, 41, 41).problem, "");
  EXPECT_NE(writer.ReadBetween(*db, Way::kIterator, 1, 39).problem, "");
  ASSERT_OK(db->Put({}, "w0/key1003", "other"));
  EXPECT_NE(writer.Read(*db, Way::kBackwards).problem, "");
  EXPECT_NE(writer.Read(*db, Way::kMultiGet).problem, "");
  ASSERT_OK(db->Put({}, "w0/count", "39"));
  EXPECT_NE(writer.ReadPair(*db, 0, true).problem, "");
}

}  // namespace
}  // namespace mergedb::testing
