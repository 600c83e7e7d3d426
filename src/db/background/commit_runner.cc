#include "db/background/commit_runner.h"

#include <algorithm>

namespace mergedb::db {
namespace {

constexpr uint64_t kIntervalNanos = 100'000'000;  // while nothing urgent waits for a commit

}  // namespace

BackgroundScheduler::Task CommitRunner::NextFirstLocked() {
  if (!MayBeginLocked()) return nullptr;
  const bool is_due = IsOverdueLocked() || (is_wanted_first_ && tree_.version_set.HasUncommitted());
  return is_due ? BeginLocked() : nullptr;
}

BackgroundScheduler::Task CommitRunner::NextLocked() {
  if (!MayBeginLocked() || !tree_.version_set.HasUncommitted()) return nullptr;
  const bool is_due = is_wanted_ || state_.clock()->NowNanos() - last_commit_nanos_ >= kIntervalNanos;
  return is_due ? BeginLocked() : nullptr;
}

bool CommitRunner::MayBeginLocked() const {
  return !is_committing_ && state_.scheduler.MayTryLocked(BackgroundScheduler::Work::kCommits);
}

bool CommitRunner::IsOverdueLocked() const {
  if (!tree_.version_set.HasUncommitted()) return false;
  const uint64_t obsolete_bytes = tree_.version_set.uncommitted_obsolete_bytes();
  // WHY an eighth of the WAL buffer: until the commit the buffer keeps these bytes, beside those of the memtables.
  const size_t wal_bytes_max = std::min(store_.memory.wal_quota_bytes / 2, store_.memory.wal_buffer_bytes / 8);
  return tree_.version_set.UncommittedWalBytes() > wal_bytes_max ||
         obsolete_bytes > std::max<uint64_t>(store_.memory.wal_quota_bytes, store_.obsolete->bytes_on_disk() / 32);
}

BackgroundScheduler::Task CommitRunner::BeginLocked() {
  is_committing_ = true;
  return [this] { Commit(); };
}

void CommitRunner::Commit() {
  Clock* const clock = state_.clock();
  const uint64_t start = clock->NowNanos();
  const Status status = tree_.committer.Commit();
  state_.controller.UpdateDelay(*tree_.version_set.Current());
  BackgroundLock lock(state_.scheduler.mutex());
  state_.scheduler.NoteOutcomeLocked(BackgroundScheduler::Work::kCommits, start, status);
  last_commit_nanos_ = clock->NowNanos();
  is_wanted_ = false;
  is_wanted_first_ = false;
  is_committing_ = false;
}

}  // namespace mergedb::db
