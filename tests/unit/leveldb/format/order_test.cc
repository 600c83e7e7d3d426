// Goal: internal keys are ordered by user key, then newest first; a shortened key lies between its key and the limit,
// is no longer, and is made under the bytewise order alone. Method: keys on both sides of each rule; then random keys.
#include "leveldb/format/order.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "leveldb/format/edit.h"
#include "testing/reverse_comparator.h"

namespace mergedb::leveldb_format::order_test {
namespace {

const UserOrder kUser{kv::Order(BytewiseComparator())};
const InternalOrder kInternal{kUser};

std::string Internal(std::string_view user_key, kv::Sequence sequence = 5, kv::Kind kind = kv::Kind::kPut) {
  std::string key;
  AppendInternalKey(&key, user_key, kv::MakeTag(sequence, kind));
  return key;
}

std::string Towards(const KeyOrder& order, std::string key, std::string_view limit) {
  order.ShortenTowards(limit, &key);
  return key;
}

std::string Upwards(const KeyOrder& order, std::string key) {
  order.ShortenUpwards(&key);
  return key;
}

// The key before all versions of `user_key`.
std::string Before(std::string_view user_key) { return Internal(user_key, kv::kSequenceMax); }

TEST(LevelDbUserOrder, ShortensToTheFirstByteThatDiffers) {
  EXPECT_EQ(Towards(kUser, "abcdef", "abzz"), "abd");
  EXPECT_EQ(Towards(kUser, "a1zz", "a3"), "a2");
  EXPECT_EQ(Towards(kUser, "a1zz", "a2"), "a1zz") << "no byte lies in between";
  EXPECT_EQ(Towards(kUser, "ab\xfezz", "ac"), "ab\xfezz");
  EXPECT_EQ(Towards(kUser, "\xfdzz", "\xff"), "\xfe");
  EXPECT_EQ(Towards(kUser, "\xfezz", "\xff"), "\xfezz");
}

TEST(LevelDbUserOrder, LeavesAKeyThatBeginsTheLimit) {
  EXPECT_EQ(Towards(kUser, "ab", "abc"), "ab");
  EXPECT_EQ(Towards(kUser, "", "a"), "");
}

TEST(LevelDbUserOrder, ShortensUpwardsAtTheFirstByteThatCanGrow) {
  EXPECT_EQ(Upwards(kUser, "abc"), "b");
  EXPECT_EQ(Upwards(kUser, "\xfe\xfe"), "\xff");
  EXPECT_EQ(Upwards(kUser, "\xff\xff\x01z"), "\xff\xff\x02");
  EXPECT_EQ(Upwards(kUser, "\xff\xff"), "\xff\xff");
  EXPECT_EQ(Upwards(kUser, ""), "");
}

TEST(LevelDbUserOrder, ShortensUnderNoOrderButTheBytewise) {
  const testing::ReverseComparator comparator;
  const UserOrder reverse{kv::Order(&comparator)};
  EXPECT_GT(reverse.Compare("a", "b"), 0);
  EXPECT_EQ(Towards(reverse, "abzz", "abcdef"), "abzz");
  EXPECT_EQ(Towards(reverse, "abcdef", "abzz"), "abcdef");
  EXPECT_EQ(Upwards(reverse, "abc"), "abc");
}

TEST(LevelDbInternalOrder, PutsTheNewestVersionFirst) {
  EXPECT_LT(kInternal.Compare(Internal("a", 1), Internal("b", 9)), 0);
  EXPECT_LT(kInternal.Compare(Internal("a", 9), Internal("a", 8)), 0);
  EXPECT_GT(kInternal.Compare(Internal("a", 8), Internal("a", 9)), 0);
  EXPECT_LT(kInternal.Compare(Internal("a", 8, kv::Kind::kPut), Internal("a", 8, kv::Kind::kDelete)), 0);
  EXPECT_EQ(kInternal.Compare(Internal("a", 8), Internal("a", 8)), 0);
  EXPECT_LT(kInternal.Compare(Internal("a"), Internal("ab")), 0);
}

TEST(LevelDbInternalOrder, KeysTooShortForATagPrecedeAllOthers) {
  const std::string too_short(7, '\xff');
  EXPECT_LT(kInternal.Compare(too_short, Internal("")), 0);
  EXPECT_GT(kInternal.Compare(Internal(""), too_short), 0);
  EXPECT_EQ(kInternal.Compare(too_short, ""), 0);
  EXPECT_EQ(Towards(kInternal, too_short, Internal("z")), too_short);
  EXPECT_EQ(Towards(kInternal, Internal("abc"), too_short), Internal("abc"));
  EXPECT_EQ(Upwards(kInternal, too_short), too_short);
}

TEST(LevelDbInternalOrder, AShortenedKeyPrecedesAllVersionsOfItsUserKey) {
  EXPECT_EQ(Towards(kInternal, Internal("abcdef"), Internal("abzz")), Before("abd"));
  EXPECT_EQ(Upwards(kInternal, Internal("abc")), Before("b"));
}

TEST(LevelDbInternalOrder, AKeyThatGetsNoShorterStays) {
  EXPECT_EQ(Towards(kInternal, Internal("ab1"), Internal("ab9")), Internal("ab1"));
  EXPECT_EQ(Towards(kInternal, Internal("ab", 9), Internal("ab", 8)), Internal("ab", 9));
  EXPECT_EQ(Upwards(kInternal, Internal("a")), Internal("a"));
  EXPECT_EQ(Upwards(kInternal, Internal("\xff\xff")), Internal("\xff\xff"));
}

TEST(LevelDbInternalOrder, AShortenedKeyLiesBetweenItsKeyAndTheLimit) {
  constexpr uint64_t kSeed = 13;
  base::Random random(kSeed);
  const auto random_key = [&] {
    std::string key(random.Uniform(6), '\0');
    for (char& c : key) c = "\0ab\xfe\xff"[random.Uniform(5)];
    return Internal(key, random.Uniform(3));
  };
  int shortened = 0;
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    std::string key = random_key(), limit = random_key();
    if (kInternal.Compare(key, limit) > 0) std::swap(key, limit);
    if (kInternal.Compare(key, limit) == 0) continue;
    const std::string between = Towards(kInternal, key, limit), above = Upwards(kInternal, key);
    ASSERT_LE(kInternal.Compare(key, between), 0);
    ASSERT_LT(kInternal.Compare(between, limit), 0);
    ASSERT_LE(kInternal.Compare(key, above), 0);
    ASSERT_LE(std::max(between.size(), above.size()), key.size());
    shortened += between.size() < key.size();
  }
  EXPECT_GT(shortened, 100);
}

}  // namespace
}  // namespace mergedb::leveldb_format::order_test
