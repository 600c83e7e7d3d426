// The counters of one benchmark thread, and the line that reports them. The line is LevelDB's, byte for byte:
//
//     fillrandom   :       2.436 micros/op;   45.4 MB/s (1000 ops)
//
// micros/op is thread time divided by operations: two threads at full speed show the same figure as one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/histogram.h"
#include "bench/measure.h"

namespace mergedb::bench {

enum class OpKind { kRead, kUpdate, kInsert, kScan, kReadModifyWrite };
inline constexpr size_t kOpKinds = 5;
std::string_view NameOf(OpKind kind);  // "read", "update", "insert", "scan", "rmw"

// The operations of one kind.
struct KindStats {
  int64_t ops = 0;
  int64_t found = 0;  // values that reads found, and entries of scans
  Histogram latencies;
};

class ThreadStats {
 public:
  void Start(bool times_each_op) {
    times_each_op_ = times_each_op;
    start_nanos_ = last_nanos_ = finish_nanos_ = NowNanos();
    __atomic_store_n(&done_, 0, __ATOMIC_RELAXED);
    bytes_ = user_bytes_ = 0;
    kinds_.clear();
  }
  void Stop() { finish_nanos_ = NowNanos(); }

  // Counts `count` operations that took effect together. Their one latency is the time since the previous call.
  void FinishedOps(int64_t count) {
    if (times_each_op_) {
      const uint64_t now = NowNanos();
      latencies_.Add(now - last_nanos_);
      last_nanos_ = now;
    }
    CountOps(count);
  }
  // Counts one operation, also among those of its kind. REQUIRES: all operations of the benchmark have a kind.
  void FinishedOp(OpKind kind, int64_t found) {
    const uint64_t now = times_each_op_ ? NowNanos() : 0;
    FinishedOp(kind, found, now - last_nanos_);
    if (times_each_op_) last_nanos_ = now;
  }
  // The same, with a latency that the caller has measured.
  void FinishedOp(OpKind kind, int64_t found, uint64_t nanos) {
    if (kinds_.empty()) kinds_.resize(kOpKinds);
    KindStats& stats = kinds_[static_cast<size_t>(kind)];
    ++stats.ops;
    stats.found += found;
    if (times_each_op_) {
      stats.latencies.Add(nanos);
      latencies_.Add(nanos);
    }
    CountOps(1);
  }
  // Counts operations whose latency is measured elsewhere or not at all.
  void CountOps(int64_t count) {
    // WHY relaxed: this thread is the only writer, and the sampler needs no order.
    __atomic_store_n(&done_, done_ + count, __ATOMIC_RELAXED);
  }
  void AddLatencies(const Histogram& nanos) { latencies_.Merge(nanos); }
  void AddBytes(int64_t bytes) { bytes_ += bytes; }
  // Counts bytes of keys, values and operands that the database was given to store.
  void AddUserBytes(int64_t bytes) { user_bytes_ += bytes; }
  void AddFound(int64_t found) { found_ += found; }
  void AddMessage(const std::string& message) { message_ += (message_.empty() ? "" : " ") + message; }
  // Subtracts waiting time at the end of the benchmark.
  void TakeOff(double seconds) { finish_nanos_ -= NanosOf(seconds); }
  void Merge(const ThreadStats& other);

  int64_t done() const { return __atomic_load_n(&done_, __ATOMIC_RELAXED); }
  int64_t bytes() const { return bytes_; }
  int64_t user_bytes() const { return user_bytes_; }
  int64_t found() const { return found_; }
  const std::string& message() const { return message_; }
  const Histogram& latencies() const { return latencies_; }
  // By OpKind; empty if the operations have no kinds.
  const std::vector<KindStats>& kinds() const { return kinds_; }
  double thread_seconds() const { return static_cast<double>(thread_nanos_ + finish_nanos_ - start_nanos_) * 1e-9; }
  double wall_seconds() const { return static_cast<double>(finish_nanos_ - start_nanos_) * 1e-9; }
  double micros_per_op() const { return thread_seconds() * 1e6 / static_cast<double>(done() < 1 ? 1 : done()); }

 private:
  bool times_each_op_ = false;
  int64_t done_ = 0;
  int64_t bytes_ = 0;
  int64_t user_bytes_ = 0;
  int64_t found_ = 0;
  uint64_t start_nanos_ = 0;
  uint64_t last_nanos_ = 0;
  uint64_t finish_nanos_ = 0;
  int64_t thread_nanos_ = 0;  // added to finish - start: the time of threads that ran at once
  std::string message_;
  Histogram latencies_;
  std::vector<KindStats> kinds_;
};

std::string ReportLine(const std::string& name, const ThreadStats& stats);
// One line for all operations and one for each kind of operations; empty if the operations have no kinds.
std::string KindLines(const ThreadStats& stats);
std::string HistogramText(const Histogram& latencies);

}  // namespace mergedb::bench
