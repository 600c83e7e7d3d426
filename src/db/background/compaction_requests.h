// What decides how hard compactions work and what they are asked for:
//
//   urgency   the highest one that callers wait for; without callers, from the time since the last write
//   manual    the CompactRange call that has its turn; other calls wait
//   scan      the range of a tombstone-heavy scan, which found only deleted keys
//
// THREADS: any; a method named ...Locked needs the background mutex. Tests:
// tests/unit/db/compaction_requests_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "db/background/background_mutex.h"
#include "format/version_edit.h"
#include "mergedb/env.h"
#include "mergedb/status.h"
#include "picker/picker.h"

namespace mergedb::db {

class CompactionRequests {
 public:
  static constexpr uint64_t kQuietAfterNanos = 1'000'000'000;
  static constexpr uint64_t kIdleAfterNanos = 5'000'000'000;
  struct Manual {
    uint64_t id = 0;  // of the CompactRange call
    format::Bounds bounds;
    kv::Position newest{};
  };

  explicit CompactionRequests(Clock* clock) : clock_(clock) {}

  // True from NoteWriteLocked to the next tick, or to the end of a wait. The writes in between need not be noted.
  bool wrote() const { return wrote_.load(std::memory_order_relaxed); }
  void NoteWriteLocked() REQUIRES_LOCK(background_mutex);
  void TickLocked() REQUIRES_LOCK(background_mutex);
  uint64_t NanosSinceWriteLocked() const REQUIRES_LOCK(background_mutex) {
    return clock_->NowNanos() - last_write_nanos_;
  }
  picker::Urgency UrgencyLocked() const REQUIRES_LOCK(background_mutex);
  // Between the two calls, a caller waits for the state of this urgency.
  void AddWaiterLocked(picker::Urgency urgency) REQUIRES_LOCK(background_mutex) { wanted_.push_back(urgency); }
  void RemoveWaiterLocked(picker::Urgency urgency) REQUIRES_LOCK(background_mutex);
  // No caller waits, and no writes come: for a short time, or since a caller waited.
  bool IsAtRestLocked() const REQUIRES_LOCK(background_mutex);

  // Begins a CompactRange call. False: another call has its turn.
  bool TryBeginManualLocked(const format::Bounds& bounds, kv::Position newest) REQUIRES_LOCK(background_mutex);
  void EndManualLocked() REQUIRES_LOCK(background_mutex) { manual_ = std::nullopt; }
  const std::optional<Manual>& ManualLocked() const REQUIRES_LOCK(background_mutex) { return manual_; }
  // No work is left for call `id` or, if the status is an error, none that can be done. The call may have ended early,
  // and another call may have its turn.
  void NoteManualDoneLocked(uint64_t id, const Status& status = {}) REQUIRES_LOCK(background_mutex);
  bool ManualIsDoneLocked() const REQUIRES_LOCK(background_mutex) { return manual_is_done_; }
  const Status& ManualStatusLocked() const REQUIRES_LOCK(background_mutex) { return manual_status_; }

  // Takes at most one range for each value of `flushes`: tombstones in memtables must be in tables first. False: the
  // range is dropped.
  bool TryAddScanLocked(format::Bounds bounds, uint64_t flushes) REQUIRES_LOCK(background_mutex);
  void RemoveScanLocked() REQUIRES_LOCK(background_mutex) { scan_bounds_ = std::nullopt; }
  const std::optional<format::Bounds>& ScanLocked() const REQUIRES_LOCK(background_mutex) { return scan_bounds_; }

 private:
  Clock* const clock_;
  std::atomic<bool> wrote_{false};  // since the last tick

  uint64_t last_write_nanos_ GUARDED_BY(background_mutex) = 0;
  bool was_waited_for_ GUARDED_BY(background_mutex) = false;          // since the last write
  std::vector<picker::Urgency> wanted_ GUARDED_BY(background_mutex);  // urgencies that waiting callers ask for
  std::optional<Manual> manual_ GUARDED_BY(background_mutex);
  uint64_t manual_count_ GUARDED_BY(background_mutex) = 0;  // CompactRange calls so far
  bool manual_is_done_ GUARDED_BY(background_mutex) = false;
  Status manual_status_ GUARDED_BY(background_mutex);  // if it is done
  std::optional<format::Bounds> scan_bounds_ GUARDED_BY(background_mutex);
  uint64_t scan_flushes_ GUARDED_BY(background_mutex) = 0;  // at the last range that was taken
};

}  // namespace mergedb::db
