#include "db/background/obsolete_file_purger.h"

#include <algorithm>
#include <utility>

#include "format/file_name.h"

namespace mergedb::db {
namespace {

using Work = BackgroundScheduler::Work;

void TellRemoved(Events& events, const ObsoleteFiles::ObsoleteFile& file, bool is_recycled) {
  events.Emit(EventKind::kFileRemoved, [&] {
    return EventFields{TextField("kind", file.kind == format::FileKind::kTable ? "table" : "blob"),
                       NumberField("number", kv::ToInt(file.number)), NumberField("bytes", file.bytes),
                       NumberField("recycled", is_recycled)};
  });
}

}  // namespace

ObsoleteFilePurger::ObsoleteFilePurger(const BackgroundParts& parts, BackgroundScheduler& scheduler,
                                       const CompactionRequests& requests, const CompactionRunner& compactions,
                                       const WriteController& controller, BackgroundCounters& counters)
    : parts_(parts),
      clock_(parts.options.env.clock),
      scheduler_(scheduler),
      requests_(requests),
      compactions_(compactions),
      controller_(controller),
      counters_(counters) {}

BackgroundScheduler::Task ObsoleteFilePurger::NextLocked() {
  if (is_running_) return nullptr;
  if (MayRecycleLocked()) {
    is_running_ = true;
    return [this] { Recycle(); };
  }
  if (HasExcessLocked() && scheduler_.MayTryLocked(Work::kRemovals) &&
      (clock_->NowNanos() >= removal_not_before_nanos_ || requests_.UrgencyLocked() != picker::Urgency::kWriting)) {
    is_running_ = true;
    return [this] { RemoveRecycled(); };
  }
  return nullptr;
}

bool ObsoleteFilePurger::IsDoneLocked(picker::Urgency urgency) const {
  return !parts_.obsolete.HasAny() && !is_running_ && parts_.recycled_files.count() <= RecycledFiles::kCountMax &&
         parts_.recycled_files.bytes() <= RecycledBytesMaxLocked(urgency);
}

// A file that cannot be recycled is removed. WHY also a file at the space bound: recycled, it would be removed next.
void ObsoleteFilePurger::Recycle() {
  const uint64_t start = clock_->NowNanos();
  Status failure;
  for (const auto& file : parts_.obsolete.Take()) {
    file.kind == format::FileKind::kTable ? parts_.tables.Evict(file.number) : parts_.values.Evict(file.number);
    if (!controller_.IsFull() && !parts_.committer.SyncHasFailed(file.number) && parts_.recycled_files.Keep(file)) {
      parts_.obsolete.NotePurged(file);
      TellRemoved(parts_.events, file, true);
      continue;
    }
    Status status = parts_.options.env.file_system->Remove(format::FilePath(parts_.directory, file.kind, file.number));
    if (status.ok() || status.IsNotFound()) {
      parts_.obsolete.NotePurged(file);
      parts_.obsolete.Removed(file);
      TellRemoved(parts_.events, file, false);
      counters_.files_removed.fetch_add(1, std::memory_order_relaxed);
    } else {
      parts_.obsolete.PutBack(file);
      failure = std::move(status);
    }
  }
  BackgroundLock lock(scheduler_.mutex());
  is_running_ = false;
  scheduler_.NoteOutcomeLocked(Work::kRecycling, start, failure);
}

void ObsoleteFilePurger::RemoveRecycled() {
  BackgroundLock lock(scheduler_.mutex());
  uint64_t rest_nanos = 0;
  // WHY an obsolete file ends the loop: near the space bound writes and compactions wait until it is purged.
  while (rest_nanos == 0 && !scheduler_.IsStoppingLocked() && HasExcessLocked() && !MayRecycleLocked()) {
    lock.Unlock();
    const uint64_t start = clock_->NowNanos();
    const Status status = parts_.recycled_files.RemoveOldest();
    const uint64_t took_nanos = clock_->NowNanos() - start;
    lock.Relock();
    scheduler_.NoteOutcomeLocked(Work::kRemovals, start, status);
    if (!status.ok()) break;
    const bool is_crowded = parts_.recycled_files.count() >= 2 * RecycledFiles::kCountMax;
    if (is_crowded || requests_.UrgencyLocked() != picker::Urgency::kWriting) continue;
    rest_nanos = controller_.RemovalRestNanos(took_nanos, ExcessBytesLocked());
  }
  is_running_ = false;
  if (rest_nanos == 0) return;
  removal_not_before_nanos_ = clock_->NowNanos() + rest_nanos;
  scheduler_.NudgeAfter(rest_nanos);
}

bool ObsoleteFilePurger::MayRecycleLocked() const {
  return parts_.obsolete.HasAny() && scheduler_.MayTryLocked(Work::kRecycling);
}

bool ObsoleteFilePurger::HasExcessLocked() const {
  return parts_.recycled_files.count() > RecycledFiles::kCountMax || ExcessBytesLocked() > 0;
}

uint64_t ObsoleteFilePurger::ExcessBytesLocked() const {
  const uint64_t bytes = parts_.recycled_files.bytes();
  const picker::Urgency urgency = compactions_.IsIdleLocked() ? requests_.UrgencyLocked() : picker::Urgency::kWriting;
  return bytes - std::min(bytes, RecycledBytesMaxLocked(urgency));
}

uint64_t ObsoleteFilePurger::RecycledBytesMaxLocked(picker::Urgency urgency) const {
  if (scheduler_.DiskIsFullLocked()) return 0;
  const picker::Urgency bound = parts_.options.keep_space_at_rest ? picker::Urgency::kWriting : urgency;
  const uint64_t on_disk = parts_.obsolete.bytes_on_disk();
  return controller_.RecycledBytesMax(bound, on_disk - std::min(on_disk, parts_.recycled_files.bytes()));
}

}  // namespace mergedb::db
