// The write delay, a pure function of the backlog: a write waits just as long as compactions need to keep up.
//
//   delay │                    ╭── write_delay_us_max
//         │                   ╱
//         │                _╱        bytes x 8 ns x p^3 / (1 - p)
//         └───────────────────────
//           0     start      max     p: progress of the largest backlog from its start (0) to its maximum (1)
//
// Only the backlog with the largest p counts. The sum would be wrong: one compaction or flush often reduces two
// backlogs. The delay has no threshold: where writes are as fast as compactions, the backlog stays constant. What else
// a put can wait for: docs/INTERNALS.md, Where a put waits.
#pragma once

#include <cstdint>
#include <string_view>

namespace mergedb::picker {

struct Backlog {
  uint64_t wal_bytes = 0;  // the WAL's backlog (Wal::backlog), against its maximum
  uint64_t wal_bytes_max = 0;
  uint64_t uncommitted_wal_bytes = 0;  // of the WAL, in tables that the MANIFEST does not name yet
  uint64_t uncommitted_wal_bytes_max = 0;
  uint64_t unflushed_bytes = 0;  // active and immutable memtables
  uint64_t unflushed_bytes_max = 0;
  uint64_t runs = 0;         // sorted runs
  uint64_t runs_max = 0;     // where the delay reaches its maximum
  uint64_t upper_bytes = 0;  // bytes on disk, from where they begin to count to the limit of picker.h
  uint64_t upper_bytes_max = 0;
};

// Nanoseconds that a write of `bytes` waits: 0 without a backlog, at most `write_delay_us_max`. Continuous and
// monotonic: a larger backlog or more `bytes` never shortens the delay.
uint64_t DelayNanos(const Backlog& backlog, uint64_t bytes, uint64_t write_delay_us_max);

// The backlog with the largest p, which alone decides the delay: "wal", "commit", "flush", "runs" or "space".
std::string_view WorstBacklog(const Backlog& backlog);

// Nanoseconds to pause after the removal of an obsolete file that took `took_nanos`, with `backlog_bytes`
// left to remove.
// WHY: on a file system that discards freed blocks (mount option `discard`) the disk serves nothing else
// during a removal, and many removals in a row starve the WAL. At most three times `took_nanos`; 0 if the
// removal was quick or the backlog is at its maximum.
// MEASURED: db_bench openloop --rate=1000000, 100 B, 40 s, ext4 mounted with discard: the latest put 300-455
// ms without the pause, 10-83 ms with it.
uint64_t RemovalRestNanos(uint64_t took_nanos, uint64_t backlog_bytes, uint64_t backlog_bytes_max);

}  // namespace mergedb::picker
