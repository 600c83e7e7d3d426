// Goal: keys are in the comparator's order, versions newest first, and the prefix shortcut never changes the
// result.
#include "kv/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"

namespace mergedb::kv {
namespace {

class Backwards final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return base::CompareBytes(b, a); }
  std::string_view Name() const override { return "test.backwards"; }
};

Entry NewEntry(const Order& order, std::string_view key, Sequence sequence) {
  return {.prefix = order.Prefix(key), .key = key, .tag = MakeTag(sequence, Kind::kPut), .value = {}};
}

TEST(Order, BytewiseIsOneObjectWithItsName) {
  EXPECT_EQ(BytewiseComparator(), BytewiseComparator());
  EXPECT_EQ(BytewiseComparator()->Name(), "mergedb.bytewise");
  EXPECT_TRUE(Order(BytewiseComparator()).is_bytewise());
}

TEST(Order, BytewiseIsMemcmpThenShorterFirst) {
  const Comparator* bytewise = BytewiseComparator();
  EXPECT_LT(bytewise->Compare("", "a"), 0);
  EXPECT_LT(bytewise->Compare("a", "aa"), 0);
  EXPECT_LT(bytewise->Compare("a", "\xff"), 0) << "bytes are unsigned";
  EXPECT_GT(bytewise->Compare("b", "aa"), 0);
  EXPECT_EQ(bytewise->Compare("a", "a"), 0);
}

TEST(Order, VersionsOfAKeyStandNewestFirst) {
  const Order order(BytewiseComparator());
  EXPECT_LT(order.Compare(NewEntry(order, "k", 8), NewEntry(order, "k", 7)), 0);
  EXPECT_GT(order.Compare(NewEntry(order, "k", 7), NewEntry(order, "k", 8)), 0);
  EXPECT_EQ(order.Compare(NewEntry(order, "k", 7), NewEntry(order, "k", 7)), 0);
  EXPECT_LT(order.Compare(NewEntry(order, "j", 7), NewEntry(order, "k", 8)), 0);
}

TEST(Order, KeysThatDifferInTrailingZerosAreNotTheSame) {
  const Order order(BytewiseComparator());
  const std::string zero("a\0", 2);
  EXPECT_EQ(order.Prefix("a"), order.Prefix(zero));
  EXPECT_LT(order.Compare(NewEntry(order, "a", 1), NewEntry(order, zero, 9)), 0);
  EXPECT_FALSE(order.SameKey("a", zero));
}

TEST(Order, AnotherComparatorDecidesAloneWithoutPrefixes) {
  const Backwards backwards;
  const Order order(&backwards);
  EXPECT_FALSE(order.is_bytewise());
  EXPECT_EQ(order.Prefix("anything"), 0u);
  EXPECT_LT(order.Compare(NewEntry(order, "b", 1), NewEntry(order, "a", 1)), 0);
  EXPECT_LT(order.Compare(NewEntry(order, "b", 2), NewEntry(order, "b", 1)), 0);
}

TEST(Order, PrefixesNeverChangeTheAnswer) {
  const uint64_t seed = 11;
  SCOPED_TRACE(seed);
  base::Random random(seed);
  const Order order(BytewiseComparator());
  for (int round = 0; round < 2000; ++round) {
    std::string a(random.Uniform(11), '\0'), b;
    for (char& c : a) c = static_cast<char>(random.Uniform(2) * 255);
    b = a.substr(0, random.Uniform(a.size() + 1));
    if (random.OneIn(2)) b += static_cast<char>(random.Uniform(2) * 255);
    ASSERT_EQ(order.Compare(NewEntry(order, a, 1), NewEntry(order, b, 1)) < 0, a < b);
  }
}

}  // namespace
}  // namespace mergedb::kv
