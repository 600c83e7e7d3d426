// Range deletes of a memtable: which one masks a key as of any sequence, however many were added since. Method:
// random ranges, compared with a loop over all of them. Concurrent readers and a writer:
// tests/race/memtable_race_test.cc.
#include "memtable/range_deletes.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "base/random.h"

namespace mergedb::memtable {
namespace {

const kv::Order kOrder(BytewiseComparator());

std::string Key(uint64_t i) { return std::to_string(10'000 + i); }

class Ranges {
 public:
  void Add(uint64_t begin, uint64_t end, kv::Sequence sequence) {
    const std::string& first = keys_.emplace_back(Key(begin));
    const std::string& last = keys_.emplace_back(Key(end));
    all_.push_back({first, last, sequence});
    deletes.Add(all_.back());
  }
  kv::Sequence Expected(std::string_view key, kv::Sequence at) const {
    kv::Sequence newest = 0;
    for (const auto& each : all_) {
      if (each.begin <= key && key < each.end && each.sequence <= at) newest = std::max(newest, each.sequence);
    }
    return newest;
  }
  RangeDeletes deletes{kOrder};

 private:
  std::deque<std::string> keys_;  // a deque does not move its elements
  std::deque<kv::RangeTombstone> all_;
};

TEST(RangeDeletes, MaskAsOfASequence) {
  Ranges ranges;
  EXPECT_TRUE(ranges.deletes.empty());
  EXPECT_EQ(ranges.deletes.MaskingSequence(Key(3), 100), 0u);
  ranges.Add(1, 5, 10);
  ranges.Add(3, 9, 20);
  EXPECT_FALSE(ranges.deletes.empty());
  EXPECT_EQ(ranges.deletes.MaskingSequence(Key(3), 9), 0u);
  EXPECT_EQ(ranges.deletes.MaskingSequence(Key(3), 10), 10u);
  EXPECT_EQ(ranges.deletes.MaskingSequence(Key(3), 20), 20u);
  EXPECT_EQ(ranges.deletes.MaskingSequence(Key(9), 20), 0u) << "the end is not included";
  const kv::Mask mask = ranges.deletes.Find(Key(4), 100);
  EXPECT_EQ(mask.sequence, 20u);
  EXPECT_EQ(*mask.lower, Key(3));
  EXPECT_EQ(*mask.upper, Key(5));
  EXPECT_EQ(mask.from, Key(1));
  EXPECT_EQ(mask.until, Key(9));
  EXPECT_EQ(ranges.deletes.All().size(), 2u);
}

TEST(RangeDeletes, EmptyRangesSayNothing) {
  Ranges ranges;
  ranges.Add(4, 4, 1);
  for (uint64_t i = 0; i < 9; ++i) ranges.Add(5, 5, 2 + i);
  const kv::Mask mask = ranges.deletes.Find(Key(4), 100);
  EXPECT_EQ(mask.sequence, 0u);
  EXPECT_FALSE(mask.lower.has_value());
  EXPECT_FALSE(mask.upper.has_value());
}

TEST(RangeDeletes, AnswerAsALoopOverAllOfThemWouldAtEverySequence) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    Ranges ranges;
    for (kv::Sequence sequence = 1; sequence <= 300; ++sequence) {
      ranges.Add(random.Uniform(60), random.Uniform(60), sequence);
      for (int i = 0; i < 10; ++i) {
        const std::string key = Key(random.Uniform(60));
        const kv::Sequence at = random.OneIn(2) ? sequence : random.Uniform(sequence + 1);
        const kv::Sequence expected = ranges.Expected(key, at);
        ASSERT_EQ(ranges.deletes.MaskingSequence(key, at), expected) << key << " at " << at;
        const kv::Mask mask = ranges.deletes.Find(key, at);
        ASSERT_EQ(mask.sequence, expected);
        const std::string other = Key(random.Uniform(60));
        if ((!mask.lower || other >= *mask.lower) && (!mask.upper || other < *mask.upper)) {
          ASSERT_EQ(ranges.Expected(other, at), expected) << key << " and " << other;
        }
        if (expected > 0 && other >= mask.from && other < mask.until) {
          ASSERT_GT(ranges.Expected(other, at), 0u) << key << " and " << other;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mergedb::memtable
