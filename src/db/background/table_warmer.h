// Reads tables and blob files into the page cache, if no writes come, no compaction runs and no caller of
// WaitForCompactions waits: each file once, the newest first. Flushes and compactions write large tables past the page
// cache, and large blob files, too, if it has no room for them (db/state/page_cache_room.h).
//
// The files that were read and still exist have at most 4 times memory_bytes together; or half of the memory that was
// free before they were read, if that is more, for files that were written since the open: an engine that writes
// through the page cache has them there. Files that were there at the open are read only if all of them fit into half
// of the free memory: otherwise the page cache would drop them again, and the reads of the caller would wait for the
// device. A read-only open reads nothing.
//
// THREADS: any; a method named ...Locked needs the background mutex.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "db/background/background_state.h"
#include "db/background/compaction_runner.h"

namespace mergedb::db {

class TableWarmer {
 public:
  TableWarmer(BackgroundState& state, const CompactionRunner& compactions);

  // Of the page cache, which is shared with other programs.
  static uint64_t BytesMax(const Options& options) { return 4 * options.memory_bytes; }

  BackgroundScheduler::Task NextLocked() REQUIRES_LOCK(background_mutex);

 private:
  using Numbers = std::unordered_set<uint64_t>;  // of tables and blob files
  // Bytes that one Warm may still read.
  struct Room {
    uint64_t of_old;   // in files that were there at the open
    uint64_t of_new;   // in files that were written since
    uint64_t of_step;  // the next Warm reads the rest
  };

  void Warm();
  Room FindRoom(const version::Version& version);
  // True if the file, which was not considered before, should be read now.
  bool Takes(uint64_t number, uint64_t bytes, Room* room);

  BackgroundState& state_;
  Store& store_;
  Tree& tree_;
  const CompactionRunner& compactions_;
  const uint64_t first_new_;  // number of the first file that is written after the open

  // Only Warm uses these, one at a time. Of files that still exist:
  Numbers considered_;
  Numbers read_;
  std::optional<bool> reads_old_;  // set by the first Warm

  uint64_t generation_ GUARDED_BY(background_mutex) = 0;  // CompactionRunner::IdleGenerationLocked at the last Warm
  bool is_warming_ GUARDED_BY(background_mutex) = false;
  bool has_more_ GUARDED_BY(background_mutex) = false;  // the last Warm left files for the next one
};

}  // namespace mergedb::db
