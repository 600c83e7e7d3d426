// Counts of values: latencies in nanoseconds, sizes in bytes. The buckets are log-linear, as in HDR histograms:
// 64 buckets per doubling. So a bucket is at most 1/64 (1.6 %) wide, and values up to 127 are exact.
//
//     0 1 2 ... 127 | 128,129 130,131 ... 254,255 | 256-259 ... | ...        up to 2^64 - 1
//
// Count, mean, min and max are exact. A percentile is the upper end of its bucket, so it is never less than
// the true value.
// THREADS: one thread at a time. Use one histogram per thread, then Merge.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mergedb::bench {

class Histogram {
 public:
  void Add(uint64_t value) {
    ++buckets_[BucketOf(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }
  void Merge(const Histogram& other);
  void Clear() { *this = Histogram(); }

  uint64_t count() const { return count_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // A value that `percent` of all values do not exceed; 0 for an empty histogram. REQUIRES: 0 <= percent <= 100.
  uint64_t Percentile(double percent) const;
  // "count 3 mean 2.0 min 1 p50 2 p90 3 p99 3 p99.9 3 p99.99 3 max 3"
  std::string ToString() const;

 private:
  static constexpr int kStepBits = 6;  // 64 buckets per doubling
  static constexpr size_t kBuckets = ((64 - kStepBits) << kStepBits) + (size_t{1} << kStepBits);

  static constexpr size_t BucketOf(uint64_t value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kStepBits - 1);
    return (static_cast<size_t>(shift) << kStepBits) + static_cast<size_t>(value >> shift);
  }
  static uint64_t LargestOf(size_t bucket);

  std::vector<uint64_t> buckets_ = std::vector<uint64_t>(kBuckets);
  uint64_t count_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace mergedb::bench
