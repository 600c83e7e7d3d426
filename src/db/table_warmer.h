// Reads tables and blob files into the page cache, if no writes come and no compaction runs: each file once, up to
// 4 times memory_bytes. Compactions write large files past the page cache.
//
// THREADS: any; a method named ...Locked needs the mutex of the scheduler.
#pragma once

#include <atomic>
#include <cstdint>

#include "db/background_parts.h"
#include "db/background_scheduler.h"
#include "db/compaction_requests.h"
#include "db/compaction_runner.h"

namespace mergedb::db {

class TableWarmer {
 public:
  TableWarmer(const BackgroundParts& parts, base::Mutex& mutex, const CompactionRequests& requests,
              const CompactionRunner& compactions)
      : parts_(parts), requests_(requests), compactions_(compactions), mutex_(mutex) {}

  // Of the page cache, which is shared with other programs.
  static uint64_t BytesMax(const Options& options) { return 4 * options.memory_bytes; }

  BackgroundScheduler::Task NextLocked() REQUIRES_LOCK(mutex_);

 private:
  void Warm();

  const BackgroundParts& parts_;
  const CompactionRequests& requests_;
  const CompactionRunner& compactions_;
  std::atomic<uint64_t> warmed_below_{0};  // files with smaller numbers need no warming

  base::Mutex& mutex_;                          // of the scheduler
  uint64_t generation_ GUARDED_BY(mutex_) = 0;  // CompactionRunner::IdleGenerationLocked at the last Warm
};

}  // namespace mergedb::db
