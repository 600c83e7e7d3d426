// Runs compactions: picks jobs and runs their steps of 0.5 ms, the job with the smallest input first. So small
// compactions overtake large ones.
//
//   Pick: TakeRequests ──> Choose ──> Claim ──> Account
//                          picker     running compactions: Claim
//                                       └──> CompactionJob ── step ── step ── ... ──> Publish, obsolete inputs
//
// A new pick comes before the steps of running jobs: a small urgent compaction must not wait for the end of a large
// one. If a pick finds nothing, the next one waits for a change of its inputs.
//
// If a job cannot read an input, the keys that it could not read are left alone (compaction/unreadable_inputs.h), and
// the next pick follows at once. One event tells of each file. If a job finds too few file descriptors, the next picks
// have fewer sources. After another error, and if many jobs in a row cannot read an input, all compactions pause
// (db/background/retry.h).
//
// THREADS: any; a method named ...Locked needs the background mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compaction/compaction_job.h"
#include "compaction/running_compactions.h"
#include "db/background/background_state.h"
#include "format/live_state.h"

namespace mergedb::db {

class CompactionRunner : private compaction::CompactedTree {
 public:
  explicit CompactionRunner(BackgroundState& state)
      : state_(state),
        store_(state.store),
        tree_(state.tree),
        clock_(state.clock()),
        running_compactions_(state.store.order) {}

  BackgroundScheduler::Task NextPickLocked() REQUIRES_LOCK(background_mutex);
  BackgroundScheduler::Task NextStepLocked() REQUIRES_LOCK(background_mutex);
  // Reads again what could not be read, when its pause is over.
  BackgroundScheduler::Task NextProbeLocked() REQUIRES_LOCK(background_mutex);
  bool HasJobsLocked() const REQUIRES_LOCK(background_mutex) { return !jobs_.empty(); }
  bool IsRunningLocked() const REQUIRES_LOCK(background_mutex) { return !jobs_.empty() || is_picking_; }
  // No writes come, no flush runs, all commits are done, and the last pick found nothing to compact.
  bool IsIdleLocked() const REQUIRES_LOCK(background_mutex);
  // The generation of the inputs (db/background/pick_inputs.h) with which the last pick found nothing.
  uint64_t IdleGenerationLocked() const REQUIRES_LOCK(background_mutex) { return idle_key_.generation; }

  // What compactions leave alone because they could not read it; OK if there is nothing. With the next step.
  Status UnreadableStatus() const;
  // Ends all pauses: reads the tables again now, and lets picks try the rest. Takes no lock while it reads.
  void ProbeAll();

  void StopPicking();
  void DropJobs();               // REQUIRES: no step runs
  std::string Describe() const;  // one line for each job
  std::vector<format::LiveCompaction> List() const;

 private:
  struct Running {                                   // a job, and whether a thread is executing a step of it
    std::unique_ptr<compaction::CompactionJob> job;  // null once it has ended
    uint64_t start_nanos = 0;
    uint64_t id = 0;                // of the job, for events
    uint64_t output_bytes = 0;      // not published at the end of the last step
    uint64_t output_bytes_max = 0;  // that it may write until its inputs are released
    format::LiveCompaction facts;   // what the job does and, at the end of the last step, has done
    bool is_stepping = false;
  };
  // What one pick is asked for.
  struct Requests {
    uint64_t generation = 0;
    picker::Urgency urgency = picker::Urgency::kWriting;
    std::optional<CompactionRequests::Manual> manual;
    std::optional<format::Bounds> scan;
  };
  // What the picker answers.
  struct Choice {
    std::optional<picker::CompactionPick> pick;  // nothing: no compaction is needed, or what is needed is blocked
    bool manual_is_done = false;
    bool manual_is_blocked = false;  // by running compactions or by unreadable inputs
  };
  struct PickKey {  // the picker finds nothing again if this is the same
    uint64_t generation = 0;
    picker::Urgency urgency = picker::Urgency::kWriting;
    kv::Sequence oldest_snapshot = 0;
    bool operator==(const PickKey&) const = default;
  };

  std::vector<kv::Sequence> LiveSequences() override { return store_.snapshots->Live(); }
  Status Install(const format::VersionEdit& edit) override;
  uint64_t MaskedBytes(kv::Position target, const kv::RangeTombstones& ranges) override;
  format::BlobFilePtr FindBlobFile(kv::FileNumber number) override {
    return state_.CurrentVersion()->FindBlobFile(number);
  }

  void Pick();
  Requests TakeRequests() const;
  static Choice Choose(const Requests& requests, const picker::PickInput& input);
  // The job; null if nothing is picked or if the pick is out of date.
  std::shared_ptr<Running> Claim(const Choice& choice, const picker::PickInput& input);
  // Records what the choice means for requests, counters, the controller and the next pick, and lets the job run.
  void Account(const Requests& requests, const picker::PickInput& input, const Choice& choice,
               std::shared_ptr<Running> job);
  uint64_t OutputBytesMax(const picker::CompactionPick& pick) const;
  void NoteOutputBytesLocked() REQUIRES_LOCK(background_mutex);
  std::unique_ptr<compaction::CompactionJob> NewJob(picker::CompactionPick pick, const version::VersionPtr& version,
                                                    kv::Sequence flushed_sequence);
  void Step(const std::shared_ptr<Running>& running);
  void EndJob(const std::shared_ptr<Running>& running, uint64_t began_nanos, const Status& status);
  // What the end of the job means for other compactions: OK if they need no pause.
  Status NoteEnd(const compaction::CompactionJob& job, const Status& status);
  Status NoteUnreadable(const compaction::CompactionJob& job, const Status& status);
  void ProbeNext();
  bool IsReadable(const compaction::UnreadableInputs::Probe& probe) const;
  void Count(const compaction::CompactionJob& job, bool is_done);
  void TellBegin(const Running& running, const picker::PickInput& input) const;
  void TellEnd(const Running& running, const Status& status) const;

  BackgroundState& state_;
  Store& store_;
  Tree& tree_;
  Clock* const clock_;
  compaction::RunningCompactions running_compactions_;
  std::atomic<uint64_t> jobs_begun_{0};
  std::atomic<size_t> unreadable_in_row_{0};  // jobs that failed to read an input since the last one that ended well

  bool picks_jobs_ GUARDED_BY(background_mutex) = true;
  bool is_picking_ GUARDED_BY(background_mutex) = false;
  bool is_probing_ GUARDED_BY(background_mutex) = false;
  PickKey idle_key_ GUARDED_BY(background_mutex);  // of the last pick that found nothing
  std::vector<std::shared_ptr<Running>> jobs_ GUARDED_BY(background_mutex);
};

}  // namespace mergedb::db
