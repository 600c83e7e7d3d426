// PerfContext: where the time of calls goes. A thread turns it on for the calls in a scope:
//
//     mergedb::PerfContext perf;
//     {
//       const mergedb::PerfScope scope(&perf);
//       status = db->Get({}, key, &value);
//     }
//     std::cout << perf.runs_visited << " runs, " << perf.device_reads << " reads\n";
//
// The calls of the scope add up. Without a scope the database counts nothing, which costs one branch at each place.
// THREADS: a scope counts the calls of its own thread. Scopes of one thread nest; the innermost one counts.
#pragma once

#include <cstdint>

#include "mergedb/export.h"

namespace mergedb {

struct PerfContext {
  // Writes. A follower of a group waits in the queue while the leader commits its write.
  uint64_t queue_wait_nanos = 0;  // for other writers
  uint64_t wal_nanos = 0;         // to append to the WAL and to sync it, with the waits for room
  uint64_t memtable_nanos = 0;    // to add to the memtable
  // All waits: the queue, the write delay, memory, disk space, syncs and reads of files.
  uint64_t wait_nanos = 0;
  // Reads.
  uint64_t memtables_searched = 0;
  uint64_t runs_visited = 0;     // sorted runs with a table whose keys span the key
  uint64_t filters_checked = 0;  // bloom filters that were asked
  uint64_t filters_useful = 0;   // of these: said that the table does not have the key
  uint64_t block_cache_hits = 0;
  uint64_t block_cache_misses = 0;
  uint64_t device_reads = 0;  // reads of files for blocks and blob values; the page cache of the system may have them
  uint64_t device_read_bytes = 0;
  uint64_t device_read_nanos = 0;
  uint64_t tombstones_skipped =
      0;  // entries that an iterator passed over: tombstones, and versions that are deleted or old
};

class MERGEDB_EXPORT PerfScope {
 public:
  // `context` outlives the scope. The calls add to what it holds.
  explicit PerfScope(PerfContext* context);
  ~PerfScope();
  PerfScope(const PerfScope&) = delete;
  PerfScope& operator=(const PerfScope&) = delete;

 private:
  PerfContext* const before_;
  PerfContext* const context_;
  const uint64_t waited_before_;
};

}  // namespace mergedb
