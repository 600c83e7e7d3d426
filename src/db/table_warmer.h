// Reads tables and blob files into the page cache, if no writes come, no compaction runs and no caller waits for
// compactions: each file once. Flushes and compactions write large files past the page cache.
//
// The files of the database are read up to 4 times memory_bytes. Files that were written since the open are read beyond
// that, into half of the memory that nobody uses: an engine that writes through the page cache has them there. Files that
// were there at the open are read only if all of them fit into that half: otherwise the page cache would drop them
// again, and the reads of the caller would wait for the device.
//
// THREADS: any; a method named ...Locked needs the mutex of the scheduler.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "db/background_parts.h"
#include "db/background_scheduler.h"
#include "db/compaction_requests.h"
#include "db/compaction_runner.h"

namespace mergedb::db {

class TableWarmer {
 public:
  TableWarmer(const BackgroundParts& parts, base::Mutex& mutex, const CompactionRequests& requests,
              const CompactionRunner& compactions, BackgroundCounters& counters);

  // Of the page cache, which is shared with other programs.
  static uint64_t BytesMax(const Options& options) { return 4 * options.memory_bytes; }

  BackgroundScheduler::Task NextLocked() REQUIRES_LOCK(mutex_);

 private:
  // The room that is left in one Warm.
  struct Budget {
    uint64_t of_all;
    uint64_t of_new;   // for files that were written since the open
    bool takes_old;    // files that were there at the open
    uint64_t of_step;  // the rest is read by the next Warm
  };

  void Warm();
  // Bytes of the files that were there at the open and that no Warm has considered.
  uint64_t OldBytes(const version::Version& version) const;
  // True if the file, which is not warm, should be read now.
  bool Takes(uint64_t number, uint64_t bytes, Budget* budget);

  const BackgroundParts& parts_;
  const CompactionRequests& requests_;
  const CompactionRunner& compactions_;
  BackgroundCounters& counters_;
  const uint64_t first_new_;           // number of the first file that is written after the open
  std::unordered_set<uint64_t> warm_;  // numbers of files that were considered; only Warm uses it

  base::Mutex& mutex_;                          // of the scheduler
  uint64_t generation_ GUARDED_BY(mutex_) = 0;  // CompactionRunner::IdleGenerationLocked at the last Warm
  bool is_warming_ GUARDED_BY(mutex_) = false;
  bool has_more_ GUARDED_BY(mutex_) = false;  // the last Warm left files for the next one
};

}  // namespace mergedb::db
