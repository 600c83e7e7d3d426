#include "db/background/write_controller.h"

#include <algorithm>

#include "picker/write_delay.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kPublicationBytesMax = uint64_t{64} << 20;
constexpr uint64_t kFlushesPerPublication = 8;
// Number of sorted runs at which the write delay reaches its maximum.
constexpr uint64_t kRunsMax = 128;

}  // namespace

WriteController::WriteController(const Options& options, const MemoryPlan& memory, const Gauges& gauges,
                                 write::WriteDelay& write_delay)
    : options_(options),
      memory_(memory),
      gauges_(gauges),
      write_delay_(write_delay),
      publication_bytes_(std::min<uint64_t>(kPublicationBytesMax, kFlushesPerPublication * memory.memtable_bytes)) {}

void WriteController::UpdateTree(const read::SuperVersion& super_version, picker::PickInput input) {
  input.urgency = picker::Urgency::kQuiet;
  allowed_quiet_bytes_.store(picker::BytesAllowed(input), std::memory_order_relaxed);
  input.urgency = picker::Urgency::kWriting;
  runs_.store(input.version.runs().size(), std::memory_order_relaxed);
  limit_bytes_.store(picker::SpaceLimit(input), std::memory_order_relaxed);
  bytes_.store(input.version.bytes() + input.version.record_bytes(), std::memory_order_relaxed);
  collected_bytes_max_.store(picker::CollectedBytesMax(input.version), std::memory_order_relaxed);
  upper_bytes_max_.store(picker::BytesOverBoundMax(input), std::memory_order_relaxed);
  UpdateDelay(super_version);
}

void WriteController::UpdateDelay(const read::SuperVersion& super_version) {
  const uint64_t unflushed =
      super_version.immutable.size() * memory_.memtable_bytes + super_version.active->bytes_used();
  const auto wal = gauges_.wal.Get();
  const picker::Backlog backlog{.wal_bytes = wal->backlog(),
                                .wal_bytes_max = wal->unwritten_bytes_max(),
                                .uncommitted_wal_bytes = gauges_.version_set.UncommittedWalBytes(),
                                .uncommitted_wal_bytes_max = memory_.uncommitted_wal_bytes_max,
                                .unflushed_bytes = unflushed,
                                .unflushed_bytes_max = UnflushedBytesMax(),
                                .runs = runs_.load(std::memory_order_relaxed),
                                .runs_max = kRunsMax,
                                .upper_bytes = UpperBytes(),
                                .upper_bytes_max = upper_bytes_max_.load(std::memory_order_relaxed)};
  const uint64_t rate = picker::DelayNanos(backlog, 1024, options_.write_delay_us_max);
  write_delay_.SetRate(rate);
  gauges_.stalls.NoteDelay(rate, picker::WorstBacklog(backlog));
}

// The delay reaches its maximum where the memtables that are full still have room below the limit.
uint64_t WriteController::UpperBytes() const {
  const uint64_t unreleased = gauges_.version_set.unreleased_bytes();
  const uint64_t unpurged = gauges_.obsolete.unpurged_bytes();
  const uint64_t bytes =
      bytes_.load(std::memory_order_relaxed) + unreleased + unpurged +
      std::max(output_bytes_max_.load(std::memory_order_relaxed), collected_bytes_max_.load(std::memory_order_relaxed));
  const uint64_t above = upper_bytes_max_.load(std::memory_order_relaxed) + UnflushedBytesMax();
  const uint64_t limit = limit_bytes();
  if (limit == 0) return 0;  // no flush or compaction has ended since the open
  return bytes - std::min(bytes, limit - std::min(limit, above));
}

bool WriteController::IsFull() const {
  const uint64_t bytes = UpperBytes();
  return bytes > 0 && bytes >= upper_bytes_max_.load(std::memory_order_relaxed);
}

// The room that the space bound leaves. 0 if no writes are expected soon (kIdle).
uint64_t WriteController::RecycledBytesMax(picker::Urgency urgency, uint64_t other_bytes) const {
  const auto room = [&](const std::atomic<uint64_t>& allowed_bytes) {
    const uint64_t allowed = allowed_bytes.load(std::memory_order_relaxed);
    return allowed - std::min(allowed, other_bytes);
  };
  switch (urgency) {
    case picker::Urgency::kWriting: {
      const uint64_t left = room(limit_bytes_);
      return left - std::min(left, output_bytes_.load(std::memory_order_relaxed) + UnflushedBytesMax());
    }
    case picker::Urgency::kQuiet: return room(allowed_quiet_bytes_);
    case picker::Urgency::kIdle: return 0;
  }
  return 0;
}

uint64_t WriteController::RemovalRestNanos(uint64_t took_nanos, uint64_t backlog_bytes) const {
  return picker::RemovalRestNanos(took_nanos, backlog_bytes, upper_bytes_max_.load(std::memory_order_relaxed) / 4);
}

}  // namespace mergedb::db
