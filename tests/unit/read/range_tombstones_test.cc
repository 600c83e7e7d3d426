// Goal: the mask of a key in a run agrees with a loop over the tombstones within the bounds of the run's virtual
// tables, and the range for which the mask is said to hold is never too wide. Method: random runs of virtual
// tables and random keys; each mask is compared at every key.
#include "read/range_tombstones.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/unit/compaction/tables.h"

namespace mergedb::read {
namespace {

std::string Key(uint64_t i) { return std::to_string(100 + i); }
constexpr uint64_t kKeys = 80;

struct Shown {  // a tombstone within the bounds of its virtual table
  std::string begin, end;
  kv::Sequence sequence;
};

// Virtual tables side by side, with up to 3 range tombstones each. Some show only part of their file.
version::RunPtr RandomRun(testing::Tables& tables, base::Random& random, std::vector<Shown>* shown) {
  std::vector<version::VirtualTable> virtual_tables;
  for (uint64_t at = random.Uniform(5); at + 4 < kKeys;) {
    const uint64_t end = std::min(kKeys, at + 4 + random.Uniform(15));
    std::vector<std::string> keys;
    for (uint64_t i = at; i <= end; ++i) keys.push_back(Key(i));
    std::vector<kv::RangeTombstone> ranges;
    for (uint64_t n = random.Uniform(4); n > 0; --n) {
      const uint64_t a = random.Uniform(keys.size()), b = random.Uniform(keys.size());
      if (a < b) ranges.push_back({keys[a], keys[b], 1 + random.Uniform(50)});
    }
    compaction::Outputs outputs(
        tables.factory, {.range_tombstones = kv::RangeTombstones::Fragment(tables.order, ranges, kv::Stripes({25}),
                                                                           kv::RangeTombstones::Keys::kCopies),
                         .stripes = kv::Stripes({25})});
    if (random.OneIn(2)) { EXPECT_OK(outputs.Add(ViewOf(testing::PutEntry(keys[1], 60, "v"), tables.order))); }
    EXPECT_OK(outputs.Finish());
    for (const auto& meta : outputs.Take()) {
      format::Bounds bounds;
      if (random.OneIn(3)) bounds.lower = keys[1];
      if (random.OneIn(3)) bounds.upper = keys[keys.size() - 2];
      auto virtual_table = version::Clip(tables.order, meta, bounds);
      if (!virtual_table) continue;
      for (const auto& range : ranges) {
        Shown each{std::string(range.begin), std::string(range.end), range.sequence};
        if (bounds.lower) each.begin = std::max(each.begin, *bounds.lower);
        if (bounds.upper) each.end = std::min(each.end, *bounds.upper);
        shown->push_back(each);
      }
      virtual_tables.push_back(*std::move(virtual_table));
    }
    at = end + random.Uniform(4);
  }
  return std::make_shared<const version::Run>(kv::Position{1}, 0, std::move(virtual_tables));
}

TEST(RunMasks, AreClippedToVirtualTables) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    testing::Tables tables;
    std::vector<Shown> shown;
    const version::RunPtr run = RandomRun(tables, random, &shown);
    const kv::Sequence at = random.OneIn(2) ? kv::kSequenceMax : 25;
    const auto expected = [&](const std::string& key) {
      kv::Sequence newest = 0;
      for (const Shown& each : shown) {
        if (each.begin <= key && key < each.end && each.sequence <= at) newest = std::max(newest, each.sequence);
      }
      return newest;
    };
    const auto covers = NewRunMasks(tables.order, *tables.cache, run, at);
    for (int i = 0; i < 200; ++i) {
      const std::string key = Key(random.Uniform(kKeys + 4));
      kv::Mask cover;
      ASSERT_OK(covers->Find(key, &cover));
      ASSERT_EQ(cover.sequence, expected(key)) << key;
      for (uint64_t other_key = 0; other_key < kKeys + 4; ++other_key) {
        const std::string other = Key(other_key);
        if ((!cover.lower || other >= *cover.lower) && (!cover.upper || other < *cover.upper)) {
          ASSERT_EQ(expected(other), cover.sequence) << key << " and " << other;
        }
        if (cover.sequence > 0 && other >= cover.from && other < cover.until) {
          ASSERT_GT(expected(other), 0u) << key << " and " << other;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mergedb::read
