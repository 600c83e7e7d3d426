#include "bench/histogram.h"

#include <cmath>
#include <cstdio>

#include "base/assert.h"

namespace mergedb::bench {

void Histogram::Merge(const Histogram& other) {
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) buckets_[bucket] += other.buckets_[bucket];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::LargestOf(size_t bucket) {
  if (bucket < size_t{2} << kStepBits) return bucket;
  const size_t shift = (bucket >> kStepBits) - 1;
  const uint64_t top = bucket - (shift << kStepBits);  // the first 7 bits of the bucket's values
  return (top << shift) + ((uint64_t{1} << shift) - 1);
}

uint64_t Histogram::Percentile(double percent) const {
  ASSERT(percent >= 0 && percent <= 100, "a percentile lies in [0, 100]");
  if (count_ == 0) return 0;
  const double rank = std::max(1.0, std::ceil(percent / 100 * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (static_cast<double>(seen) >= rank) return std::clamp(LargestOf(bucket), min_, max_);
  }
  return max_;
}

std::string Histogram::ToString() const {
  char text[256];
  std::snprintf(text, sizeof text, "count %llu mean %.1f min %llu", static_cast<unsigned long long>(count_), mean(),
                static_cast<unsigned long long>(min()));
  std::string line = text;
  for (const double percent : {50.0, 90.0, 99.0, 99.9, 99.99}) {
    std::snprintf(text, sizeof text, " p%g %llu", percent, static_cast<unsigned long long>(Percentile(percent)));
    line += text;
  }
  return line + " max " + std::to_string(max_);
}

}  // namespace mergedb::bench
