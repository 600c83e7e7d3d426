#include "db/write_controller.h"

#include <algorithm>
#include <utility>

#include "picker/write_delay.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kReleaseBytesMax = uint64_t{64} << 20;
constexpr uint64_t kFlushesPerRelease = 8;
// Number of sorted runs at which the write delay reaches its maximum.
constexpr uint64_t kRunsMax = 128;

}  // namespace

WriteController::WriteController(const Options& options, const MemoryPlan& memory,
                                 std::function<uint64_t()> wal_backlog, write::WriteDelay& write_delay)
    : options_(options),
      memory_(memory),
      wal_backlog_(std::move(wal_backlog)),
      write_delay_(write_delay),
      release_bytes_(std::min<uint64_t>(kReleaseBytesMax, kFlushesPerRelease * memory.memtable_bytes)) {}

void WriteController::UpdateTree(const read::SuperVersion& super_version, picker::PickInput input) {
  input.urgency = picker::Urgency::kQuiet;
  allowed_quiet_bytes_.store(picker::BytesAllowed(input), std::memory_order_relaxed);
  input.urgency = picker::Urgency::kWriting;
  runs_.store(input.version.runs().size(), std::memory_order_relaxed);
  allowed_bytes_.store(picker::BytesAllowed(input), std::memory_order_relaxed);
  upper_bytes_.store(picker::BytesOverBound(input), std::memory_order_relaxed);
  upper_bytes_max_.store(picker::BytesOverBoundMax(input), std::memory_order_relaxed);
  UpdateDelay(super_version);
}

void WriteController::UpdateDelay(const read::SuperVersion& super_version) {
  const uint64_t unflushed =
      super_version.immutable.size() * memory_.memtable_bytes + super_version.active->bytes_used();
  const picker::Backlog backlog{.wal_bytes = wal_backlog_(),
                                .wal_bytes_max = memory_.unwritten_bytes_max,
                                .unflushed_bytes = unflushed,
                                .unflushed_bytes_max = memory_.memtables_max * memory_.memtable_bytes,
                                .runs = runs_.load(std::memory_order_relaxed),
                                .runs_max = kRunsMax,
                                .upper_bytes = upper_bytes_.load(std::memory_order_relaxed),
                                .upper_bytes_max = upper_bytes_max_.load(std::memory_order_relaxed)};
  write_delay_.SetRate(picker::DelayNanos(backlog, 1024, options_.write_delay_us_max));
}

// The room that the space bound leaves, but while writes come at least release_bytes_: a compaction releases that much
// at once and writes as much before its next release. 0 if no writes are expected soon (kIdle).
uint64_t WriteController::RecycledBytesMax(picker::Urgency urgency, uint64_t other_bytes) const {
  const auto room = [&](const std::atomic<uint64_t>& allowed_bytes) {
    const uint64_t allowed = allowed_bytes.load(std::memory_order_relaxed);
    return allowed - std::min(allowed, other_bytes);
  };
  switch (urgency) {
    case picker::Urgency::kWriting: return std::max(release_bytes_, room(allowed_bytes_));
    case picker::Urgency::kQuiet: return room(allowed_quiet_bytes_);
    case picker::Urgency::kIdle: return 0;
  }
  return 0;
}

uint64_t WriteController::RemovalRestNanos(uint64_t took_nanos, uint64_t backlog_bytes) const {
  return picker::RemovalRestNanos(took_nanos, backlog_bytes, upper_bytes_max_.load(std::memory_order_relaxed) / 4);
}

}  // namespace mergedb::db
