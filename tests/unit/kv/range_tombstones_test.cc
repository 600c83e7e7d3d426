// Fragments of range tombstones: which tombstone masks a key, and up to which border. Method: small examples,
// then random overlapping ranges and snapshots, compared with a loop over all tombstones.
#include "kv/range_tombstones.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "testing/contradicting_comparator.h"
#include "testing/reverse_comparator.h"

namespace mergedb::kv {
namespace {

const Order kOrder(BytewiseComparator());

using Keys = RangeTombstones::Keys;

// For example "[a..d)9,5 [d..m)5".
std::string Print(const RangeTombstones& list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    text += (i == 0 ? "[" : " [") + std::string(list.begin(i)) + ".." + std::string(list.end(i)) + ")";
    for (const Sequence sequence : list.sequences(i)) {
      text += (sequence == list.sequences(i).front() ? "" : ",") + std::to_string(sequence);
    }
  }
  return text;
}

std::string Print(const Mask& mask) {
  const auto open = [](const OptionalKey& key) { return key ? std::string(*key) : "-"; };
  std::string text = std::to_string(mask.sequence) + " [" + open(mask.lower) + ".." + open(mask.upper) + ")";
  if (mask.sequence > 0) text += " of [" + std::string(mask.from) + ".." + std::string(mask.until) + ")";
  return text;
}

RangeTombstones Fragment(std::vector<RangeTombstone> tombstones, std::vector<Sequence> snapshots = {}) {
  return RangeTombstones::Fragment(kOrder, std::move(tombstones), Stripes(std::move(snapshots)), Keys::kViews);
}

TEST(RangeTombstones, AreCutAtEachOthersBorders) {
  const auto list = Fragment({{"a", "m", 5}, {"d", "g", 9}, {"m", "p", 7}, {"s", "t", 2}});
  EXPECT_EQ(Print(list), "[a..d)5 [d..g)9 [g..m)5 [m..p)7 [s..t)2");
  EXPECT_EQ(list.oldest_sequence(), 2u);
  EXPECT_EQ(list.newest_sequence(), 9u);
}

TEST(RangeTombstones, KeepTheNewestOfEachStripe) {
  const std::vector<RangeTombstone> tombstones = {{"a", "z", 3}, {"a", "z", 5}, {"b", "c", 4}, {"b", "y", 9}};
  EXPECT_EQ(Print(Fragment(tombstones)), "[a..b)5 [b..y)9 [y..z)5");
  EXPECT_EQ(Print(Fragment(tombstones, {4, 7})), "[a..b)5,3 [b..c)9,5,4 [c..y)9,5,3 [y..z)5,3");
}

TEST(RangeTombstones, ThatSayTheSameBecomeOneAndEmptyOnesNothing) {
  EXPECT_EQ(Print(Fragment({{"a", "z", 9}, {"c", "d", 3}, {"q", "q", 7}, {"r", "f", 8}})), "[a..z)9");
  EXPECT_TRUE(Fragment({{"q", "q", 7}}).empty());
  EXPECT_TRUE(RangeTombstones().empty());
}

TEST(RangeTombstones, SayHowFarTheAnswerHolds) {
  const auto list = Fragment({{"b", "d", 5}, {"d", "f", 9}, {"k", "m", 7}}, {6});
  EXPECT_EQ(Print(list.Find(kOrder, "a", kSequenceMax)), "0 [-..b)");
  EXPECT_EQ(Print(list.Find(kOrder, "b", kSequenceMax)), "5 [b..d) of [b..f)");
  EXPECT_EQ(Print(list.Find(kOrder, "e", kSequenceMax)), "9 [d..f) of [b..f)");
  EXPECT_EQ(Print(list.Find(kOrder, "f", kSequenceMax)), "0 [f..k)");
  EXPECT_EQ(Print(list.Find(kOrder, "z", kSequenceMax)), "0 [m..-)");
  // Sequence 6 does not see #9.
  EXPECT_EQ(Print(list.Find(kOrder, "b", 6)), "5 [b..d) of [b..d)");
  EXPECT_EQ(Print(list.Find(kOrder, "e", 6)), "0 [d..f)");
  EXPECT_EQ(Print(RangeTombstones().Find(kOrder, "e", 6)), "0 [-..-)");
}

TEST(RangeTombstones, OfTwoSourcesCombine) {
  const auto a = Fragment({{"b", "m", 5}});
  const auto b = Fragment({{"d", "f", 9}, {"f", "z", 2}});
  const auto both = [&](std::string_view key) {
    return Print(Combined(kOrder, a.Find(kOrder, key, 100), b.Find(kOrder, key, 100)));
  };
  EXPECT_EQ(both("a"), "0 [-..b)");
  EXPECT_EQ(both("c"), "5 [b..d) of [b..m)");
  EXPECT_EQ(both("e"), "9 [d..f) of [b..z)");
  EXPECT_EQ(both("n"), "2 [m..z) of [d..z)");
}

TEST(RangeTombstones, AreClippedAtBounds) {
  const auto list = Fragment({{"b", "d", 5}, {"k", "m", 7}, {"m", "o", 8}});
  const auto clipped = [&](OptionalKey lower, OptionalKey upper) {
    std::vector<RangeTombstone> out;
    list.AppendTo(kOrder, lower, upper, &out);
    return Print(Fragment(std::move(out)));
  };
  EXPECT_EQ(clipped({}, {}), "[b..d)5 [k..m)7 [m..o)8");
  EXPECT_EQ(clipped("c", "n"), "[c..d)5 [k..m)7 [m..n)8");
  EXPECT_EQ(clipped("d", "k"), "");
  EXPECT_EQ(clipped("e", "k\1"), "[k..k\1)7");
  EXPECT_EQ(clipped("o", {}), "");
  EXPECT_EQ(clipped({}, "b"), "");
}

TEST(RangeTombstones, CopiesOutliveTheirKeys) {
  RangeTombstones copied;
  {
    std::string first = "begin of a long range of keys", last = "end of it all";
    copied = RangeTombstones::Fragment(kOrder, {{first, last, 4}}, {}, Keys::kCopies);
    first.assign(first.size(), 'x');
    last.assign(last.size(), 'x');
  }
  EXPECT_EQ(Print(copied), "[begin of a long range of keys..end of it all)4");
}

TEST(RangeTombstones, BuilderRefusesWhatIsOutOfOrder) {
  const std::vector<Sequence> good = {5, 3}, bad = {3, 3};
  RangeTombstones::Builder builder;
  EXPECT_FALSE(builder.Add(kOrder, "b", "b", good));
  EXPECT_FALSE(builder.Add(kOrder, "b", "c", {}));
  EXPECT_FALSE(builder.Add(kOrder, "b", "c", bad));
  EXPECT_TRUE(builder.Add(kOrder, "b", "d", good));
  EXPECT_FALSE(builder.Add(kOrder, "c", "e", good));
  EXPECT_TRUE(builder.Add(kOrder, "d", "e", good));
  EXPECT_EQ(Print(builder.Finish(kOrder, nullptr, 0)), "[b..e)5,3");
}

// Nested ranges: each one lies within all earlier ones.
TEST(RangeTombstones, OnTopOfEachOtherDoNotMultiply) {
  std::vector<std::string> keys;
  for (int i = 0; i < 4000; ++i) keys.push_back(std::to_string(10000 + i));
  std::vector<RangeTombstone> tombstones;
  for (size_t i = 0; i < 2000; ++i) tombstones.push_back({keys[i], keys[keys.size() - 1 - i], i + 1});
  const auto list = Fragment(tombstones);
  EXPECT_EQ(list.size(), 3999u);
  EXPECT_EQ(list.tombstones(), 3999u);
  EXPECT_EQ(list.MaskingSequence(kOrder, keys[1], 5000), 2u);
  EXPECT_EQ(list.MaskingSequence(kOrder, keys[1999], 5000), 2000u);
}

void CompareWithALoop(const Order& order, base::Random& random) {
  const auto draw = [&] { return std::to_string(random.Uniform(40)); };
  std::vector<std::string> keys;
  for (int i = 0; i < 400; ++i) keys.push_back(draw());
  std::vector<RangeTombstone> tombstones;
  const size_t count = random.Uniform(30);
  for (size_t i = 0; i < count; ++i) { tombstones.push_back({keys[2 * i], keys[2 * i + 1], 1 + random.Uniform(60)}); }
  std::vector<Sequence> snapshots;
  for (uint64_t n = random.Uniform(4); n > 0; --n) snapshots.push_back(random.Uniform(60));
  std::sort(snapshots.begin(), snapshots.end());
  const auto list = RangeTombstones::Fragment(order, tombstones, Stripes(snapshots), Keys::kViews);
  snapshots.push_back(kSequenceMax);
  for (const Sequence at : snapshots) {  // fragments are exact only at these sequences
    for (int i = 0; i < 60; ++i) {
      const std::string key = draw();
      Sequence expected = 0;
      for (const RangeTombstone& each : tombstones) {
        const bool is_over = order.CompareKeys(each.begin, key) <= 0 && order.CompareKeys(key, each.end) < 0;
        if (is_over && each.sequence <= at) expected = std::max(expected, each.sequence);
      }
      ASSERT_EQ(list.MaskingSequence(order, key, at), expected) << key << " at " << at << " in " << Print(list);
      const Mask mask = list.Find(order, key, at);
      ASSERT_EQ(mask.sequence, expected);
      // The mask holds for each key up to the borders. Each key of the group is masked by some tombstone.
      for (const std::string& other : keys) {
        const bool is_in_span = (!mask.lower || order.CompareKeys(other, *mask.lower) >= 0) &&
                                (!mask.upper || order.CompareKeys(other, *mask.upper) < 0);
        if (is_in_span) { ASSERT_EQ(list.MaskingSequence(order, other, at), expected); }
        if (expected == 0) continue;
        const bool is_in_group = order.CompareKeys(other, mask.from) >= 0 && order.CompareKeys(other, mask.until) < 0;
        if (is_in_group) { ASSERT_GT(list.MaskingSequence(order, other, at), 0u); }
      }
    }
  }
}

TEST(RangeTombstones, AnswerAsALoopOverAllOfThemWould) {
  static const testing::ReverseComparator reverse;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    CompareWithALoop(random.OneIn(3) ? Order(&reverse) : kOrder, random);
    if (HasFatalFailure()) return;
  }
}

TEST(RangeTombstones, UnderAnOrderThatContradictsItselfSayThatTheyAreNotComplete) {
  uint64_t incomplete = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    testing::ContradictingComparator comparator(seed);
    comparator.contradicts = true;
    const Order order(&comparator);
    base::Random random(seed);
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) keys.push_back("k" + std::to_string(random.Uniform(1000)));
    std::vector<RangeTombstone> tombstones;
    for (size_t i = 0; i + 1 < keys.size(); i += 2) tombstones.push_back({keys[i], keys[i + 1], i + 1});
    incomplete += !RangeTombstones::Fragment(order, std::move(tombstones), {}, Keys::kCopies).is_complete();
  }
  EXPECT_GT(incomplete, 150u);
  EXPECT_TRUE(Fragment({{"a", "m", 5}, {"d", "g", 9}}).is_complete());
}

}  // namespace
}  // namespace mergedb::kv
