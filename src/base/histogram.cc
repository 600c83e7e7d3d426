#include "base/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <new>

#include "base/assert.h"

namespace mergedb::base {

static_assert(std::has_single_bit(HistogramCounts::kBucketsPerOctave));

// WHY value - 1: the upper bound of a bucket belongs to it.
size_t HistogramCounts::BucketOf(uint64_t value) {
  const uint64_t below = value == 0 ? 0 : value - 1;
  if (below < 2 * kBucketsPerOctave) return static_cast<size_t>(below);
  const int shift = static_cast<int>(std::bit_width(below)) - std::bit_width(kBucketsPerOctave);
  const size_t bucket = static_cast<size_t>(shift) * kBucketsPerOctave + static_cast<size_t>(below >> shift);
  return std::min(bucket, kBuckets - 1);
}

uint64_t HistogramCounts::UpperBound(size_t bucket) {
  if (bucket < 2 * kBucketsPerOctave) return bucket + 1;
  const size_t shift = bucket / kBucketsPerOctave - 1;
  const uint64_t head = bucket % kBucketsPerOctave + kBucketsPerOctave;
  return (head + 1) << shift;
}

uint64_t HistogramCounts::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double share = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_);
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(share)), 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen < rank) continue;
    if (i == kBuckets - 1) return max_;
    const uint64_t middle = LowerBound(i) + (UpperBound(i) - LowerBound(i) + 1) / 2;
    return std::min(middle, max_);
  }
  return max_;
}

uint64_t HistogramCounts::CountUpTo(int bits) const {
  const size_t last = BucketOf(uint64_t{1} << std::clamp(bits, 0, kBitsOfValueMax - 1));
  uint64_t count = 0;
  for (size_t i = 0; i <= last; ++i) count += buckets_[i];
  return count;
}

void HistogramCounts::Add(uint64_t upper, uint64_t count, uint64_t sum) {
  buckets_[BucketOf(upper)] += count;
  count_ += count;
  sum_ += sum;
  max_ = std::max(max_, upper);
}

// A stripe begins at a cache line of its own.
struct alignas(64) Histogram::Stripe {
  std::atomic<uint64_t> sum{0};
  std::atomic<uint64_t> max{0};
  std::array<std::atomic<uint64_t>, HistogramCounts::kBuckets> buckets{};
};

Histogram::Histogram(size_t stripes) : stripe_count_(stripes), stripes_(new std::atomic<Stripe*>[stripes]()) {
  ASSERT(stripes > 0, "a histogram has a stripe");
}

Histogram::~Histogram() {
  for (size_t i = 0; i < stripe_count_; ++i) delete stripes_[i].load();
}

// Of two threads that make the same stripe, one wins.
Histogram::Stripe* Histogram::MakeStripe(std::atomic<Stripe*>& place) {
  std::unique_ptr<Stripe> made(new (std::nothrow) Stripe);
  if (made == nullptr) return nullptr;
  Stripe* present = nullptr;
  return place.compare_exchange_strong(present, made.get()) ? made.release() : present;
}

// WHY relaxed, here and in Read: only statistics. The acquire pairs with MakeStripe.
void Histogram::Record(uint64_t value, uint64_t weight, size_t thread) {
  std::atomic<Stripe*>& place = stripes_[thread % stripe_count_];
  Stripe* found = place.load(std::memory_order_acquire);
  if (found == nullptr) [[unlikely]] {
    found = MakeStripe(place);
    if (found == nullptr) return;
  }
  Stripe& stripe = *found;
  stripe.buckets[HistogramCounts::BucketOf(value)].fetch_add(weight, std::memory_order_relaxed);
  stripe.sum.fetch_add(value * weight, std::memory_order_relaxed);
  uint64_t largest = stripe.max.load(std::memory_order_relaxed);
  while (value > largest && !stripe.max.compare_exchange_weak(largest, value, std::memory_order_relaxed)) {}
}

HistogramCounts Histogram::Read() const {
  HistogramCounts counts;
  for (size_t i = 0; i < stripe_count_; ++i) {
    const Stripe* const found = stripes_[i].load(std::memory_order_acquire);
    if (found == nullptr) continue;
    const Stripe& stripe = *found;
    for (size_t bucket = 0; bucket < HistogramCounts::kBuckets; ++bucket) {
      const uint64_t count = stripe.buckets[bucket].load(std::memory_order_relaxed);
      counts.buckets_[bucket] += count;
      counts.count_ += count;
    }
    counts.sum_ += stripe.sum.load(std::memory_order_relaxed);
    counts.max_ = std::max(counts.max_, stripe.max.load(std::memory_order_relaxed));
  }
  return counts;
}

}  // namespace mergedb::base
