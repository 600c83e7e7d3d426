#include "db/background/obsolete_file_purger.h"

#include <algorithm>
#include <utility>

namespace mergedb::db {
namespace {

using Work = BackgroundScheduler::Work;

void TellRemoved(Events& events, const format::DataFile& file, bool is_recycled) {
  events.Emit(EventKind::kFileRemoved, [&] {
    EventFields fields = FileFields(file);
    fields.push_back(NumberField("recycled", is_recycled));
    return fields;
  });
}

}  // namespace

BackgroundScheduler::Task ObsoleteFilePurger::NextLocked() {
  if (is_running_) return nullptr;
  if (MayRecycleLocked()) {
    is_running_ = true;
    return [this] { Recycle(); };
  }
  if (HasExcessLocked() && state_.scheduler.MayTryLocked(Work::kRemovals) &&
      (clock_->NowNanos() >= removal_not_before_nanos_ ||
       state_.requests.UrgencyLocked() != picker::Urgency::kWriting)) {
    is_running_ = true;
    return [this] { RemoveRecycled(); };
  }
  return nullptr;
}

bool ObsoleteFilePurger::IsDoneLocked(picker::Urgency urgency) const {
  return !store_.obsolete->HasAny() && !is_running_ && tree_.recycled_files.count() <= RecycledFiles::kCountMax &&
         tree_.recycled_files.bytes() <= RecycledBytesMaxLocked(urgency);
}

// A file that cannot be recycled is removed. WHY also a file at the space bound: recycled, it would be removed next.
void ObsoleteFilePurger::Recycle() {
  const uint64_t start = clock_->NowNanos();
  Status failure;
  for (const auto& file : store_.obsolete->Take()) {
    store_.Evict(file.number);
    if (!state_.controller.IsFull() && !tree_.committer.SyncHasFailed(file.number) && tree_.recycled_files.Keep(file)) {
      store_.obsolete->NotePurged(file);
      TellRemoved(store_.events, file, true);
      continue;
    }
    Status status = store_.options.env.file_system->Remove(file.PathIn(store_.directory));
    if (status.ok() || status.IsNotFound()) {
      store_.obsolete->NotePurged(file);
      store_.obsolete->Removed(file);
      TellRemoved(store_.events, file, false);
      state_.counters.files_removed.fetch_add(1, std::memory_order_relaxed);
    } else {
      store_.obsolete->PutBack(file);
      failure = std::move(status);
    }
  }
  BackgroundLock lock(state_.scheduler.mutex());
  is_running_ = false;
  state_.scheduler.NoteOutcomeLocked(Work::kRecycling, start, failure);
}

void ObsoleteFilePurger::RemoveRecycled() {
  BackgroundLock lock(state_.scheduler.mutex());
  uint64_t rest_nanos = 0;
  // WHY an obsolete file ends the loop: near the space bound writes and compactions wait until it is purged.
  while (rest_nanos == 0 && !state_.scheduler.IsStoppingLocked() && HasExcessLocked() && !MayRecycleLocked()) {
    lock.Unlock();
    const uint64_t start = clock_->NowNanos();
    const Status status = tree_.recycled_files.RemoveOldest();
    const uint64_t took_nanos = clock_->NowNanos() - start;
    lock.Relock();
    state_.scheduler.NoteOutcomeLocked(Work::kRemovals, start, status);
    if (!status.ok()) break;
    const bool is_crowded = tree_.recycled_files.count() >= 2 * RecycledFiles::kCountMax;
    if (is_crowded || state_.requests.UrgencyLocked() != picker::Urgency::kWriting) continue;
    rest_nanos = state_.controller.RemovalRestNanos(took_nanos, ExcessBytesLocked());
  }
  is_running_ = false;
  if (rest_nanos == 0) return;
  removal_not_before_nanos_ = clock_->NowNanos() + rest_nanos;
  state_.scheduler.NudgeAfter(rest_nanos);
}

bool ObsoleteFilePurger::MayRecycleLocked() const {
  return store_.obsolete->HasAny() && state_.scheduler.MayTryLocked(Work::kRecycling);
}

bool ObsoleteFilePurger::HasExcessLocked() const {
  return tree_.recycled_files.count() > RecycledFiles::kCountMax || ExcessBytesLocked() > 0;
}

uint64_t ObsoleteFilePurger::ExcessBytesLocked() const {
  const uint64_t bytes = tree_.recycled_files.bytes();
  const picker::Urgency urgency =
      compactions_.IsIdleLocked() ? state_.requests.UrgencyLocked() : picker::Urgency::kWriting;
  return bytes - std::min(bytes, RecycledBytesMaxLocked(urgency));
}

uint64_t ObsoleteFilePurger::RecycledBytesMaxLocked(picker::Urgency urgency) const {
  if (state_.scheduler.DiskIsFullLocked()) return 0;
  const picker::Urgency bound = store_.options.keep_space_at_rest ? picker::Urgency::kWriting : urgency;
  const uint64_t on_disk = store_.obsolete->bytes_on_disk();
  return state_.controller.RecycledBytesMax(bound, on_disk - std::min(on_disk, tree_.recycled_files.bytes()));
}

}  // namespace mergedb::db
