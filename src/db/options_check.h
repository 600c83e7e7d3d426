// Options as given -> options that hold, and the memory they are worth. Contradictions are InvalidArgument with the reason.
#pragma once

#include <cstddef>

#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb::db {

// How `memory_bytes` is spent. The unflushed part (staging, active, sealed and standby memtables) is at most twice
// write_buffer_bytes; the cache has the rest.
//
//   |<------------------ 2 x write_buffer_bytes ------------------>|
//   | staging ring | memtable active | sealed | sealed or standby  |   block cache ...   |
struct MemoryPlan {
  size_t write_buffer_bytes = 0;
  size_t staging_bytes = 0;
  size_t undrained_bytes_max = 0;  // of what is staged; a synced commit pays for them
  size_t memtable_bytes = 0;       // each; arena and index
  size_t memtables_max = 3;        // active, sealed and standby together
  size_t block_cache_bytes = 0;
  size_t segment_bytes = 0;    // of a log segment
  size_t log_quota_bytes = 0;  // log kept for tables not yet in the MANIFEST
};

// Fill in what is null or 0 and check the rest.
Status CheckOptions(Options* options);
MemoryPlan PlanMemory(const Options& options);  // REQUIRES: checked

}  // namespace mergedb::db
