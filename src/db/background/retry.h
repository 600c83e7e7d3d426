// The state of one kind of background work after a failure. The work is retried after a pause, which doubles from
// 0.1 s to 5 s with each failure in a row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mergedb/env.h"
#include "mergedb/status.h"

namespace mergedb::db {

struct Retry {
  Status status;             // OK: no work waits to be retried
  uint64_t began_nanos = 0;  // the start of the failed work
  uint64_t not_before_nanos = 0;
  uint64_t pause_nanos = 0;

  bool MayTry(Clock* clock) const { return status.ok() || clock->NowNanos() >= not_before_nanos; }

  void NoteFailure(const Status& failure, uint64_t began, uint64_t now) {
    constexpr uint64_t kFirstNanos = 100'000'000;
    constexpr uint64_t kLastNanos = 5'000'000'000;
    pause_nanos = std::clamp(2 * pause_nanos, kFirstNanos, kLastNanos);
    not_before_nanos = now + pause_nanos;
    began_nanos = began;
    status = failure;
  }
};

}  // namespace mergedb::db
