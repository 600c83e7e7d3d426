// The scheduler of background work: it chooses the next piece of work and hands it to the executor, one step
// at a time.
//
//   urgent   flush       an immutable memtable: writers wait for its memory
//            standby     memory for the next active memtable
//   1        commit      the MANIFEST lags too far, or a caller waits for it; with a small lag, after 4
//   2        recycling   obsolete tables and blob files become recycled files, which later files overwrite
//            removal     recycled files beyond the bound, one by one
//   3        new jobs    picker::Pick
//   4        job steps   0.5 ms each, the job with the smallest input first: small compactions overtake large ones
//   5        idle flush  after 5 s without writes: the active memtable is flushed, so that scans read a single run
//   6        warming     if nothing else is to do: reads tables that were written past the page cache into it
//
// Each step is one task of the executor. So a test that runs the tasks by hand chooses the interleaving, and
// small and large compactions make progress together even on one thread.
//
// A failed step is retried after a pause that doubles from 0.1 s to 5 s. Writers that wait for memory
// meanwhile get its error. Each kind of work has its own pause: a file that cannot be removed delays no
// compaction.
// THREADS: any. Lock order: mutex_ before the mutexes of ManifestCommitter and VersionSet.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sync.h"
#include "blob/cache.h"
#include "compaction/compaction_job.h"
#include "compaction/flush_job.h"
#include "compaction/running_compactions.h"
#include "db/manifest_committer.h"
#include "db/obsolete_files.h"
#include "db/options_check.h"
#include "db/recycled_files.h"
#include "db/snapshots.h"
#include "db/version_set.h"
#include "picker/picker.h"
#include "picker/write_delay.h"
#include "table/cache.h"
#include "write/write_delay.h"

namespace mergedb::db {

class Background : public std::enable_shared_from_this<Background> {
 public:
  struct Parts {  // every referenced object must outlive Stop()
    const Options& options;
    const MemoryPlan& memory;
    const kv::Order& order;
    std::string directory;
    VersionSet& version_set;
    ManifestCommitter& committer;
    Snapshots& snapshots;
    table::Cache& tables;
    blob::Cache& values;
    ObsoleteFiles& obsolete;
    RecycledFiles& recycled_files;
    write::WriteDelay& write_delay;
    const compaction::TableFactory& factory;
    std::function<ManifestCommitter::WalFacts(const VersionSet::WalStart&)> wal_facts;
    std::function<void(const VersionSet::WalStart&)> wal_released;
    std::function<uint64_t()> wal_backlog;  // wal::Wal::backlog()
    std::function<void()> make_standby;     // allocates the standby memtable
    std::function<void()> flush_if_idle;    // makes the active memtable immutable, unless a writer is active
  };
  explicit Background(Parts parts);
  ~Background();

  // There may be new work.
  void Nudge();
  // Nudge for a writer that made a memtable immutable. Does not take mutex_: a preempted compaction thread
  // may hold it.
  void MemtableSwitched();
  // Notes a write: the urgency becomes kWriting. Costs one load, except for the first write after each tick
  // (1 s).
  void WriteHappened() {
    if (!wrote_.load(std::memory_order_relaxed)) [[unlikely]]
      NoteWrite();
  }
  // Requests a compaction of `bounds`, where a tombstone-heavy scan found only deleted keys. At most one
  // request per flush is accepted: tombstones in memtables must be in tables first. Ignored while a snapshot
  // exists. THREADS: any.
  void RequestScanCompaction(format::Bounds bounds);
  // True: the next write should make the active memtable immutable, if it holds enough. (exclusive section)
  bool switch_is_wanted() const { return switch_is_wanted_.load(std::memory_order_relaxed); }
  void SwitchIsConsidered() { switch_is_wanted_.store(false, std::memory_order_relaxed); }
  // Sets the rate of delayed writes from the memory in use now and the state of the tree at the last
  // UpdateTreeBacklog.
  void UpdateWriteDelay();
  // Jobs stop at their next step or, with `finish_jobs`, run to their end. Returns when no work runs; none
  // starts afterwards.
  void Stop(bool finish_jobs);

