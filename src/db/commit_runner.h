// Brings the MANIFEST up to date (ManifestCommitter::Commit): before other tasks if it lags too far or if a caller waits for
// it, and otherwise if there is nothing else to do, at most ten times a second.
//
// THREADS: any; a method named ...Locked needs the mutex of the scheduler.
#pragma once

#include <cstdint>

#include "db/background_parts.h"
#include "db/background_scheduler.h"
#include "db/write_controller.h"

namespace mergedb::db {

class CommitRunner {
 public:
  CommitRunner(const BackgroundParts& parts, BackgroundScheduler& scheduler, WriteController& controller)
      : parts_(parts), scheduler_(scheduler), controller_(controller), mutex_(scheduler.mutex()) {}

  BackgroundScheduler::Task NextUrgentLocked() REQUIRES_LOCK(mutex_);
  BackgroundScheduler::Task NextLocked() REQUIRES_LOCK(mutex_);
  void WantCommitLocked() REQUIRES_LOCK(mutex_) { is_wanted_ = true; }
  void WantUrgentCommitLocked() REQUIRES_LOCK(mutex_) { is_urgent_ = true; }
  bool IsCommittingLocked() const REQUIRES_LOCK(mutex_) { return is_committing_; }

 private:
  bool MayBeginLocked() const REQUIRES_LOCK(mutex_);
  bool IsOverdueLocked() const REQUIRES_LOCK(mutex_);
  BackgroundScheduler::Task BeginLocked() REQUIRES_LOCK(mutex_);
  void Commit();

  const BackgroundParts& parts_;
  BackgroundScheduler& scheduler_;
  WriteController& controller_;

  base::Mutex& mutex_;  // of the scheduler
  bool is_committing_ GUARDED_BY(mutex_) = false;
  bool is_wanted_ GUARDED_BY(mutex_) = false;  // as soon as there is nothing else to do
  bool is_urgent_ GUARDED_BY(mutex_) = false;  // before any step of a compaction
  uint64_t last_commit_nanos_ GUARDED_BY(mutex_) = 0;
};

}  // namespace mergedb::db
