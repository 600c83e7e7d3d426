#include "bench/stats.h"

#include <algorithm>
#include <cstdio>

namespace mergedb::bench {
namespace {

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

void ThreadStats::Merge(const ThreadStats& other) {
  const int64_t both =
      static_cast<int64_t>((finish_nanos_ - start_nanos_) + (other.finish_nanos_ - other.start_nanos_));
  thread_nanos_ += other.thread_nanos_;
  start_nanos_ = std::min(start_nanos_, other.start_nanos_);
  finish_nanos_ = std::max(finish_nanos_, other.finish_nanos_);
  thread_nanos_ += both - static_cast<int64_t>(finish_nanos_ - start_nanos_);
  done_ += other.done_;
  bytes_ += other.bytes_;
  user_bytes_ += other.user_bytes_;
  found_ += other.found_;
  latencies_.Merge(other.latencies_);
  if (message_.empty()) message_ = other.message_;
}

std::string ReportLine(const std::string& name, const ThreadStats& stats) {
  std::string extra;
  if (stats.bytes() > 0)
    extra = Format("%6.1f MB/s", static_cast<double>(stats.bytes()) / 1048576.0 / stats.wall_seconds());
  if (!stats.message().empty()) extra += (extra.empty() ? "" : " ") + stats.message();
  if (!extra.empty()) extra.insert(0, " ");
  return Format("%-12s : %11.3f micros/op;", name.c_str(), stats.micros_per_op()) + extra + "\n";
}

std::string HistogramText(const Histogram& latencies) {
  const auto micros = [&](double percent) { return static_cast<double>(latencies.Percentile(percent)) * 1e-3; };
  return Format("Microseconds per op:\nCount: %.0f  Average: %.4f\nMin: %.4f  Median: %.4f  Max: %.4f\n",
                static_cast<double>(latencies.count()), latencies.mean() * 1e-3,
                static_cast<double>(latencies.min()) * 1e-3, micros(50), static_cast<double>(latencies.max()) * 1e-3) +
         Format("Percentiles: P50: %.2f P75: %.2f P99: %.2f P99.9: %.2f P99.99: %.2f\n", micros(50), micros(75),
                micros(99), micros(99.9), micros(99.99));
}

}  // namespace mergedb::bench