  // Blocks until `is_done` holds. Retries failed background work at once; if work that the wait `needs` fails
  // again, returns its status.
  enum class Needs : uint8_t { kFlushes, kCommits, kCompactions, kRemovals };  // each includes those before it
  Status WaitUntil(Needs needs, const std::function<bool()>& is_done);
  // Returns true when a compaction job has ended and released its inputs; false if none runs.
  bool WaitForJobEnd();
  // Returns when all memtables that are immutable now are flushed, durable, and in the MANIFEST.
  Status WaitForFlush();
  // Returns when no compaction is needed at this urgency.
  Status WaitForCompactions(picker::Urgency urgency);
  // Compacts `bounds` of all runs that exist now into the oldest run.
  Status CompactRange(const format::Bounds& bounds);

  // The first error that background work waits to retry; OK if there is none.
  Status error() const;

  struct Counters {
    std::atomic<uint64_t> flushes{0}, flush_bytes{0}, flush_nanos{0};
    std::atomic<uint64_t> jobs{0}, moves{0}, jobs_failed{0};
    std::atomic<uint64_t> compaction_bytes_read{0}, compaction_bytes_written{0}, compaction_bytes_unread{0},
        compaction_entries_in{0}, compaction_entries_out{0}, compaction_nanos{0};
    std::atomic<uint64_t> blob_bytes_moved{0};
    std::atomic<uint64_t> files_removed{0}, tombstone_scan_compactions{0};
    std::atomic<uint64_t> runs_max{0}, compactions_at_once_max{0};
  };
  const Counters& counters() const { return counters_; }
  std::string DescribeJobs() const;  // one line each

 private:
  void NoteWrite();
  enum class Task : uint8_t { kNone, kCommit, kJob, kPick, kRecycle, kRemoveRecycled, kSwitchIdleMemtable, kWarm };
  struct Running {                                   // a job, and whether a thread is executing a step of it
    std::unique_ptr<compaction::CompactionJob> job;  // null once it has ended
    bool is_stepping = false;
  };
  struct Manual {
    uint64_t id = 0;  // of the CompactRange call
    format::Bounds bounds;
    kv::Position newest{};
  };
  struct Retry {  // state of one kind of work after a failure
    Status status;
    uint64_t began_nanos = 0;  // the start of the failed work
    uint64_t not_before_nanos = 0;
    uint64_t pause_nanos = 0;
  };

  void ScheduleFlushLocked();
  void RunFlush() noexcept;
  void ScheduleLocked();
  void RunStep() noexcept;
  Task ChooseLocked(std::shared_ptr<Running>* job);
  void Perform(Task task, const std::shared_ptr<Running>& job);
  Status Flush();
  void SampleFlushed(const compaction::LiveSample::Changes& sampled, const compaction::Flushed& flushed);
  Status Commit();
  void StepJob(const std::shared_ptr<Running>& running);
  void PickJob();
  void RecycleObsolete();
  void RemoveRecycled();
  uint64_t ExcessRecycledBytesLocked() const;
  uint64_t RecycledBytesMaxLocked(picker::Urgency urgency) const;
  bool IsIdleLocked() const;
  bool IsWorthSwitchingLocked() const;
  void WarmTables();
  bool CommitIsOverdueLocked() const;
  bool HasFailedLocked(const Retry& retry) const;
  bool MayTryLocked(const Retry& retry) const;
  void NoteOutcomeLocked(Retry* retry, uint64_t began_nanos, const Status& status);
  void RetryWorkBeforeLocked(uint64_t nanos);
  std::array<const Retry*, 5> RetriesLocked() const {
    return {&flush_retry_, &commit_retry_, &job_retry_, &recycle_retry_, &removal_retry_};
  }
  picker::Urgency UrgencyLocked() const;
  picker::PickInput PickInputFor(const read::SuperVersion& super_version,
                                 const std::vector<picker::RunningCompaction>& busy, picker::Urgency urgency) const;
  kv::Sequence OldestSnapshot() const;  // kSequenceMax if there is none
  bool NeedsNoCompactionLocked(picker::Urgency urgency) const;
  void UpdateTreeBacklog();
  void TreeChanged() { tree_generation_.fetch_add(1, std::memory_order_relaxed); }
  void ArmTimerLocked();
  void OnTimer();

