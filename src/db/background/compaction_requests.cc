#include "db/background/compaction_requests.h"

#include <algorithm>

namespace mergedb::db {

void CompactionRequests::NoteWriteLocked() {
  wrote_.store(true, std::memory_order_relaxed);
  last_write_nanos_ = clock_->NowNanos();
  was_waited_for_ = false;
}

void CompactionRequests::TickLocked() {
  if (!wrote_.exchange(false, std::memory_order_relaxed)) return;
  last_write_nanos_ = clock_->NowNanos();
  was_waited_for_ = false;
}

picker::Urgency CompactionRequests::UrgencyLocked() const {
  if (!wanted_.empty()) return *std::max_element(wanted_.begin(), wanted_.end());
  const uint64_t since = NanosSinceWriteLocked();
  return since < kQuietAfterNanos  ? picker::Urgency::kWriting
         : since < kIdleAfterNanos ? picker::Urgency::kQuiet
                                   : picker::Urgency::kIdle;
}

void CompactionRequests::RemoveWaiterLocked(picker::Urgency urgency) {
  wanted_.erase(std::find(wanted_.begin(), wanted_.end(), urgency));
  TickLocked();  // the writes so far came before or during the wait
  was_waited_for_ = true;
}

bool CompactionRequests::IsAtRestLocked() const {
  return wanted_.empty() && (was_waited_for_ || UrgencyLocked() != picker::Urgency::kWriting);
}

bool CompactionRequests::TryBeginManualLocked(const format::Bounds& bounds, kv::Position newest) {
  if (manual_) return false;
  manual_ = Manual{.id = ++manual_count_, .bounds = bounds, .newest = newest};
  manual_is_done_ = false;
  return true;
}

void CompactionRequests::NoteManualDoneLocked(uint64_t id, const Status& status) {
  if (!manual_ || manual_->id != id) return;
  manual_is_done_ = true;
  manual_status_ = status;
}

bool CompactionRequests::TryAddScanLocked(format::Bounds bounds, uint64_t flushes) {
  if (scan_bounds_ || scan_flushes_ == flushes) return false;
  scan_flushes_ = flushes;
  scan_bounds_ = std::move(bounds);
  return true;
}

}  // namespace mergedb::db
