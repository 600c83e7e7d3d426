#include "env/latencies.h"

#include "env/file_reads.h"

namespace mergedb::env {
namespace {

// Threads that record seldom share one stripe.
size_t StripesOf(Operation operation) {
  switch (operation) {
    case Operation::kFlush:
    case Operation::kCompaction:
    case Operation::kWalSync: return 1;
    default: return 4;
  }
}

}  // namespace

Latencies::Latencies(Clock* clock) : clock_(clock) {
  for (size_t i = 0; i < kOperations; ++i)
    histograms_[i] = std::make_unique<base::Histogram>(StripesOf(static_cast<Operation>(i)));
  for (size_t i = 0; i < kStripes; ++i) {
    stripes_[i].random.store(static_cast<uint32_t>(i), std::memory_order_relaxed);
    for (auto& left : stripes_[i].left) left.store(Draw(stripes_[i], kSampleInterval), std::memory_order_relaxed);
  }
}

uint64_t Latencies::SampleIntervalOf(Operation operation) {
  switch (operation) {
    case Operation::kWrite:
    case Operation::kGet:
    case Operation::kMultiGet:
    case Operation::kIteratorSeek: return kSampleInterval;
    default: return 1;
  }
}

// A linear congruential generator; its high bits are the best.
uint32_t Latencies::Draw(Stripe& stripe, uint64_t limit) {
  const uint32_t random = stripe.random.load(std::memory_order_relaxed) * 1664525u + 1013904223u;
  stripe.random.store(random, std::memory_order_relaxed);
  return static_cast<uint32_t>((random * limit) >> 32);
}

void LatencyTimer::Finish(Latencies& latencies, Operation operation, uint64_t start_nanos, uint64_t waited) {
  const bool is_long = waited >= Latencies::kLongWaitNanos;
  const uint64_t nanos = start_nanos == 0 ? waited : latencies.NowNanos() - start_nanos;
  latencies.Record(operation, nanos, is_long ? 1 : Latencies::SampleIntervalOf(operation));
}

Status ReadMeasured(Latencies* latencies, File* file, uint64_t offset, size_t bytes, char* out) {
  if (latencies == nullptr) return ReadExactly(file, offset, bytes, out);
  const uint64_t start = latencies->NowNanos();
  Status status = ReadExactly(file, offset, bytes, out);
  latencies->RecordDeviceRead(latencies->NowNanos() - start, bytes);
  return status;
}

}  // namespace mergedb::env