  const Parts parts_;
  Clock* const clock_;
  Executor* const executor_;
  const uint64_t flush_bytes_;    // size of a memtable
  const uint64_t release_bytes_;  // output bytes of a job between two releases
  Counters counters_;
  compaction::RunningCompactions running_compactions_;
  std::atomic<bool> wrote_{false};  // since the last tick
  std::atomic<bool> switch_is_wanted_{false};
  std::atomic<uint64_t> tree_generation_{1};  // counts changes of the picker's input

  std::atomic<uint64_t> warmed_below_{0};  // tables with smaller file numbers need no warming

  compaction::LiveSample live_sample_;
  std::atomic<uint64_t> flushed_bytes_{0};        // of the last flush
  std::atomic<uint64_t> allowed_bytes_{0};        // on disk, by the space bound at urgency kWriting
  std::atomic<uint64_t> allowed_quiet_bytes_{0};  // and at urgency kQuiet
  std::atomic<uint64_t> backlog_runs_{0};
  std::atomic<uint64_t> backlog_upper_bytes_{0};
  std::atomic<uint64_t> backlog_upper_bytes_max_{0};

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  int workers_ GUARDED_BY(mutex_) = 0;  // steps scheduled or running
  bool is_stopping_ GUARDED_BY(mutex_) = false;
  bool picks_jobs_ GUARDED_BY(mutex_) = true;
  bool is_flushing_ GUARDED_BY(mutex_) = false;
  bool standby_is_wanted_ GUARDED_BY(mutex_) = true;
  bool is_committing_ GUARDED_BY(mutex_) = false;
  bool is_picking_ GUARDED_BY(mutex_) = false;
  bool is_removing_ GUARDED_BY(mutex_) = false;
  uint64_t removal_not_before_nanos_ GUARDED_BY(mutex_) = 0;
  bool timer_is_armed_ GUARDED_BY(mutex_) = false;
  bool commit_is_wanted_ GUARDED_BY(mutex_) = false;  // as soon as there is nothing else to do
  bool commit_is_urgent_ GUARDED_BY(mutex_) = false;  // before any step of a job
  uint64_t warmed_generation_ GUARDED_BY(mutex_) = 0;
  bool may_flush_idle_ GUARDED_BY(mutex_) = false;
  uint64_t last_commit_nanos_ GUARDED_BY(mutex_) = 0;
  uint64_t last_write_nanos_ GUARDED_BY(mutex_) = 0;
  uint64_t picked_generation_ GUARDED_BY(mutex_) = 0;  // value of tree_generation_ at which Pick found nothing
  kv::Sequence picked_snapshot_ GUARDED_BY(mutex_) = 0;
  picker::Urgency picked_urgency_ GUARDED_BY(mutex_) = picker::Urgency::kWriting;
  std::vector<picker::Urgency> wanted_ GUARDED_BY(mutex_);  // urgencies that waiting callers ask for
  std::optional<Manual> manual_ GUARDED_BY(mutex_);
  uint64_t manual_count_ GUARDED_BY(mutex_) = 0;  // CompactRange calls so far
  bool manual_is_done_ GUARDED_BY(mutex_) = false;
  std::optional<format::Bounds> scan_bounds_ GUARDED_BY(mutex_);  // requested by a tombstone-heavy scan
  uint64_t scan_compaction_flushes_ GUARDED_BY(mutex_) = 0;       // counters_.flushes at the last request
  std::vector<std::shared_ptr<Running>> jobs_ GUARDED_BY(mutex_);
  uint64_t job_ended_nanos_ GUARDED_BY(mutex_) = 0;  // when the last job released its inputs
  Retry flush_retry_ GUARDED_BY(mutex_);
  Retry commit_retry_ GUARDED_BY(mutex_);
  Retry job_retry_ GUARDED_BY(mutex_);
  Retry recycle_retry_ GUARDED_BY(mutex_);  // of obsolete files that can be neither renamed nor removed
  Retry removal_retry_ GUARDED_BY(mutex_);  // of recycled files
};

}  // namespace mergedb::db
