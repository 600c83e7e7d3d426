// Goal: each drawn geometry is valid, prints as one word that can be parsed, and the draws reach both ends of
// each choice.
#include "testing/geometry.h"

#include <gtest/gtest.h>

#include <set>

#include "testing/option_sets.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

TEST(Geometry, IsDrawnAgainFromItsSeedAndReadBackFromItsText) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Geometry geometry = DrawGeometry(seed, {.may_limit_descriptors = true});
    EXPECT_EQ(geometry, DrawGeometry(seed, {.may_limit_descriptors = true}));
    const auto read = ParseGeometry(Print(geometry));
    ASSERT_TRUE(read.has_value()) << Print(geometry);
    EXPECT_EQ(*read, geometry);
  }
  EXPECT_FALSE(ParseGeometry("").has_value());
  EXPECT_FALSE(ParseGeometry(Print({}) + "x").has_value());
  EXPECT_FALSE(ParseGeometry("greedy" + Print({}).substr(4)).has_value());
}

TEST(Geometry, DrawsTheLeastBufferOftenAndTheDefaultToo) {
  std::multiset<size_t> buffers;
  for (uint64_t seed = 1; seed <= 400; ++seed) buffers.insert(DrawGeometry(seed).write_buffer_bytes);
  EXPECT_GT(buffers.count(64 << 10), 80u);
  EXPECT_GT(buffers.count(kWriteBufferBytesDefault), 10u);
  for (uint64_t seed = 1; seed <= 400; ++seed)
    EXPECT_LE(DrawGeometry(seed, {.write_buffer_bytes_max = 1 << 20}).write_buffer_bytes, 1u << 20);
}

TEST(Geometry, OpensADatabase) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SimulatedEnv sim;
    Options options = sim.SmallOptions();
    Choose(DrawGeometry(seed), &options);
    ASSERT_OK(DB::Open(options, SimulatedEnv::kPath).status()) << Print(DrawGeometry(seed));
  }
}

TEST(Geometry, IsAnOptionSetWithItsTextAsName) {
  const OptionSet set = OptionSetOf(DrawGeometry(3), 4);
  const auto found = FindOptionSet(set.name);
  ASSERT_TRUE(found.has_value()) << set.name;
  EXPECT_EQ(found->name, set.name);
  EXPECT_EQ(found->write_buffer_bytes, DrawGeometry(3).write_buffer_bytes);
  EXPECT_EQ(found->comparator, set.comparator);
  EXPECT_FALSE(FindOptionSet("NoSuchSet").has_value());
}

}  // namespace
}  // namespace mergedb::testing
