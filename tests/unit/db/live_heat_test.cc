// Goal: each sample is counted in the one range of keys that holds its key; borders lie where bytes or samples are
// many, and the ranges fit in LIVE. Method: trees as text, samples by hand, a random comparison.
#include "db/observe/live_heat.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"

namespace mergedb::db {
namespace {

using Samples = std::vector<read::Heat::Sample>;

class HeatRangesTest : public ::testing::Test {
 protected:
  std::vector<format::LiveHeat> Ranges(const std::string& tree, const Samples& reads, const Samples& writes) {
    const auto version = testing::ParseTree(order_, tree);
    EXPECT_TRUE(version.has_value());
    return HeatRanges({.version = **version, .order = order_, .reads = reads, .writes = writes});
  }

  const kv::Order order_{BytewiseComparator()};
};

TEST_F(HeatRangesTest, AreEmptyWithoutSamples) {
  EXPECT_TRUE(Ranges("position 1 level bottom: 000007[a..z]64MB\n", {}, {}).empty());
}

TEST_F(HeatRangesTest, CountReadsAndWritesBetweenTables) {
  const auto ranges = Ranges("position 1 level bottom: 000007[b..f]64MB 000008[g..m]64MB 000009[n..z]64MB\n",
                             {{"a", 1, 0}, {"g", 2, 0}, {"h", 4, 0}}, {{"zz", 8, 0}});
  uint64_t reads = 0, writes = 0;
  std::string before;
  for (const format::LiveHeat& range : ranges) {
    EXPECT_TRUE(range.from.empty() == (&range == &ranges.front()));
    if (&range != &ranges.front()) { EXPECT_GT(range.from, before); }
    before = range.from;
    if (range.from == "g") { EXPECT_EQ(range.reads, 2u) << "the key at a border is behind it"; }
    reads += range.reads;
    writes += range.writes;
  }
  EXPECT_EQ(reads, 7u);
  EXPECT_EQ(writes, 8u);
  EXPECT_TRUE(std::ranges::any_of(ranges, [](const auto& range) { return range.from == "n"; })) << "a table begins";
}

TEST_F(HeatRangesTest, ShowAHotKeyWithinOneTable) {
  Samples reads;
  for (int i = 0; i < 100; ++i) reads.push_back({"k" + std::to_string(100 + i), 1, 0});
  for (int i = 0; i < 400; ++i) reads.push_back({"k142", 1, 0});
  std::ranges::sort(reads, {}, &read::Heat::Sample::key);
  const auto ranges = Ranges("position 1 level bottom: 000007[k100..k199]64MB\n", reads, {});
  const auto hottest = std::ranges::max_element(ranges, {}, &format::LiveHeat::reads);
  EXPECT_EQ(hottest->from, "k142");
  EXPECT_GE(hottest->reads, 400u);
}

TEST_F(HeatRangesTest, AreFewAndShort) {
  base::Random random(5);
  std::string tree = "position 1 level bottom:";
  for (int i = 0; i < 500; ++i)
    tree += " " + std::to_string(i + 10) + "[" + std::string(40, 'k') + std::to_string(10'000 + 2 * i) + ".." +
            std::string(40, 'k') + std::to_string(10'001 + 2 * i) + "]1MB";
  Samples samples;
  for (int i = 0; i < 512; ++i) samples.push_back({"k" + std::to_string(random.Uniform(100'000)), 1, 0});
  const auto ranges = Ranges(tree + "\n", samples, samples);
  EXPECT_LE(ranges.size(), 70u);
  for (const format::LiveHeat& each : ranges) EXPECT_LE(each.from.size(), read::Heat::kKeyBytesMax);
}

TEST_F(HeatRangesTest, CountWhatAPlainSearchCounts) {
  constexpr uint64_t kSeed = 3;
  base::Random random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (int round = 0; round < 50; ++round) {
    Samples reads, writes;
    for (uint64_t i = random.Uniform(200); i > 0; --i) reads.push_back({std::to_string(random.Uniform(999)), i, 0});
    for (uint64_t i = random.Uniform(200); i > 0; --i) writes.push_back({std::to_string(random.Uniform(999)), i, 0});
    const auto ranges = Ranges("position 1 level bottom: 000007[1..3]64MB 000008[4..7]1MB\n", reads, writes);
    for (size_t i = 0; i < ranges.size(); ++i) {
      uint64_t expected = 0;
      for (const auto& sample : reads) {
        const bool is_in = sample.key >= ranges[i].from && (i + 1 == ranges.size() || sample.key < ranges[i + 1].from);
        expected += is_in ? sample.calls : 0;
      }
      EXPECT_EQ(ranges[i].reads, expected) << ranges[i].from;
    }
  }
}

}  // namespace
}  // namespace mergedb::db
