// Turns obsolete files (db/state/obsolete_files.h) into recycled files (db/state/recycled_files.h), and removes
// recycled files beyond the bound, the oldest first.
//
// The bound is RecycledFiles::kCountMax files, and the bytes that the WriteController allows while writes come, or for
// the present urgency once the tree is idle (not with Options::keep_space_at_rest); 0 if the disk is full. While writes
// come, a slow removal is followed by a rest (picker/write_delay.h), since removals delay other disk access. At the
// space bound obsolete files are removed and not recycled.
//
// THREADS: any; a method named ...Locked needs the background mutex.
#pragma once

#include <cstdint>

#include "db/background/background_state.h"
#include "db/background/compaction_runner.h"

namespace mergedb::db {

class ObsoleteFilePurger {
 public:
  ObsoleteFilePurger(BackgroundState& state, const CompactionRunner& compactions)
      : state_(state), store_(state.store), tree_(state.tree), clock_(state.clock()), compactions_(compactions) {}

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

  BackgroundState& state_;
  Store& store_;
  Tree& tree_;
  Clock* const clock_;
  const CompactionRunner& compactions_;

  bool is_running_ GUARDED_BY(background_mutex) = false;
  uint64_t removal_not_before_nanos_ GUARDED_BY(background_mutex) = 0;
};

}  // namespace mergedb::db
