#include "picker/write_delay.h"

#include <algorithm>

namespace mergedb::picker {

namespace {

// The progress of a backlog from the share where it starts to count (0) to its maximum (1 and more).
double Progress(uint64_t backlog, uint64_t backlog_max, double start) {
  if (backlog_max == 0) return backlog == 0 ? 0.0 : 1.0;
  const double share = static_cast<double>(backlog) / static_cast<double>(backlog_max);
  return std::max(0.0, (share - start) / (1.0 - start));
}

// The maximum of the unflushed bytes is memtables_max (3) memtables. If a flush takes at most 1.25 times as
// long as a memtable takes to fill, the unflushed bytes stay below three quarters and delay no write.
constexpr double kStagedStart = 0.5;
constexpr double kUnflushedStart = 0.75;
constexpr double kRunsStart = 0.5;
constexpr double kUpperStart = 0.25;

// 0.4 ns a byte at a third of the way, 2 at half, 58 at nine tenths (17 MB/s), unbounded towards the end: for
// every speed of compactions there is a backlog at which writes have that speed.
constexpr double kNanosPerByte = 8.0;

struct NamedProgress {
  double progress;
  std::string_view name;
};
NamedProgress Worst(const Backlog& backlog) {
  const NamedProgress all[] = {
      {Progress(backlog.wal_bytes, backlog.wal_bytes_max, kStagedStart), "wal"},
      {Progress(backlog.uncommitted_wal_bytes, backlog.uncommitted_wal_bytes_max, kStagedStart), "commit"},
      {Progress(backlog.unflushed_bytes, backlog.unflushed_bytes_max, kUnflushedStart), "flush"},
      {Progress(backlog.runs, backlog.runs_max, kRunsStart), "runs"},
      {Progress(backlog.upper_bytes, backlog.upper_bytes_max, kUpperStart), "space"}};
  return *std::ranges::max_element(all, {}, &NamedProgress::progress);
}

}  // namespace

std::string_view WorstBacklog(const Backlog& backlog) { return Worst(backlog).name; }

uint64_t DelayNanos(const Backlog& backlog, uint64_t bytes, uint64_t write_delay_us_max) {
  const double worst = Worst(backlog).progress;
  const double nanos_max = static_cast<double>(write_delay_us_max) * 1000.0;
  if (worst <= 0.0) return 0;
  if (worst >= 1.0) return static_cast<uint64_t>(nanos_max);
  const double nanos = static_cast<double>(bytes) * kNanosPerByte * worst * worst * worst / (1.0 - worst);
  return static_cast<uint64_t>(std::min(nanos, nanos_max));
}

uint64_t RemovalRestNanos(uint64_t took_nanos, uint64_t backlog_bytes, uint64_t backlog_bytes_max) {
  constexpr uint64_t kQuickNanos = 1'000'000;  // the WAL's buffer holds many times as much
  constexpr double kRests = 3.0;
  if (took_nanos < kQuickNanos || backlog_bytes >= backlog_bytes_max) return 0;
  const double room = 1.0 - static_cast<double>(backlog_bytes) / static_cast<double>(backlog_bytes_max);
  return static_cast<uint64_t>(kRests * room * static_cast<double>(took_nanos));
}

}  // namespace mergedb::picker
