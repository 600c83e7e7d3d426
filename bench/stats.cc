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

std::string KindLine(std::string_view name, int64_t ops, const Histogram& latencies, double seconds) {
  const auto micros = [&](double percent) { return static_cast<double>(latencies.Percentile(percent)) * 1e-3; };
  std::string line = Format("  %-10s : %11lld ops; %11.0f ops/s", std::string(name).c_str(),
                            static_cast<long long>(ops), seconds > 0 ? static_cast<double>(ops) / seconds : 0);
  if (latencies.count() > 0) {
    line +=
        Format("; p50 %.2f, p99 %.2f, p99.9 %.2f, p99.99 %.2f us", micros(50), micros(99), micros(99.9), micros(99.99));
  }
  return line;
}

}  // namespace

std::string_view NameOf(OpKind kind) {
  constexpr std::string_view kNames[kOpKinds] = {"read", "update", "insert", "scan", "rmw"};
  return kNames[static_cast<size_t>(kind)];
}

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
  if (kinds_.size() < other.kinds_.size()) kinds_.resize(other.kinds_.size());
  for (size_t kind = 0; kind < other.kinds_.size(); ++kind) {
    kinds_[kind].ops += other.kinds_[kind].ops;
    kinds_[kind].found += other.kinds_[kind].found;
    kinds_[kind].latencies.Merge(other.kinds_[kind].latencies);
  }
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

std::string KindLines(const ThreadStats& stats) {
  if (stats.kinds().empty()) return {};
  const double seconds = stats.wall_seconds();
  std::string lines = KindLine("all", stats.done(), stats.latencies(), seconds) + "\n";
  for (size_t i = 0; i < stats.kinds().size(); ++i) {
    const auto kind = static_cast<OpKind>(i);
    const KindStats& of_kind = stats.kinds()[i];
    if (of_kind.ops == 0) continue;
    lines += KindLine(NameOf(kind), of_kind.ops, of_kind.latencies, seconds);
    if (kind == OpKind::kScan) lines += "; " + std::to_string(of_kind.found) + " entries";
    if (kind == OpKind::kRead || kind == OpKind::kReadModifyWrite)
      lines += "; " + std::to_string(of_kind.found) + " found";
    lines += "\n";
  }
  return lines;
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
