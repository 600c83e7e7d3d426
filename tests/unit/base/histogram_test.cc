// Goal: a histogram loses no value, its buckets have the stated relative error, and its quantiles are those of the
// values. Method: every limit of a bucket; sorted values beside the histogram; threads that record at the same time.
#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/random.h"

namespace mergedb::base {
namespace {

using Counts = HistogramCounts;

TEST(HistogramBuckets, JoinWithoutGapAndStayWithinTheError) {
  EXPECT_EQ(Counts::BucketOf(0), 0u);
  EXPECT_EQ(Counts::LowerBound(0), 0u);
  for (size_t i = 0; i < Counts::kBuckets; ++i) {
    SCOPED_TRACE(i);
    const uint64_t lower = Counts::LowerBound(i), upper = Counts::UpperBound(i);
    ASSERT_LT(lower, upper);
    EXPECT_EQ(Counts::BucketOf(lower + 1), i);
    EXPECT_EQ(Counts::BucketOf(upper), i);
    EXPECT_EQ(Counts::BucketOf(upper + 1), std::min(i + 1, Counts::kBuckets - 1));
    EXPECT_LE(upper - lower, std::max<uint64_t>(1, (lower + 1) / 16));
  }
  EXPECT_EQ(Counts::UpperBound(Counts::kBuckets - 1), uint64_t{1} << Counts::kBitsOfValueMax);
  EXPECT_EQ(Counts::BucketOf(UINT64_MAX), Counts::kBuckets - 1);
  for (int bits = 0; bits <= Counts::kBitsOfValueMax; ++bits) {
    const uint64_t power = uint64_t{1} << bits;
    EXPECT_EQ(Counts::UpperBound(Counts::BucketOf(power)), power) << "Prometheus' le is inclusive";
  }
}

// The file LIVE has two buckets as one.
TEST(HistogramCounts, WithNeighboursJoinedHaveTheSameCountsUpToPowersOfTwo) {
  constexpr uint64_t kSeed = 12;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  Histogram histogram(1);
  for (size_t i = 0; i < 10'000; ++i) histogram.Record(random.Next() >> (24 + random.Next() % 40), 3, 0);
  const Counts counts = histogram.Read();
  Counts joined;
  for (size_t i = 0; i < Counts::kBuckets; i += 2) {
    const uint64_t count = counts.buckets()[i] + counts.buckets()[i + 1];
    if (count > 0) joined.Add(Counts::UpperBound(i + 1), count, joined.count() == 0 ? counts.sum() : 0);
  }
  EXPECT_EQ(joined.count(), counts.count());
  EXPECT_EQ(joined.sum(), counts.sum());
  for (int bits = 1; bits < Counts::kBitsOfValueMax; ++bits)
    EXPECT_EQ(joined.CountUpTo(bits), counts.CountUpTo(bits)) << bits;
  EXPECT_GE(joined.max(), counts.max());
  EXPECT_LE(joined.max(), counts.max() + counts.max() / 8);
}

TEST(Histogram, IsEmptyAtFirst) {
  const Counts counts = Histogram(2).Read();
  EXPECT_EQ(counts.count(), 0u);
  EXPECT_EQ(counts.Quantile(0.999), 0u);
  EXPECT_EQ(counts.max(), 0u);
  EXPECT_EQ(counts.CountUpTo(36), 0u);
}

TEST(Histogram, HasTheQuantilesOfItsValues) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  Histogram histogram(3);
  std::vector<uint64_t> values;
  uint64_t sum = 0;
  for (size_t i = 0; i < 100'000; ++i) {
    const uint64_t value = random.Next() >> (24 + random.Next() % 40);  // all magnitudes up to 2^40
    values.push_back(value);
    sum += value;
    histogram.Record(value, 1, i);
  }
  std::ranges::sort(values);
  const Counts counts = histogram.Read();
  EXPECT_EQ(counts.count(), values.size());
  EXPECT_EQ(counts.sum(), sum);
  EXPECT_EQ(counts.max(), values.back());
  for (const double quantile : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double share = std::ceil(quantile * static_cast<double>(values.size()));
    const auto rank = static_cast<size_t>(std::max(1.0, share));
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(counts.Quantile(quantile)), exact, exact / 31 + 1) << quantile;
  }
  for (const int bits : {0, 7, 20, 36}) {
    const auto expected = std::ranges::upper_bound(values, uint64_t{1} << bits) - values.begin();
    EXPECT_EQ(counts.CountUpTo(bits), static_cast<uint64_t>(expected));
  }
}

TEST(Histogram, WeighsSampledValues) {
  Histogram histogram(1);
  histogram.Record(100, 64, 0);
  histogram.Record(1'000'000, 1, 7);
  const Counts counts = histogram.Read();
  EXPECT_EQ(counts.count(), 65u);
  EXPECT_EQ(counts.sum(), 1'006'400u);
  EXPECT_EQ(counts.max(), 1'000'000u);
  EXPECT_NEAR(static_cast<double>(counts.Quantile(0.5)), 100, 4);
  EXPECT_NEAR(static_cast<double>(counts.Quantile(1)), 1e6, 1e6 / 31);
}

TEST(Histogram, KeepsValuesAboveTheLastBucket) {
  Histogram histogram(1);
  histogram.Record(UINT64_MAX / 2, 1, 0);
  const Counts counts = histogram.Read();
  EXPECT_EQ(counts.buckets().back(), 1u);
  EXPECT_EQ(counts.Quantile(0.5), UINT64_MAX / 2);
  EXPECT_EQ(counts.CountUpTo(39), 0u);
}

TEST(Histogram, LosesNothingOfManyThreads) {
  constexpr size_t kThreads = 8, kEach = 20'000;
  Histogram histogram(3);  // fewer stripes than threads
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&histogram, thread] {
      for (size_t i = 0; i < kEach; ++i) histogram.Record(1 + i, 2, thread);
    });
  }
  while (histogram.Read().count() < kThreads * kEach) {}  // readings while others record
  for (std::thread& each : threads) each.join();
  const Counts counts = histogram.Read();
  EXPECT_EQ(counts.count(), 2 * kThreads * kEach);
  EXPECT_EQ(counts.sum(), 2 * kThreads * (kEach * (kEach + 1) / 2));
  EXPECT_EQ(counts.max(), kEach);
}

}  // namespace
}  // namespace mergedb::base
