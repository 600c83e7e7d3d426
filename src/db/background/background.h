// Background work: flushes, MANIFEST commits, compactions, and what follows from them. This class is what the database
// sees of it: it notes writes, waits for work, and holds the order of the tasks (ChooseLocked):
//
//   urgent   flush       an immutable memtable: writers wait for its memory               flush_runner.h
//            standby     memory for the next active memtable
//   1        commit      the MANIFEST lags too far, or a caller waits for it              commit_runner.h
//   2        recycling   obsolete tables and blob files become recycled files             obsolete_file_purger.h
//            removal     recycled files beyond the bound, one by one
//   3        new jobs    picker::Pick                                                     compaction_runner.h
//            probe       reads again what compactions could not read, after a pause
//   4        job steps   0.5 ms each
//   5        commit      the MANIFEST lags
//   6        idle flush  after 5 s without writes: the active memtable                    flush_runner.h
//   7        warming     tables that were written past the page cache are read into it    table_warmer.h
//
// background_scheduler.h runs the tasks and owns the mutex of all these classes (background_mutex.h).
// background_state.h holds what they share: what callers ask for (compaction_requests.h), the backlog and the write
// delay (write_controller.h), the counters.
//
// THREADS: any. Lock order: the background mutex before the mutexes of ManifestCommitter and VersionSet.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "db/background/background_counters.h"
#include "db/background/background_scheduler.h"
#include "db/background/background_state.h"
#include "db/background/commit_runner.h"
#include "db/background/compaction_runner.h"
#include "db/background/flush_runner.h"
#include "db/background/obsolete_file_purger.h"
#include "db/background/table_warmer.h"

namespace mergedb::db {

class Background : private BackgroundScheduler::Tasks {
 public:
  using Needs = BackgroundScheduler::Work;
  // All of them outlive Stop.
  Background(Store& store, Tree& tree, write::WriteDelay& write_delay, WriterCallbacks writers);
  ~Background() override { Stop(false); }

  // There may be new work.
  void Nudge() { scheduler_->Nudge(); }
  // Makes a standby memtable in the background. Takes the mutex.
  void WantStandby();
  // Nudge for a writer that made a memtable immutable. Does not take the mutex: a preempted compaction thread may hold
  // it.
  void MemtableSwitched() { scheduler_->NudgeUrgently(); }
  // Notes a write: the urgency becomes kWriting. Costs one load, except for the first write after each tick (1 s).
  void WriteHappened() {
    if (!state_.requests.wrote()) [[unlikely]]
      NoteWrite();
  }
  // Requests a compaction of `bounds`, where a tombstone-heavy scan found only deleted keys: `entries` of them. At most
  // one request per flush is accepted. Ignored while a snapshot exists. THREADS: any.
  void RequestScanCompaction(format::Bounds bounds, uint64_t entries);
  // Scans read `bytes` of values one by one, because the values are not in key order. THREADS: any.
  void NoteScatteredValues(uint64_t bytes);
  // Seeks visited `visits` runs beside the first one.
  void NoteRunVisits(uint64_t visits);
  // True: the next write should make the active memtable immutable, if it holds enough. (exclusive section)
  bool switch_is_wanted() const { return switch_is_wanted_.load(std::memory_order_relaxed); }
  void SwitchIsConsidered() { switch_is_wanted_.store(false, std::memory_order_relaxed); }
  // Entries that tombstone-heavy scans have passed over since the last switch. (exclusive section)
  uint64_t entries_scanned() const { return entries_scanned_.load(std::memory_order_relaxed); }
  void ForgetEntriesScanned() { entries_scanned_.store(0, std::memory_order_relaxed); }
  // Sets the rate of delayed writes (WriteController::UpdateDelay).
  void UpdateWriteDelay() { state_.controller.UpdateDelay(*tree_.version_set.Current()); }
  const WriteController& controller() const { return state_.controller; }
  // Jobs stop at their next step or, with `finish_jobs`, run to their end. Returns when no work runs; none starts
  // afterwards.
  void Stop(bool finish_jobs);

  // Blocks until `is_done` holds. Retries failed background work at once; if work that the wait `needs` fails again,
  // returns its status (BackgroundScheduler::WaitUntil).
  Status WaitUntil(Needs needs, const std::function<bool()>& is_done);
  // Returns true when a compaction job has ended and released its inputs; false if none runs.
  bool WaitForJobEnd() { return scheduler_->WaitForJobEnd(); }
  // Returns when all memtables that are immutable now are flushed, durable, and in the MANIFEST.
  Status WaitForFlush();
  // Returns when no compaction is needed at this urgency. Calls `when_flushed` first, while compactions run:
  // once all memtables that are immutable now are flushed and in the MANIFEST. WHY a function: it is the caller's work
  // between two waits of one call.
  Status WaitForCompactions(picker::Urgency urgency, const std::function<void()>& when_flushed);
  // Compacts `bounds` of all runs that exist now into the oldest run.
  Status CompactRange(const format::Bounds& bounds);

  // The first error that background work waits to retry, or what compactions cannot read; OK if there is none.
  Status error() const {
    Status status = scheduler_->error();
    return status.ok() ? compactions_.UnreadableStatus() : status;
  }
  Status work_error() const { return scheduler_->error(); }
  Status unreadable() const { return compactions_.UnreadableStatus(); }
  size_t unreadable_files() const { return state_.inputs.unreadable().count(); }
  bool DiskIsFull() const {
    BackgroundLock lock(scheduler_->mutex());
    return scheduler_->DiskIsFullLocked();
  }
  const BackgroundCounters& counters() const { return state_.counters; }
  const HotKey& hot_key() const { return flushes_.hot_key(); }
  std::string DescribeJobs() const { return compactions_.Describe(); }  // one line each
  std::vector<format::LiveCompaction> ListJobs() const { return compactions_.List(); }

 private:
  BackgroundScheduler::Task ChooseLocked() override REQUIRES_LOCK(background_mutex);
  bool WantsFlushLocked() const override REQUIRES_LOCK(background_mutex) { return flushes_.IsWantedLocked(); }
  void RunFlush() override { flushes_.Run(); }
  bool HasJobsLocked() const override REQUIRES_LOCK(background_mutex) { return compactions_.HasJobsLocked(); }
  bool TickLocked() override REQUIRES_LOCK(background_mutex);
  void NoteErrorLocked(BackgroundScheduler::Work work, const Status& status) override REQUIRES_LOCK(background_mutex);
  void AfterWork() override { store_.events.WriteLog(); }
  void NoteWrite();
  bool NeedsNoCompactionLocked(picker::Urgency urgency) const REQUIRES_LOCK(background_mutex);

  std::atomic<bool> switch_is_wanted_{false};
  std::atomic<uint64_t> entries_scanned_{0};
  Store& store_;
  Tree& tree_;
  const std::shared_ptr<BackgroundScheduler> scheduler_;
  BackgroundState state_;
  CommitRunner commits_;
  CompactionRunner compactions_;
  ObsoleteFilePurger purger_;
  FlushRunner flushes_;
  TableWarmer warmer_;
};

}  // namespace mergedb::db
