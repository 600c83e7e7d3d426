// Which writes conflict with the keys and ranges that were read. Method: examples, then random keys and ranges,
// compared with a list.
#include "txn/read_set.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "testing/reverse_comparator.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "tests/unit/write/written.h"

namespace mergedb::txn {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::written::Key;
using testing::written::Range;

class ReadSetTest : public ::testing::Test {
 protected:
  bool Conflicts(const std::string& written) { return reads_.CheckAgainst(written).IsConflict(); }
  ReadSet reads_{kv::Order(BytewiseComparator())};
};

TEST_F(ReadSetTest, AKeyConflictsWithItselfAlone) {
  EXPECT_TRUE(reads_.empty());
  reads_.AddKey("b");
  EXPECT_TRUE(Conflicts(Key("b")));
  EXPECT_FALSE(Conflicts(Key("a")));
  EXPECT_FALSE(Conflicts(Key("ba")));
  EXPECT_FALSE(Conflicts(Key("")));
}

TEST_F(ReadSetTest, AStretchHasBothItsEnds) {
  reads_.AddStretch("b", "d");
  EXPECT_FALSE(Conflicts(Key("a")));
  EXPECT_TRUE(Conflicts(Key("b")));
  EXPECT_TRUE(Conflicts(Key("c")));
  EXPECT_TRUE(Conflicts(Key("d")));
  EXPECT_FALSE(Conflicts(Key("da")));
}

TEST_F(ReadSetTest, AnOpenStretchGoesAsFarAsKeysDo) {
  reads_.AddStretch(std::nullopt, "b");
  reads_.AddStretch("x", std::nullopt);
  EXPECT_TRUE(Conflicts(Key("")));
  EXPECT_TRUE(Conflicts(Key("\xff\xff")));
  EXPECT_FALSE(Conflicts(Key("m")));
  reads_.AddStretch(std::nullopt, std::nullopt);
  EXPECT_TRUE(Conflicts(Key("m")));
}

TEST_F(ReadSetTest, ARangeConflictsWithWhatItMeets) {
  reads_.AddKey("c");
  reads_.AddStretch("m", "p");
  EXPECT_TRUE(Conflicts(Range("a", "d")));
  EXPECT_TRUE(Conflicts(Range("c", "d")));
  EXPECT_FALSE(Conflicts(Range("a", "c")));  // the end of a range is exclusive
  EXPECT_FALSE(Conflicts(Range("d", "m")));
  EXPECT_TRUE(Conflicts(Range("d", "ma")));
  EXPECT_TRUE(Conflicts(Range("p", "z")));
  EXPECT_FALSE(Conflicts(Range("pa", "z")));
  EXPECT_FALSE(Conflicts(Range("n", "n")));
}

TEST_F(ReadSetTest, AConflictNamesTheKeyThatWasRead) {
  reads_.AddKey("c");
  reads_.AddStretch("m", "p");
  EXPECT_THAT(reads_.CheckAgainst(Key("a") + Key("n") + Key("c")), StatusIs(Code::kConflict, HasSubstr("\"n\"")));
  EXPECT_EQ(reads_.conflict(), "n");
  EXPECT_TRUE(Conflicts(Range("a", "e")));
  EXPECT_EQ(reads_.conflict(), "c");
  EXPECT_TRUE(Conflicts(Range("k", "z")));
  EXPECT_EQ(reads_.conflict(), "m");
}

TEST_F(ReadSetTest, AScanIsOneRange) {
  reads_.AddStretch("a", "b");
  const size_t one = reads_.bytes();
  for (char c = 'b'; c < 'y'; ++c) reads_.AddStretch(std::string(1, c), std::string(1, static_cast<char>(c + 1)));
  EXPECT_EQ(reads_.bytes(), one);
  for (char c = 'y'; c > 'a'; --c) reads_.AddStretch(std::string(1, static_cast<char>(c - 1)), std::string(1, c));
  EXPECT_EQ(reads_.bytes(), one);
}

TEST(ReadSetOfAnyOrder, KnowsKeysAndRangesByTheComparator) {
  const testing::ReverseComparator reverse;
  ReadSet reads{kv::Order(&reverse)};
  reads.AddKey("m");
  reads.AddStretch("d", "b");
  EXPECT_TRUE(reads.CheckAgainst(Key("m")).IsConflict());
  EXPECT_TRUE(reads.CheckAgainst(Key("c")).IsConflict());
  EXPECT_FALSE(reads.CheckAgainst(Key("e")).IsConflict());
  EXPECT_TRUE(reads.CheckAgainst(Range("z", "a")).IsConflict());
  EXPECT_FALSE(reads.CheckAgainst(Range("l", "d")).IsConflict());
}

TEST_F(ReadSetTest, AgreesWithAListOfWhatWasRead) {
  const uint64_t seed = testing::SeedOr(7);
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Random random(seed);
  for (int round = 0; round < 200; ++round) {
    ReadSet reads{kv::Order(BytewiseComparator())};
    std::vector<bool> read(64, false);  // indexed by the number of a two-letter key
    const auto key = [](uint64_t n) {
      return std::string{static_cast<char>('a' + n / 8), static_cast<char>('a' + n % 8)};
    };
    for (uint64_t adds = random.Uniform(12); adds > 0; --adds) {
      const uint64_t a = random.Uniform(64), b = std::min<uint64_t>(63, a + random.Uniform(10));
      if (random.OneIn(2)) {
        reads.AddKey(key(a));
        read[a] = true;
      } else {
        const bool from_start = random.OneIn(8), to_end = random.OneIn(8);
        reads.AddStretch(from_start ? ReadSet::OptionalKey() : ReadSet::OptionalKey(key(a)),
                         to_end ? ReadSet::OptionalKey() : ReadSet::OptionalKey(key(b)));
        for (uint64_t i = from_start ? 0 : a; i <= (to_end ? 63 : b); ++i) read[i] = true;
      }
    }
    for (uint64_t i = 0; i < 64; ++i)
      ASSERT_EQ(reads.CheckAgainst(Key(key(i))).IsConflict(), read[i]) << round << " " << key(i);
    for (int ranges = 0; ranges < 20; ++ranges) {
      const uint64_t a = random.Uniform(64), b = a + random.Uniform(64 - a);
      bool meets = false;
      for (uint64_t i = a; i < b; ++i) meets |= read[i];
      // A range that holds no key that was read must not conflict: `read[a]` is false, so the assertion fails.
      if (!meets && reads.CheckAgainst(Range(key(a), key(b))).IsConflict()) {
        ASSERT_TRUE(a > 0 && b > a && read[a - 1] && read[a]) << round << " " << key(a) << " " << key(b);
      }
      if (meets) {
        ASSERT_TRUE(reads.CheckAgainst(Range(key(a), key(b))).IsConflict()) << round << " " << key(a) << " " << key(b);
      }
    }
  }
}

}  // namespace
}  // namespace mergedb::txn
