// A histogram of latencies in nanoseconds. Recording takes no lock: threads add to one of several stripes of counters,
// and a reader adds the stripes up.
//
//   value      1  2 ... 16 | 17  18 ... 32 | 33-34  35-36 ... 63-64 | 65-68 ... | ... 2^40
//   bucket     0  1 ... 15 | 16  17 ... 31 |   32     33        47  |   48      |
//
// A bucket holds the values of (lower, upper]. Up to 32 each value has a bucket of its own. Above, sixteen buckets
// share the range between two powers of two, so that a bucket's middle differs from each of its values by at most
// 1/32 (3.2 %) of the value. A power of two is an upper bound of a bucket, as Prometheus' "le" asks for. The last
// bucket also holds all values above 2^40 ns (18 minutes); `sum` and `max` have them in full.
//
// A stripe takes 5 KB, and is allocated with its first value: an operation that a program does not use takes no memory.
//
// A sampled value has a weight: the number of values for which it stands.
//
// Tests: tests/unit/base/histogram_test.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mergedb::base {

// The counts of a histogram at one moment. A plain value.
class HistogramCounts {
 public:
  static constexpr int kBitsOfValueMax = 40;
  static constexpr size_t kBucketsPerOctave = 16;
  static constexpr size_t kBuckets = kBucketsPerOctave * (kBitsOfValueMax - 3);

  static size_t BucketOf(uint64_t value);
  static uint64_t UpperBound(size_t bucket);
  static uint64_t LowerBound(size_t bucket) { return bucket == 0 ? 0 : UpperBound(bucket - 1); }

  HistogramCounts() : buckets_(kBuckets, 0) {}

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t max() const { return max_; }  // exact, of the recorded values
  const std::vector<uint64_t>& buckets() const { return buckets_; }

  // The value below or at which the share `quantile` (0 to 1) of all values lies: the middle of its bucket, at most
  // `max`. 0 if there are no values.
  uint64_t Quantile(double quantile) const;
  // The number of values up to 2^bits.
  uint64_t CountUpTo(int bits) const;
  // Counts `count` values of the bucket whose upper bound is `upper`, or of several neighbours of which it is the last.
  // `sum` is that of these values; the maximum becomes at least `upper`.
  void Add(uint64_t upper, uint64_t count, uint64_t sum);

 private:
  friend class Histogram;

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

// THREADS: any.
class Histogram {
 public:
  explicit Histogram(size_t stripes);
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;
  ~Histogram();

  // `thread` chooses the stripe: base::ThreadNumber(). The value is lost if there is no memory for a new stripe.
  void Record(uint64_t value, uint64_t weight, size_t thread);
  // While other threads record, the reading may have a part of a value's counts.
  HistogramCounts Read() const;

 private:
  struct Stripe;
  Stripe* MakeStripe(std::atomic<Stripe*>& place);

  const size_t stripe_count_;
  const std::unique_ptr<std::atomic<Stripe*>[]> stripes_;  // null: no value yet
};

}  // namespace mergedb::base
