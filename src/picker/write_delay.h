// From debt to delay: how long a put waits so that throughput glides to what merging sustains. Numbers in, numbers out.
//
//   delay │                    ╭── pause_us_max
//         │                   ╱
//         │                _╱        bytes x 8 ns x p^3 / (1 - p), p: the way from where the worst debt starts to count
//         └───────────────────────   to its maximum
//           0     start      max
//
// The worst debt rules: two debts do not add up, since the same merge or flush often pays both. There is no trigger at
// which puts stop or start: where putting is as fast as merging, the debt stays where it is.
#pragma once

#include <cstdint>

namespace mergedb::picker {

struct Backlog {
  uint64_t staged_bytes = 0;  // staged, not yet drained, beside the most that may be
  uint64_t staging_bytes_max = 0;
  uint64_t unflushed_bytes = 0;  // active and sealed memtables
  uint64_t unflushed_bytes_max = 0;
  uint64_t runs = 0;         // sorted runs
  uint64_t runs_max = 0;     // where the delay reaches its maximum
  uint64_t upper_bytes = 0;  // bytes above what the space bound allows now: BytesOverBound() of picker.h
  uint64_t upper_bytes_max = 0;
};

// Nanoseconds that a put of `bytes` waits; 0 while there is no debt; at most `pause_us_max`. Continuous, and never
// less when a debt or `bytes` is more.
uint64_t DelayNanos(const Backlog& backlog, uint64_t bytes, uint64_t pause_us_max);

// Nanoseconds that the removal of dead files rests after one that took `took_nanos`, with `backlog_bytes` more to remove. WHY: on a
// disk that is told of freed blocks (a mount with `discard`) nothing else is served while a file goes, and a train of them starves
// the log. Never more than three times what the removal took; 0 when it was quick, or the backlog has reached its maximum.
// MEASURED: db_bench openloop --rate=1000000, 100 B, 40 s, ext4 mounted with discard: the latest put 300-455 ms without the rest, 10-83 ms with it.
uint64_t RemovalRestNanos(uint64_t took_nanos, uint64_t backlog_bytes, uint64_t backlog_bytes_max);

}  // namespace mergedb::picker
