// Turns obsolete files (db/state/obsolete_files.h) into recycled files (db/state/recycled_files.h), and removes
// recycled files beyond the bound, the oldest first.
//
// The bound is RecycledFiles::kCountMax files, and the bytes that the WriteController allows while writes come, or for
// the present urgency once the tree is idle; 0 if the disk is full. While writes come, a slow removal is followed by a
// rest (picker/write_delay.h), since removals delay other disk access.
//
// THREADS: any; a method named ...Locked needs the background mutex.
#pragma once

#include <cstdint>

#include "db/background/background_parts.h"
#include "db/background/background_scheduler.h"
#include "db/background/compaction_requests.h"
#include "db/background/compaction_runner.h"
#include "db/background/write_controller.h"

namespace mergedb::db {

class ObsoleteFilePurger {
 public:
  ObsoleteFilePurger(const BackgroundParts& parts, BackgroundScheduler& scheduler, const CompactionRequests& requests,
                     const CompactionRunner& compactions, const WriteController& controller,
                     BackgroundCounters& counters);

  BackgroundScheduler::Task NextLocked() REQUIRES_LOCK(background_mutex);
  // Recycles or removes files now.
  bool IsPurgingLocked() const REQUIRES_LOCK(background_mutex) { return is_running_; }
  // No obsolete file is left, and recycled files are within the bound of this urgency.
  bool IsDoneLocked(picker::Urgency urgency) const REQUIRES_LOCK(background_mutex);

 private:
  void Recycle();
  void RemoveRecycled();
  bool MayRecycleLocked() const REQUIRES_LOCK(background_mutex);
  bool HasExcessLocked() const REQUIRES_LOCK(background_mutex);
  uint64_t ExcessBytesLocked() const REQUIRES_LOCK(background_mutex);
  uint64_t RecycledBytesMaxLocked(picker::Urgency urgency) const REQUIRES_LOCK(background_mutex);

  const BackgroundParts& parts_;
  Clock* const clock_;
  BackgroundScheduler& scheduler_;
  const CompactionRequests& requests_;
  const CompactionRunner& compactions_;
  const WriteController& controller_;
  BackgroundCounters& counters_;

  bool is_running_ GUARDED_BY(background_mutex) = false;
  uint64_t removal_not_before_nanos_ GUARDED_BY(background_mutex) = 0;
};

}  // namespace mergedb::db
