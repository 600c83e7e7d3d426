#include "picker/write_delay.h"

#include <algorithm>

namespace mergedb::picker {

namespace {

// How far a debt is on its way from where it begins to matter (0) to its maximum (1 and more).
double Progress(uint64_t backlog, uint64_t debt_max, double start) {
  if (debt_max == 0) return backlog == 0 ? 0.0 : 1.0;
  const double share = static_cast<double>(backlog) / static_cast<double>(debt_max);
  return std::max(0.0, (share - start) / (1.0 - start));
}

// Unflushed bytes reach their maximum with one memtable sealed and the active one full: a flush that takes half of the
// time that a memtable takes to fill stays below three quarters, and costs nothing.
constexpr double kStagedStart = 0.5;
constexpr double kUnflushedStart = 0.75;
constexpr double kRunsStart = 0.5;
constexpr double kUpperStart = 0.25;

// 0.3 ns a byte a third of the way, 2 half way, 58 at nine tenths (17 MB/s), without limit towards the end: wherever the
// merges' speed lies, there is a debt at which puts have just that speed.
constexpr double kNanosPerByte = 8.0;

}  // namespace

uint64_t DelayNanos(const Backlog& backlog, uint64_t bytes, uint64_t pause_us_max) {
  const double worst = std::max({Progress(backlog.staged_bytes, backlog.staging_bytes_max, kStagedStart),
                                 Progress(backlog.unflushed_bytes, backlog.unflushed_bytes_max, kUnflushedStart),
                                 Progress(backlog.runs, backlog.runs_max, kRunsStart),
                                 Progress(backlog.upper_bytes, backlog.upper_bytes_max, kUpperStart)});
  const double nanos_max = static_cast<double>(pause_us_max) * 1000.0;
  if (worst <= 0.0) return 0;
  if (worst >= 1.0) return static_cast<uint64_t>(nanos_max);
  const double nanos = static_cast<double>(bytes) * kNanosPerByte * worst * worst * worst / (1.0 - worst);
  return static_cast<uint64_t>(std::min(nanos, nanos_max));
}

uint64_t RemovalRestNanos(uint64_t took_nanos, uint64_t backlog_bytes, uint64_t backlog_bytes_max) {
  constexpr uint64_t kQuickNanos = 1'000'000;  // the log has room for many times that
  constexpr double kRests = 3.0;
  if (took_nanos < kQuickNanos || backlog_bytes >= backlog_bytes_max) return 0;
  const double room = 1.0 - static_cast<double>(backlog_bytes) / static_cast<double>(backlog_bytes_max);
  return static_cast<uint64_t>(kRests * room * static_cast<double>(took_nanos));
}

}  // namespace mergedb::picker
