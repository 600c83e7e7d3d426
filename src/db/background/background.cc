#include "db/background/background.h"

#include <algorithm>
#include <utility>

#include "read/next_step.h"

namespace mergedb::db {

Background::Background(Store& store, Tree& tree, write::WriteDelay& write_delay, WriterCallbacks writers)
    : store_(store),
      tree_(tree),
      scheduler_(std::make_shared<BackgroundScheduler>(store.options.env, static_cast<Tasks&>(*this))),
      state_(store, tree, write_delay, *scheduler_),
      commits_(state_),
      compactions_(state_),
      purger_(state_, compactions_),
      flushes_(state_, compactions_, std::move(writers)),
      warmer_(state_, compactions_) {}

BackgroundScheduler::Task Background::ChooseLocked() {
  if (state_.controller.NeedsCommit()) commits_.WantCommitFirstLocked();
  if (auto commit = commits_.NextFirstLocked()) return commit;
  if (auto purge = purger_.NextLocked()) return purge;
  if (auto pick = compactions_.NextPickLocked()) return pick;
  // WHY compactions wait for the commit and the purge: their outputs would come on top of the files that these remove.
  const bool must_wait = (commits_.IsCommittingLocked() && state_.controller.NeedsCommit()) ||
                         (purger_.IsPurgingLocked() && state_.controller.NeedsPurge());
  if (auto probe = compactions_.NextProbeLocked()) return probe;
  if (auto step = must_wait ? nullptr : compactions_.NextStepLocked()) return step;
  if (auto commit = commits_.NextLocked()) return commit;
  if (auto idle_switch = flushes_.NextIdleSwitchLocked()) return idle_switch;
  return warmer_.NextLocked();
}

// Ticks come while writes come, until no compaction is needed after the last write. They go on while iterators or
// snapshots pin obsolete data, since nothing signals their release, and while compactions cannot read a file.
bool Background::TickLocked() {
  // WHY three ticks: an idle flush, its commit, and then the WAL's disk space is given back.
  constexpr uint64_t kOverAfterNanos = CompactionRequests::kIdleAfterNanos + 3'000'000'000;
  state_.requests.TickLocked();
  flushes_.TickLocked();
  return state_.requests.NanosSinceWriteLocked() <= kOverAfterNanos || compactions_.HasJobsLocked() ||
         store_.snapshots->oldest().count > 0 || !state_.inputs.unreadable().empty() ||
         store_.obsolete->bytes_on_disk() > state_.CurrentVersion()->bytes_on_disk() ||
         !NeedsNoCompactionLocked(picker::Urgency::kIdle);
}

void Background::NoteErrorLocked(BackgroundScheduler::Work work, const Status& status) {
  constexpr std::string_view kWorks[] = {"flush", "commit", "compaction", "recycling", "removal"};
  store_.events.Emit(EventKind::kError, [&] {
    return EventFields{TextField("work", kWorks[static_cast<size_t>(work)]), StatusField(status)};
  });
}

void Background::WantStandby() {
  {
    BackgroundLock lock(scheduler_->mutex());
    flushes_.WantStandbyLocked();
  }
  scheduler_->NudgeUrgently();
}

void Background::NoteWrite() {
  BackgroundLock lock(scheduler_->mutex());
  state_.requests.NoteWriteLocked();
  scheduler_->ArmTimerLocked();
}

void Background::RequestScanCompaction(format::Bounds bounds, uint64_t entries) {
  state_.counters.tombstone_scans.fetch_add(1, std::memory_order_relaxed);
  state_.counters.tombstone_scan_entries.fetch_add(entries, std::memory_order_relaxed);
  if (store_.snapshots->oldest().count > 0) return;  // the snapshot needs the deleted keys
  entries_scanned_.fetch_add(entries, std::memory_order_relaxed);
  switch_is_wanted_.store(true, std::memory_order_relaxed);
  BackgroundLock lock(scheduler_->mutex());
  if (scheduler_->IsStoppingLocked()) return;
  if (!state_.requests.TryAddScanLocked(std::move(bounds), state_.counters.flushes.load(std::memory_order_relaxed)))
    return;
  state_.inputs.NoteChange();
  scheduler_->ScheduleLocked();
}

void Background::NoteScatteredValues(uint64_t bytes) {
  state_.counters.scattered_value_bytes.fetch_add(bytes, std::memory_order_relaxed);
  state_.inputs.AddScattered(bytes);
  const read::SuperVersionPtr super_version = tree_.version_set.Current();
  if (!picker::NeedsBlobOrder(state_.inputs.For(*super_version->version, {}, picker::Urgency::kWriting))) return;
  BackgroundLock lock(scheduler_->mutex());
  if (scheduler_->IsStoppingLocked()) return;
  state_.inputs.NoteChange();
  scheduler_->ScheduleLocked();
}

void Background::NoteRunVisits(uint64_t visits) {
  const uint64_t before = state_.counters.extra_run_visits.fetch_add(visits, std::memory_order_relaxed);
  state_.inputs.AddRunVisits(visits);
  // WHY now and then: a pick costs more than a few visits, and every short iterator comes here.
  if (before / picker::kRunVisitsMin == (before + visits) / picker::kRunVisitsMin) return;
  const uint64_t price_of_all = picker::RunVisitsFor(state_.CurrentVersion()->bytes());
  state_.inputs.CapRunVisits(price_of_all);
  BackgroundLock lock(scheduler_->mutex());
  if (scheduler_->IsStoppingLocked()) return;
  state_.inputs.NoteChange();
  scheduler_->ScheduleLocked();
}

void Background::Stop(bool finish_jobs) {
  if (finish_jobs) compactions_.StopPicking();
  scheduler_->Stop(finish_jobs);
  compactions_.DropJobs();
}

bool Background::NeedsNoCompactionLocked(picker::Urgency urgency) const {
  if (tree_.version_set.immutable_count() > 0 || scheduler_->IsFlushingLocked() || commits_.IsCommittingLocked() ||
      compactions_.IsRunningLocked())
    return false;
  if (tree_.version_set.HasUncommitted() || !purger_.IsDoneLocked(urgency)) return false;
  const read::SuperVersionPtr super_version = tree_.version_set.Current();
  return picker::NeedsNoCompaction(state_.inputs.For(*super_version->version, {}, urgency));
}

Status Background::WaitUntil(Needs needs, const std::function<bool()>& is_done) {
  return read::OfWrite(scheduler_->WaitUntil(needs, is_done), store_.directory);
}

Status Background::WaitForFlush() {
  const kv::Sequence end = tree_.version_set.immutable_end();
  RETURN_IF_ERROR(WaitUntil(Needs::kCommits, [&] { return tree_.version_set.flushed().sequence >= end; }));
  const uint64_t changes = tree_.version_set.changes();
  return WaitUntil(Needs::kCommits, [&]() REQUIRES_LOCK(background_mutex) {
    if (tree_.version_set.committed_changes() >= changes) return true;
    commits_.WantCommitFirstLocked();
    return false;
  });
}

Status Background::WaitForCompactions(picker::Urgency urgency, const std::function<void()>& when_flushed) {
  {
    BackgroundLock lock(scheduler_->mutex());
    state_.requests.AddWaiterLocked(urgency);
  }
  const auto is_done = [&]() REQUIRES_LOCK(background_mutex) {
    if (NeedsNoCompactionLocked(urgency)) return true;
    commits_.WantCommitLocked();
    return false;
  };
  compactions_.ProbeAll();
  const kv::Sequence end = tree_.version_set.immutable_end();
  Status status = WaitUntil(Needs::kRemovals, [&]() REQUIRES_LOCK(background_mutex) {
    return is_done() || (tree_.version_set.flushed().sequence >= end && tree_.version_set.UncommittedWalBytes() == 0);
  });
  if (status.ok()) {
    when_flushed();
    status = WaitUntil(Needs::kRemovals, is_done);
  }
  if (status.ok()) status = compactions_.UnreadableStatus();
  BackgroundLock lock(scheduler_->mutex());
  state_.requests.RemoveWaiterLocked(urgency);
  scheduler_->ScheduleLocked();  // work that waited for the end of this wait
  return status;
}

// One call at a time has its turn: the wait tests and takes the turn in one critical section.
Status Background::CompactRange(const format::Bounds& bounds) {
  compactions_.ProbeAll();
  bool has_turn = false;
  RETURN_IF_ERROR(WaitUntil(Needs::kCompactions, [&]() REQUIRES_LOCK(background_mutex) {
    if (has_turn) return true;
    const read::SuperVersionPtr super_version = tree_.version_set.Current();
    const auto& runs = super_version->version->runs();
    has_turn = state_.requests.TryBeginManualLocked(bounds, runs.empty() ? kv::Position{} : runs.front()->position());
    return has_turn;
  }));
  state_.inputs.NoteChange();
  Status status = WaitUntil(Needs::kCompactions, [this]() REQUIRES_LOCK(background_mutex) {
    if (state_.requests.ManualIsDoneLocked()) return true;
    if (!compactions_.IsRunningLocked()) state_.inputs.NoteChange();  // pick again
    return false;
  });
  {
    BackgroundLock lock(scheduler_->mutex());
    if (status.ok()) status = state_.requests.ManualStatusLocked();
    state_.requests.EndManualLocked();
    scheduler_->NotifyLocked();  // the next call may have its turn
  }
  return status.ok() ? WaitForFlush() : status;
}

}  // namespace mergedb::db
