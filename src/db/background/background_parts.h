// What background work uses of its database, and what it counts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/sync.h"
#include "blob/cache.h"
#include "compaction/outputs.h"
#include "db/state/events.h"
#include "db/state/manifest_committer.h"
#include "db/state/obsolete_files.h"
#include "db/state/options_check.h"
#include "db/state/recycled_files.h"
#include "db/state/snapshots.h"
#include "db/state/version_set.h"
#include "env/latencies.h"
#include "picker/compaction_pick.h"
#include "table/cache.h"
#include "write/write_delay.h"

namespace mergedb::db {

struct BackgroundParts {  // every referenced object must outlive Background::Stop
  const Options& options;
  const MemoryPlan& memory;
  const kv::Order& order;
  std::string directory;
  VersionSet& version_set;
  ManifestCommitter& committer;
  Snapshots& snapshots;
  table::Cache& tables;
  blob::Cache& values;
  env::Latencies& latencies;
  Events& events;
  Stalls& stalls;
  ObsoleteFiles& obsolete;
  RecycledFiles& recycled_files;
  write::WriteDelay& write_delay;
  const compaction::TableFactory& factory;
  const wal::CurrentWal& wal;
  std::function<void()> make_standby;                   // allocates the standby memtable
  std::function<void(bool is_worth_it)> flush_if_idle;  // WriteHost::BeginIdleFlush
};

// The key with the most versions in the memtable that was flushed last. THREADS: any.
class HotKey {
 public:
  void Set(std::string key) {
    base::Lock lock(mutex_);
    key_ = std::move(key);
  }
  std::string Get() const {
    base::Lock lock(mutex_);
    return key_;
  }

 private:
  mutable base::Mutex mutex_;
  std::string key_ GUARDED_BY(mutex_);
};

// Bytes that compactions wrote, by the reason of the compaction. THREADS: any.
class BytesByReason {
 public:
  // WHY relaxed, in all methods: only statistics.
  void Add(picker::CompactionReason reason, uint64_t bytes) {
    bytes_[static_cast<size_t>(reason)].fetch_add(bytes, std::memory_order_relaxed);
  }
  uint64_t Of(picker::CompactionReason reason) const {
    return bytes_[static_cast<size_t>(reason)].load(std::memory_order_relaxed);
  }
  uint64_t Total() const {
    uint64_t total = 0;
    for (const auto& each : bytes_) total += each.load(std::memory_order_relaxed);
    return total;
  }

 private:
  std::array<std::atomic<uint64_t>, picker::kCompactionReasons> bytes_{};
};

struct BackgroundCounters {
  std::atomic<uint64_t> flushes{0}, flush_bytes{0}, flush_nanos{0};
  std::atomic<uint64_t> flush_entries_in{0}, flush_entries_out{0}, flush_hot_key_entries{0};
  std::atomic<uint64_t> jobs{0}, moves{0}, jobs_failed{0};
  std::atomic<uint64_t> compaction_bytes_read{0}, compaction_bytes_unread{0}, compaction_entries_in{0},
      compaction_entries_out{0}, compaction_nanos{0};
  BytesByReason compaction_bytes_written;
  std::atomic<uint64_t> table_bytes_moved{0}, blob_bytes_moved{0};
  std::atomic<uint64_t> files_removed{0}, tombstone_scan_compactions{0};
  std::atomic<uint64_t> extra_run_visits{0}, read_compactions{0};
  std::atomic<uint64_t> scattered_value_bytes{0}, blob_order_compactions{0}, warmed_bytes{0};
  std::atomic<uint64_t> tombstone_scans{0}, tombstone_scan_entries{0};
  std::atomic<uint64_t> runs_max{0}, compactions_at_once_max{0};
};

}  // namespace mergedb::db
