// The latency histograms of one open database, and how operations are measured.
//
//     const env::LatencyTimer timer(latencies, env::Operation::kGet);     // measures until the end of the scope
//
// A put takes less than a microsecond and a clock reading 20 to 50 ns, so a timer measures only a sample:
//
//   - a call that waited for 50 us or more (thread_waits.h): every one, with weight 1. If the call is not in the
//     sample, its waits are its latency, without the time that it computed.
//   - other calls: one of about 64, at random, with weight 64.
//   - flushes, compactions, syncs of the WAL and reads of the device: every one.
//
// Error: a bucket adds at most 3.2 % (base/histogram.h). The rank of a quantile q of n sampled calls has the standard
// error sqrt(q (1 - q) / n): after a million gets, the p99.9 that is shown lies between the true p99.85 and p99.95 with
// a probability of 95 %. Slow calls nearly always wait, and these are counted in full.
//
// The sample depends only on the calls of the thread in this database, so a simulated run repeats.
//
// THREADS: any. Tests: tests/unit/env/latencies_test.cc.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/current.h"
#include "base/histogram.h"
#include "base/perf.h"
#include "base/thread_waits.h"
#include "mergedb/env.h"

namespace mergedb::env {

enum class Operation : uint8_t {
  kWrite,
  kGet,
  kMultiGet,
  kIteratorSeek,
  kFlush,
  kCompaction,
  kWalSync,
  kDeviceRead,
};
inline constexpr size_t kOperations = 8;

class Latencies {
 public:
  static constexpr uint64_t kSampleInterval = 64;
  static constexpr uint64_t kLongWaitNanos = 50'000;

  // `clock` outlives this object.
  explicit Latencies(Clock* clock);

  uint64_t NowNanos() const { return clock_->NowNanos(); }
  base::HistogramCounts Read(Operation operation) const { return HistogramOf(operation).Read(); }
  // The number of calls for which a call without a long wait stands.
  static uint64_t SampleIntervalOf(Operation operation);

  void Record(Operation operation, uint64_t nanos, uint64_t weight = 1) {
    HistogramOf(operation).Record(nanos, weight, base::ThreadNumber());
  }
  // Counts a read of the device, which is a wait of the calling thread.
  void RecordDeviceRead(uint64_t nanos, uint64_t bytes) {
    if (PerfContext* const perf = base::thread_perf) [[unlikely]] {
      ++perf->device_reads;
      perf->device_read_bytes += bytes;
      perf->device_read_nanos += nanos;
    }
    base::thread_waited_nanos += nanos;
    Record(Operation::kDeviceRead, nanos);
  }

  // True for one of about kSampleInterval calls. WHY a load and a store: two threads of one stripe may then count as
  // one, which changes the sample a little and costs less.
  bool IsSampled(Operation operation) {
    Stripe& stripe = stripes_[base::ThreadNumber() % kStripes];
    std::atomic<uint32_t>& left = stripe.left[static_cast<size_t>(operation)];
    const uint32_t calls = left.load(std::memory_order_relaxed);
    if (calls != 0) [[likely]] {
      left.store(calls - 1, std::memory_order_relaxed);
      return false;
    }
    left.store(Draw(stripe, 2 * kSampleInterval - 1), std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr size_t kStripes = 16;

  struct alignas(64) Stripe {
    std::array<std::atomic<uint32_t>, kOperations> left{};
    std::atomic<uint32_t> random{1};
  };

  base::Histogram& HistogramOf(Operation operation) const { return *histograms_[static_cast<size_t>(operation)]; }
  static uint32_t Draw(Stripe& stripe, uint64_t limit);  // 0 to limit - 1

  Clock* const clock_;
  std::array<std::unique_ptr<base::Histogram>, kOperations> histograms_;
  std::array<Stripe, kStripes> stripes_;
};

class LatencyTimer {
 public:
  LatencyTimer(Latencies& latencies, Operation operation)
      : latencies_(latencies),
        waited_before_(base::thread_waited_nanos),
        start_nanos_(latencies.IsSampled(operation) ? latencies.NowNanos() : 0),
        operation_(operation) {}
  // `sampled` is called if the call is in the sample, before the measured time begins.
  template <class Sampled>
  LatencyTimer(Latencies& latencies, Operation operation, const Sampled& sampled)
      : latencies_(latencies),
        waited_before_(base::thread_waited_nanos),
        start_nanos_(latencies.IsSampled(operation) ? (sampled(), latencies.NowNanos()) : 0),
        operation_(operation) {}
  LatencyTimer(const LatencyTimer&) = delete;
  LatencyTimer& operator=(const LatencyTimer&) = delete;
  ~LatencyTimer() {
    const uint64_t waited = base::thread_waited_nanos - waited_before_;
    if (start_nanos_ != 0 || waited >= Latencies::kLongWaitNanos) [[unlikely]]
      Finish(latencies_, operation_, start_nanos_, waited);
  }

 private:
  // WHY static: a member function needs the timer in memory, which costs each call several stores and loads.
  static void Finish(Latencies& latencies, Operation operation, uint64_t start_nanos, uint64_t waited);

  Latencies& latencies_;
  const uint64_t waited_before_;
  const uint64_t start_nanos_;  // 0: the call is not in the sample
  const Operation operation_;
};

// Reads exactly `bytes` bytes, as ReadExactly, and counts the time as a read of the device. `latencies` may be null.
[[nodiscard]] Status ReadMeasured(Latencies* latencies, File* file, uint64_t offset, size_t bytes, char* out);

}  // namespace mergedb::env
