// Checks the caller's options, fills in defaults, and divides the memory. Contradictions are InvalidArgument
// with the reason.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "mergedb/options.h"
#include "mergedb/result.h"

namespace mergedb::db {

// How `memory_bytes` is divided. The unflushed part (active, immutable and standby memtables) is at most twice
// write_buffer_bytes. The block cache gets the rest.
//
//   |<-------------- 2 x write_buffer_bytes ------------->|
//   | active memtable | immutable | immutable or standby  |   block cache ...   |
//
// The WAL buffer lies in the page cache, beside memory_bytes. It holds the frames of all unflushed writes and of some
// flushes that the MANIFEST does not name yet, so that the WAL of a flushed memtable need not be written.
struct MemoryPlan {
  size_t write_buffer_bytes = 0;
  size_t wal_buffer_bytes = 0;
  size_t unwritten_bytes_max = 0;  // in the WAL buffer, not yet in a segment, while commits are synced
  size_t memtable_bytes = 0;       // each; arena and index
  size_t memtables_max = 3;        // active, immutable and standby together
  size_t block_cache_bytes = 0;
  size_t segment_bytes = 0;              // of a WAL segment
  size_t wal_quota_bytes = 0;            // of WAL segments
  size_t uncommitted_wal_bytes_max = 0;  // of the WAL, in tables that the MANIFEST does not name yet
};

// Replaces null and 0 by defaults and checks the other fields.
Status CheckOptions(Options* options);
// InvalidArgument if the path has a null byte, where the file system would end it.
Status CheckPath(const std::string& path);
// Makes `checked` reach files through FileSystem::Bind of the directory `path`. The caller keeps the result as long as
// `checked` is used. Null: the file system does not bind, and `checked` is unchanged.
Result<std::unique_ptr<FileSystem>> BindDirectory(Options* checked, const std::string& path);
MemoryPlan PlanMemory(const Options& options);  // REQUIRES: CheckOptions was OK

}  // namespace mergedb::db
