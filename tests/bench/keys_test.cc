// The keys and values that every engine receives: LevelDB's, and a zipfian choice of keys.
#include "bench/keys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

namespace mergedb::bench {
namespace {

TEST(Keys, AreSixteenDigitsAsInLevelDb) {
  KeyMaker key{Flags{}};
  EXPECT_EQ(key.Set(0), "0000000000000000");
  EXPECT_EQ(key.Set(1234567890123456), "1234567890123456");
  EXPECT_EQ(key.Set(42), "0000000000000042");
}

TEST(Keys, FollowPrefixAndSize) {
  Flags flags;
  flags.key_prefix = 2;
  flags.key_size = 4;
  KeyMaker key(flags);
  EXPECT_EQ(key.Set(17), "aa0017");
}

TEST(Keys, AreWhatPrintfMakesOfTheNumber) {
  LehmerRandom random(7);
  for (const int size : {1, 7, 8, 9, 15, 16, 20, 24}) {
    Flags flags;
    flags.key_size = size;
    KeyMaker key(flags);
    for (int i = 0; i < 2000; ++i) {
      const uint64_t number = (uint64_t{random.Next()} << 31 | random.Next()) >> random.Uniform(62);
      char digits[32];
      std::snprintf(digits, sizeof digits, "%030llu", static_cast<unsigned long long>(number));
      ASSERT_EQ(key.Set(number), std::string(digits).substr(30 - static_cast<size_t>(size)));
    }
  }
}

TEST(Keys, GeneratorIsTheMinimalStandardOne) {
  LehmerRandom random(1);
  for (int i = 0; i < 9999; ++i) random.Next();
  EXPECT_EQ(random.Next(), 1043618065u);  // Park and Miller 1988: the 10,000th number from seed 1
}

TEST(Values, RepeatAsMuchAsTheRatioSays) {
  const std::string bytes = MakeValueBytes(0.5, 100);
  EXPECT_GE(bytes.size(), size_t{1} << 20);
  ValueSource values(bytes);
  const std::string value(values.Next(100));
  EXPECT_EQ(value.substr(0, 50), value.substr(50));
  EXPECT_NE(values.Next(100), value);
}

TEST(Values, MayBeLongerThanTheUsualPool) {
  const std::string bytes = MakeValueBytes(1, 3 << 20);
  ValueSource values(bytes);
  EXPECT_EQ(values.Next(3 << 20).size(), size_t{3} << 20);
  EXPECT_EQ(values.Next(3 << 20).size(), size_t{3} << 20);
}

TEST(Zipfian, FirstRanksComeAsOftenAsTheLawSays) {
  constexpr int kDraws = 200000;
  const Zipfian zipfian(1000, 0.99);
  LehmerRandom random(301);
  std::vector<int> counts(1000);
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<size_t>(zipfian.NextRank(&random))];
  double sum = 0;
  for (int rank = 1; rank <= 1000; ++rank) sum += std::pow(rank, -0.99);
  for (int rank : {1, 2, 5, 20}) {
    const double expected = kDraws * std::pow(rank, -0.99) / sum;
    EXPECT_NEAR(counts[static_cast<size_t>(rank - 1)], expected, expected * 0.06) << rank;
  }
}

TEST(Zipfian, ScatterIsAPermutation) {
  const Zipfian zipfian(1000, 0.99);
  std::set<int64_t> numbers;
  for (int64_t rank = 0; rank < 1000; ++rank) numbers.insert(zipfian.Scatter(rank));
  EXPECT_EQ(numbers.size(), 1000u);
  EXPECT_GE(*numbers.begin(), 0);
  EXPECT_LT(*numbers.rbegin(), 1000);
}

}  // namespace
}  // namespace mergedb::bench
