// Goal: count, mean, min and max are exact, percentiles are within 1/64, and merged histograms equal one
// histogram of all values.
#include "bench/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace mergedb::bench {
namespace {

using base::Random;

TEST(Histogram, OfNothingIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.Percentile(99), 0u);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 100; ++value) histogram.Add(value);
  EXPECT_EQ(histogram.min(), 1u);
  EXPECT_EQ(histogram.max(), 100u);
  EXPECT_EQ(histogram.mean(), 50.5);
  for (const uint64_t rank : {1, 25, 50, 99, 100}) EXPECT_EQ(histogram.Percentile(static_cast<double>(rank)), rank);
  EXPECT_EQ(histogram.Percentile(0), 1u);
}

TEST(Histogram, APercentileIsNeverTooLowNorMoreThanOneSixtyFourthTooHigh) {
  for (int shift = 0; shift < 64; ++shift) {
    for (const uint64_t add : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << shift) - 1}) {
      const uint64_t value = (uint64_t{1} << shift) + std::min(add, (uint64_t{1} << shift) - 1);
      Histogram histogram;
      histogram.Add(value);
      histogram.Add(UINT64_MAX);
      const uint64_t found = histogram.Percentile(50);
      ASSERT_GE(found, value);
      ASSERT_LE(found - value, value / 64) << value;
      ASSERT_EQ(histogram.Percentile(100), UINT64_MAX);
    }
  }
}

TEST(Histogram, AgreesWithSortingOnRandomValues) {
  const uint64_t seed = 7;
  SCOPED_TRACE(seed);
  Random random(seed);
  Histogram histogram;
  std::vector<uint64_t> values(10000);
  for (uint64_t& value : values) {
    value = random.Next() >> random.Uniform(60);
    histogram.Add(value);
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.01, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99}) {
    const auto rank = static_cast<size_t>(std::ceil(percent / 100 * 10000));
    const uint64_t truth = values[std::max<size_t>(rank, 1) - 1];
    EXPECT_GE(histogram.Percentile(percent), truth);
    EXPECT_LE(histogram.Percentile(percent) - truth, truth / 64);
  }
}

TEST(Histogram, MergingIsAddingEverythingToOne) {
  Random random(8);
  Histogram all, first, second;
  for (int n = 0; n < 1000; ++n) {
    const uint64_t value = random.Next() >> random.Uniform(64);
    all.Add(value);
    (n % 3 == 0 ? first : second).Add(value);
  }
  first.Merge(second);
  first.Merge(Histogram());
  EXPECT_EQ(first.count(), all.count());
  EXPECT_EQ(first.min(), all.min());
  EXPECT_EQ(first.max(), all.max());
  EXPECT_NEAR(first.mean(), all.mean(), all.mean() / 1e9);
  for (const double percent : {1.0, 50.0, 99.0}) EXPECT_EQ(first.Percentile(percent), all.Percentile(percent));
  first.Clear();
  EXPECT_EQ(first.count(), 0u);
}

TEST(Histogram, PrintsOneLine) {
  Histogram histogram;
  for (const uint64_t value : {1, 2, 3}) histogram.Add(value);
  EXPECT_EQ(histogram.ToString(), "count 3 mean 2.0 min 1 p50 2 p90 3 p99 3 p99.9 3 p99.99 3 max 3");
}

}  // namespace
}  // namespace mergedb::bench
