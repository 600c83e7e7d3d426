// The one scheduler: decides which piece of background work comes next, and hands it to the executor, one step at a time.
//
//   urgent   flush       a sealed memtable: writers wait for its memory
//            standby     a memory for the memtable after the active one
//   1        commit      the MANIFEST lags by more than it may, or nothing else is to do
//   2        burials     tables and value files that nobody names become spares, which next files are written over
//            removals    of the spares beyond what the space bound has room for, one by one
//   3        new jobs    picker::Pick
//   4        job steps   half a millisecond each, the job with the smallest input first: inner merges overtake outer ones
//   5        sealing     the active memtable, when nobody has written for a while: else the tree never is the one run that scans go through
//   6        warming     when nothing else is to do: tables were written past the page cache, readers will want them there
//
// Every step is one piece of work for the executor, so a test that runs them by hand chooses the interleaving, and with one
// thread inner and outer merges still go on at once.
//
// A failed step is tried again after a pause that doubles from 0.1 s to 5 s; writers that run out of memory meanwhile hear why.
// Each kind of work pauses by itself: a file that cannot be removed holds up no compaction.
// THREADS: any. Lock order: mutex_ is taken before VersionSet's.
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
  struct Parts {  // all outlive the Background's Stop
    const Options& options;
    const MemoryPlan& memory;
    const kv::Order& order;
    std::string directory;
    VersionSet& version_set;
    Snapshots& snapshots;
    table::Cache& tables;
    blob::Cache& values;
    ObsoleteFiles& obsolete;
    RecycledFiles& recycled_files;
    write::WriteDelay& write_delay;
    const compaction::TableFactory& factory;
    std::function<VersionSet::WalFacts(const VersionSet::WalStart&)> wal_facts;
    std::function<void(const VersionSet::WalStart&)> wal_released;
    std::function<uint64_t()> wal_backlog;  // wal::Wal::backlog()
    std::function<void()> make_standby;     // a memory for the next memtable
    std::function<void()> seal_at_rest;     // the active memtable, if nobody writes just now
  };
  explicit Background(Parts parts);
  ~Background();

  // There may be something to do.
  void Nudge();
  // The same from a writer that sealed a memtable: takes no lock that a merging thread may hold while it has no core.
  void SealHappened();
  // A writer was here: the pressure is on. A load and a compare, but for the first one of each second.
  void WriteHappened() {
    if (!wrote_.load(std::memory_order_relaxed)) [[unlikely]]
      NoteWrite();
  }
  // A reader passed over very many deleted keys in `bounds`, where nothing is left: merge them away. One sweep at a time, and
  // one for each flush: what the memtables delete has to be in tables first. THREADS: any.
  void Sweep(format::Bounds bounds);
  // The active memtable should be sealed at the next write, if it holds much. (turn)
  bool seal_is_wanted() const { return seal_is_wanted_.load(std::memory_order_relaxed); }
  void SealIsConsidered() { seal_is_wanted_.store(false, std::memory_order_relaxed); }
  // Set the writers' pace from the memory that is full now, and the tree as it was last looked at.
  void UpdateWriteDelay();
  // Jobs stop at their next step, or run to their end; returns when nothing runs. No work happens afterwards.
  void Stop(bool finish_jobs);

  // Block until `is_done` holds. Failed background work is tried again at once; if what the wait `needs` fails again, the wait
  // ends with its status.
  enum class Needs : uint8_t { kFlushes, kCommits, kMerges, kRemovals };  // each includes the ones before
  Status WaitUntil(Needs needs, const std::function<bool()>& is_done);
  // Everything sealed is flushed, durable, and in the MANIFEST.
  Status WaitForFlush();
  // Nothing is owed at this pressure.
  Status WaitForCompactions(picker::Urgency urgency);
  // Merge `bounds` of all runs that are there now into the oldest.
  Status CompactRange(const format::Bounds& bounds);

  // Why background work does not get on; OK if it does.
  Status error() const;

  struct Counters {
    std::atomic<uint64_t> flushes{0}, flush_bytes{0}, flush_nanos{0};
    std::atomic<uint64_t> jobs{0}, moves{0}, jobs_failed{0};
    std::atomic<uint64_t> merge_bytes_read{0}, merge_bytes_written{0}, merge_bytes_unread{0}, merge_entries_in{0},
        merge_entries_out{0}, merge_nanos{0};
    std::atomic<uint64_t> value_bytes_moved{0};
    std::atomic<uint64_t> files_removed{0}, sweeps{0};
    std::atomic<uint64_t> runs_max{0}, jobs_at_once_max{0};
  };
  const Counters& counters() const { return counters_; }
  std::string DescribeJobs() const;  // one line each, for people

 private:
  void NoteWrite();
  enum class Task : uint8_t { kNone, kCommit, kJob, kPick, kRecycle, kRemoveRecycled, kSeal, kWarm };
  struct Running {  // a job and whether a thread is in it
    std::unique_ptr<compaction::CompactionJob> job;
    bool is_stepping = false;
  };
  struct Manual {
    uint64_t id = 0;  // of the call of CompactRange
    format::Bounds bounds;
    kv::Position newest{};
  };
  struct Retry {  // of a kind of work that failed
    Status status;
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
  bool IsAtRestLocked() const;
  bool IsWorthSealingLocked() const;
  void WarmTables();
  bool CommitIsOverdueLocked() const;
  bool MayTryLocked(const Retry& retry) const;
  void NoteOutcomeLocked(Retry* retry, const Status& status);
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
  const uint64_t release_bytes_;  // outputs of a job between two releases
  Counters counters_;
  compaction::RunningCompactions running_;
  std::atomic<bool> wrote_{false};  // since the last tick
  std::atomic<bool> seal_is_wanted_{false};
  std::atomic<uint64_t> tree_generation_{1};  // changes of what the picker looks at

  std::atomic<uint64_t> warmed_below_{0};  // tables with smaller numbers need no warming

  compaction::LiveSample live_sample_;
  std::atomic<uint64_t> flushed_bytes_{0};        // the last flush
  std::atomic<uint64_t> allowed_bytes_{0};        // on disk, by the space bound while somebody writes
  std::atomic<uint64_t> allowed_quiet_bytes_{0};  // and when nobody does
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
  bool commit_is_wanted_ GUARDED_BY(mutex_) = false;  // when there is nothing else to do
  bool commit_is_urgent_ GUARDED_BY(mutex_) = false;  // before any step of a job
  uint64_t warmed_generation_ GUARDED_BY(mutex_) = 0;
  bool may_seal_at_rest_ GUARDED_BY(mutex_) = false;
  uint64_t last_commit_nanos_ GUARDED_BY(mutex_) = 0;
  uint64_t last_write_nanos_ GUARDED_BY(mutex_) = 0;
  uint64_t picked_generation_ GUARDED_BY(mutex_) = 0;  // at which there was nothing to pick
  kv::Sequence picked_snapshot_ GUARDED_BY(mutex_) = 0;
  picker::Urgency picked_urgency_ GUARDED_BY(mutex_) = picker::Urgency::kWriting;
  std::vector<picker::Urgency> wanted_ GUARDED_BY(mutex_);  // one for each that waits
  std::optional<Manual> manual_ GUARDED_BY(mutex_);
  uint64_t manual_count_ GUARDED_BY(mutex_) = 0;  // calls of CompactRange that began
  bool manual_is_done_ GUARDED_BY(mutex_) = false;
  std::optional<format::Bounds> sweep_ GUARDED_BY(mutex_);  // wanted
  uint64_t swept_flushes_ GUARDED_BY(mutex_) = 0;           // flushes that the last sweep had seen
  std::vector<std::shared_ptr<Running>> jobs_ GUARDED_BY(mutex_);
  Retry flush_retry_ GUARDED_BY(mutex_);
  Retry commit_retry_ GUARDED_BY(mutex_);
  Retry job_retry_ GUARDED_BY(mutex_);
  Retry recycle_retry_ GUARDED_BY(mutex_);  // of dead files that can be neither renamed nor removed
  Retry removal_retry_ GUARDED_BY(mutex_);  // of spares
};

}  // namespace mergedb::db
