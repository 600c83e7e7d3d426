// What background work counts; metrics show it (db/observe/metrics.cc). THREADS: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "picker/compaction_pick.h"

namespace mergedb::db {

// A counter for each reason of a compaction.
class CountersByReason {
 public:
  // WHY relaxed, in all methods: only statistics.
  void Add(picker::CompactionReason reason, uint64_t count) {
    counts_[static_cast<size_t>(reason)].fetch_add(count, std::memory_order_relaxed);
  }
  uint64_t Of(picker::CompactionReason reason) const {
    return counts_[static_cast<size_t>(reason)].load(std::memory_order_relaxed);
  }
  uint64_t Total() const {
    uint64_t total = 0;
    for (const auto& each : counts_) total += each.load(std::memory_order_relaxed);
    return total;
  }

 private:
  std::array<std::atomic<uint64_t>, picker::kCompactionReasons> counts_{};
};

struct BackgroundCounters {
  std::atomic<uint64_t> flushes{0}, flush_bytes{0}, flush_nanos{0};
  std::atomic<uint64_t> flush_entries_in{0}, flush_entries_out{0}, flush_hot_key_entries{0};
  std::atomic<uint64_t> jobs{0}, moves{0}, jobs_failed{0};
  std::atomic<uint64_t> compaction_bytes_read{0}, compaction_bytes_unread{0}, compaction_entries_in{0},
      compaction_entries_out{0}, compaction_nanos{0};
  CountersByReason compactions_begun, compaction_bytes_written;
  std::atomic<uint64_t> table_bytes_moved{0}, blob_bytes_moved{0};
  std::atomic<uint64_t> files_removed{0}, extra_run_visits{0};
  std::atomic<uint64_t> scattered_value_bytes{0}, warmed_bytes{0};
  std::atomic<uint64_t> tombstone_scans{0}, tombstone_scan_entries{0};
  std::atomic<uint64_t> runs_max{0}, compactions_at_once_max{0};
};

}  // namespace mergedb::db
