// Brings the MANIFEST up to date (ManifestCommitter::Commit): before other tasks if it lags too far, if a caller waits
// for a flush, or near the space bound; otherwise when no compaction has a step to run: at once if a caller waits for
// compactions, else at most ten times a second.
//
// THREADS: any; a method named ...Locked needs the background mutex.
#pragma once

#include <cstdint>

#include "db/background/background_state.h"

namespace mergedb::db {

class CommitRunner {
 public:
  explicit CommitRunner(BackgroundState& state) : state_(state), store_(state.store), tree_(state.tree) {}

  BackgroundScheduler::Task NextFirstLocked() REQUIRES_LOCK(background_mutex);
  BackgroundScheduler::Task NextLocked() REQUIRES_LOCK(background_mutex);
  void WantCommitLocked() REQUIRES_LOCK(background_mutex) { is_wanted_ = true; }
  void WantCommitFirstLocked() REQUIRES_LOCK(background_mutex) { is_wanted_first_ = true; }
  bool IsCommittingLocked() const REQUIRES_LOCK(background_mutex) { return is_committing_; }

 private:
  bool MayBeginLocked() const REQUIRES_LOCK(background_mutex);
  bool IsOverdueLocked() const REQUIRES_LOCK(background_mutex);
  BackgroundScheduler::Task BeginLocked() REQUIRES_LOCK(background_mutex);
  void Commit();

  BackgroundState& state_;
  Store& store_;
  Tree& tree_;

  bool is_committing_ GUARDED_BY(background_mutex) = false;
  bool is_wanted_ GUARDED_BY(background_mutex) = false;        // as soon as no compaction has a step to run
  bool is_wanted_first_ GUARDED_BY(background_mutex) = false;  // before any step of a compaction
  uint64_t last_commit_nanos_ GUARDED_BY(background_mutex) = 0;
};

}  // namespace mergedb::db
