// The keys and values that every engine receives: LevelDB's, random sizes of values, and a zipfian choice of keys.
#include "bench/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(ValueSizes, AreThatOfTheFlagByDefault) {
  Flags flags;
  flags.value_size = 77;
  ValueSizes sizes(flags, 1);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(sizes.Next(), 77u);
  EXPECT_EQ(MeanValueBytes(flags), 77);
}

// Draws sizes and returns how many lie in each of `parts` equal parts of the range, after `scale`.
std::vector<int> CountSizes(const Flags& flags, int draws, double (*scale)(double)) {
  std::vector<int> counts(10);
  ValueSizes sizes(flags, 1001);
  const double low = scale(static_cast<double>(flags.value_size_min)),
               high = scale(static_cast<double>(flags.value_size_max));
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    const auto size = static_cast<double>(sizes.Next());
    EXPECT_GE(size, static_cast<double>(flags.value_size_min));
    EXPECT_LE(size, static_cast<double>(flags.value_size_max));
    sum += size;
    ++counts[std::min<size_t>(9, static_cast<size_t>((scale(size) - low) / (high - low) * 10))];
  }
  EXPECT_NEAR(sum / draws, MeanValueBytes(flags), MeanValueBytes(flags) * 0.02);
  return counts;
}

TEST(ValueSizes, UniformSizesFillEachPartOfTheRangeEqually) {
  Flags flags;
  flags.value_size_distribution = "uniform";
  flags.value_size_min = 1000;
  flags.value_size_max = 11000;
  for (const int count : CountSizes(flags, 100000, [](double size) { return size; })) EXPECT_NEAR(count, 10000, 300);
}

TEST(ValueSizes, MixedSizesFillEachDoublingEqually) {
  Flags flags;
  flags.value_size_distribution = "mixed";
  flags.value_size_min = 1000;
  flags.value_size_max = 1024000;  // ten doublings
  for (const int count : CountSizes(flags, 100000, [](double size) { return std::log2(size); }))
    EXPECT_NEAR(count, 10000, 300);
}

TEST(ValueSizes, TakeEachSizeOfASmallRange) {
  for (const char* distribution : {"uniform", "mixed"}) {
    Flags flags;
    flags.value_size_distribution = distribution;
    flags.value_size_min = 0;
    flags.value_size_max = 2;
    ValueSizes sizes(flags, 7);
    std::set<size_t> met;
    for (int i = 0; i < 1000; ++i) met.insert(sizes.Next());
    EXPECT_EQ(met, (std::set<size_t>{0, 1, 2})) << distribution;
  }
}

TEST(Numbers, LatestPrefersTheLargest) {
  Flags flags;
  flags.num = 1000;
  flags.distribution = "latest";
  NumberSource numbers(flags, false, 301);
  std::vector<int> counts(1000);
  for (int i = 0; i < 20000; ++i) ++counts.at(numbers.Next(i));
  EXPECT_GT(counts[999], counts[998]);
  EXPECT_GT(counts[998], counts[990]);
  EXPECT_GT(counts[990], counts[500]);
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

TEST(Permutation, HasEachNumberOnce) {
  for (const int64_t count : {1, 2, 3, 4, 5, 63, 64, 65, 1000, 4096, 100'000}) {
    for (const uint64_t seed : {1000, 1001}) {
      const Permutation numbers(count, seed);
      std::vector<bool> met(static_cast<size_t>(count));
      for (int64_t step = 0; step < count; ++step) {
        const uint64_t number = numbers.At(step);
        ASSERT_LT(number, static_cast<uint64_t>(count)) << count;
        ASSERT_FALSE(met[number]) << count;
        met[number] = true;
      }
    }
  }
}

// In random order, half of the steps ascend, and a step is a third of the range on average.
TEST(Permutation, IsInRandomOrder) {
  constexpr int64_t kCount = 1'000'000;
  const Permutation numbers(kCount, 1000);
  int64_t ascents = 0;
  double distances = 0;
  for (int64_t step = 1; step < kCount; ++step) {
    const auto before = static_cast<double>(numbers.At(step - 1)), now = static_cast<double>(numbers.At(step));
    ascents += now > before;
    distances += std::abs(now - before);
  }
  EXPECT_NEAR(static_cast<double>(ascents) / kCount, 0.5, 0.01);
  EXPECT_NEAR(distances / kCount / kCount, 1.0 / 3, 0.01);
}

TEST(Permutation, DependsOnTheSeed) {
  const Permutation one(1000, 1), two(1000, 2);
  int same = 0;
  for (int64_t step = 0; step < 1000; ++step) same += one.At(step) == two.At(step);
  EXPECT_LT(same, 20);
}

}  // namespace
}  // namespace mergedb::bench
