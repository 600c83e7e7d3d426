#include "db/background.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/schedule_point.h"
#include "compaction/masked_bytes.h"
#include "format/file_name.h"
#include "read/next_step.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000 * kMillisecond;
constexpr uint64_t kStepNanos = kMillisecond / 2;
constexpr uint64_t kQuietAfterNanos = 1 * kSecond;
constexpr uint64_t kIdleAfterNanos = 5 * kSecond;
constexpr uint64_t kCommitIntervalNanos = kSecond / 10;  // while nothing urgent waits for it
constexpr uint64_t kRetryFirstNanos = kSecond / 10;
constexpr uint64_t kRetryLastNanos = 5 * kSecond;
// Output bytes of a job between two releases: large, but a small database must not hold its data twice.
constexpr uint64_t kReleaseBytesMax = uint64_t{64} << 20;
constexpr uint64_t kFlushesPerRelease = 8;
constexpr size_t kJobsMax = 4;      // each holds read buffers for all of its inputs
constexpr uint64_t kWarmShare = 4;  // of memory_bytes; the page cache is shared with other programs
// Number of sorted runs at which the write delay reaches its maximum.
constexpr uint64_t kRunsMax = 128;

}  // namespace

Background::Background(Parts parts)
    : parts_(std::move(parts)),
      clock_(parts_.options.env.clock),
      executor_(parts_.options.env.executor),
      flush_bytes_(parts_.memory.memtable_bytes),
      release_bytes_(std::min(kReleaseBytesMax, kFlushesPerRelease * flush_bytes_)),
      running_compactions_(parts_.order) {}

Background::~Background() { Stop(false); }

void Background::Nudge() {
  base::Lock lock(mutex_);
  ScheduleLocked();
}

void Background::MemtableSwitched() {
  executor_->ScheduleUrgent([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Nudge();
  });
}

void Background::NoteWrite() {
  wrote_.store(true, std::memory_order_relaxed);
  base::Lock lock(mutex_);
  last_write_nanos_ = clock_->NowNanos();
  ArmTimerLocked();
}

void Background::RequestScanCompaction(format::Bounds bounds) {
  if (parts_.snapshots.oldest().count > 0) return;  // the snapshot needs the deleted keys
  switch_is_wanted_.store(true, std::memory_order_relaxed);
  base::Lock lock(mutex_);
  const uint64_t flushes = counters_.flushes.load(std::memory_order_relaxed);
  if (is_stopping_ || scan_bounds_ || scan_compaction_flushes_ == flushes) return;
  scan_compaction_flushes_ = flushes;
  scan_bounds_ = std::move(bounds);
  TreeChanged();
  ScheduleLocked();
}

// Flushes go in order, so one runs at a time. RunFlush also allocates the standby memtable, the first time
// without a flush.
void Background::ScheduleFlushLocked() {
  // WHY this check is first: a seal notification may arrive after Stop(). Then VersionSet may be gone.
  if (is_stopping_ || is_flushing_) return;
  const bool has_immutable = parts_.version_set.immutable_count() > 0 && MayTryLocked(flush_retry_);
  if (!has_immutable && !standby_is_wanted_) return;
  is_flushing_ = true;
  executor_->ScheduleUrgent([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->RunFlush();
  });
}

void Background::RunFlush() noexcept {
  base::Lock lock(mutex_);
  if (!is_stopping_) {
    lock.Unlock();
    const uint64_t start = clock_->NowNanos();
    const Status status = Flush();
    lock.Relock();
    NoteOutcomeLocked(&flush_retry_, start, status);
    standby_is_wanted_ = false;
    lock.Unlock();
    parts_.make_standby();
    lock.Relock();
  }
  is_flushing_ = false;
  ScheduleLocked();
  changed_.NotifyAll();
}

// Adds a worker if the executor has room for one. A worker that finds a task adds another worker before it
// begins.
void Background::ScheduleLocked() {
  ScheduleFlushLocked();
  if (is_stopping_ || workers_ >= executor_->Parallelism()) return;
  ++workers_;
  executor_->Schedule([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->RunStep();
  });
}

void Background::RunStep() noexcept {
  std::shared_ptr<Running> job;
  base::Lock lock(mutex_);
  const Task task = is_stopping_ ? Task::kNone : ChooseLocked(&job);
  if (task != Task::kNone) {
    ScheduleLocked();
    lock.Unlock();
    Perform(task, job);
    job = nullptr;  // Destroy the job before `--workers_`: once the count is 0, Stop() may have returned.
    lock.Relock();
  }
  --workers_;
  if (task != Task::kNone) ScheduleLocked();
  // WHY only after real work: a waiter schedules a worker when it wakes, so an unconditional notify would
  // make the two wake each other forever.
  if (task != Task::kNone || is_stopping_) changed_.NotifyAll();
}

Background::Task Background::ChooseLocked(std::shared_ptr<Running>* job) {
  const bool may_commit = !is_committing_ && MayTryLocked(commit_retry_);
  if (may_commit && (CommitIsOverdueLocked() || (commit_is_urgent_ && parts_.version_set.HasUncommitted()))) {
    is_committing_ = true;
    return Task::kCommit;
  }
  if (!is_removing_ && parts_.obsolete.HasAny() && MayTryLocked(recycle_retry_)) {
    is_removing_ = true;
    return Task::kRecycle;
  }
  if (!is_removing_ && ExcessRecycledBytesLocked() > 0 && MayTryLocked(removal_retry_) &&
      (clock_->NowNanos() >= removal_not_before_nanos_ || UrgencyLocked() != picker::Urgency::kWriting)) {
    is_removing_ = true;
    return Task::kRemoveRecycled;
  }
  // New jobs before steps of running jobs: a small urgent compaction must not wait for the end of a large
  // one.
  const bool may_pick = picks_jobs_ && !is_picking_ && jobs_.size() < kJobsMax && MayTryLocked(job_retry_);
  if (may_pick && (picked_generation_ != tree_generation_.load(std::memory_order_relaxed) ||
                   picked_urgency_ != UrgencyLocked() || picked_snapshot_ != OldestSnapshot())) {
    is_picking_ = true;
    return Task::kPick;
  }
  for (const auto& running : jobs_) {
    if (running->is_stepping) continue;
    if (*job == nullptr || running->job->pick().input_bytes < (*job)->job->pick().input_bytes) *job = running;
  }
  if (*job != nullptr) {
    (*job)->is_stepping = true;
    return Task::kJob;
  }
  if (may_commit && parts_.version_set.HasUncommitted() &&
      (commit_is_wanted_ || clock_->NowNanos() - last_commit_nanos_ >= kCommitIntervalNanos)) {
    is_committing_ = true;
    return Task::kCommit;
  }
  if (may_flush_idle_ && IsWorthSwitchingLocked()) {
    may_flush_idle_ = false;
    return Task::kSwitchIdleMemtable;
  }
  if (jobs_.empty() && !is_picking_ && UrgencyLocked() != picker::Urgency::kWriting &&
      warmed_generation_ != picked_generation_) {
    warmed_generation_ = picked_generation_;
    return Task::kWarm;
  }
  return Task::kNone;
}

void Background::Perform(Task task, const std::shared_ptr<Running>& job) {
  switch (task) {
    case Task::kNone: return;
    case Task::kCommit: {
      const uint64_t start = clock_->NowNanos();
      const Status status = Commit();
      base::Lock lock(mutex_);
      NoteOutcomeLocked(&commit_retry_, start, status);
      last_commit_nanos_ = clock_->NowNanos();
      commit_is_wanted_ = false;
      commit_is_urgent_ = false;
      is_committing_ = false;
      return;
    }
    case Task::kPick: return PickJob();
    case Task::kJob: return StepJob(job);
    case Task::kRecycle: return RecycleObsolete();
    case Task::kRemoveRecycled: return RemoveRecycled();
    case Task::kSwitchIdleMemtable: return parts_.flush_if_idle();
    case Task::kWarm: return WarmTables();
  }
}

Status Background::Flush() {
  const auto immutable = parts_.version_set.OldestImmutable();
  if (immutable == nullptr) return {};
  const uint64_t start = clock_->NowNanos();
  iterator::CompactionIteratorCounts counts;
  const version::VersionPtr older = parts_.version_set.Current()->version;
  const auto masked_bytes = [&](const kv::RangeTombstones& ranges) {
    return compaction::EstimateMaskedBytes(parts_.order, parts_.tables, *older, kv::Position{UINT64_MAX}, ranges);
  };
  auto sampled = live_sample_.Begin();
  ASSIGN_OR_RETURN(auto flushed, compaction::Flush(parts_.factory, *immutable, parts_.snapshots.Live(),
                                                   parts_.options.compression.upper, &counts, masked_bytes,
                                                   parts_.order.is_bytewise() ? &sampled : nullptr));
  const uint64_t bytes = flushed.bytes();
  RETURN_IF_ERROR(parts_.version_set.InstallFlush(flushed.table, flushed.blob_files));
  SampleFlushed(sampled, flushed);
  TreeChanged();
  counters_.flushes.fetch_add(1, std::memory_order_relaxed);
  counters_.flush_bytes.fetch_add(bytes, std::memory_order_relaxed);
  flushed_bytes_.store(bytes, std::memory_order_relaxed);
  counters_.flush_nanos.fetch_add(clock_->NowNanos() - start, std::memory_order_relaxed);
  UpdateTreeBacklog();
  return {};
}

// No sample if bottommost tables use another codec: a full compaction may then leave fewer bytes than the
// flushed tables suggest.
void Background::SampleFlushed(const compaction::LiveSample::Changes& sampled, const compaction::Flushed& flushed) {
  const CompressionByTier& compression = parts_.options.compression;
  if (compression.bottom != compression.upper && compression.bottom != Compression::kNone) return;
  live_sample_.Apply(sampled, flushed.bytes());
  if (flushed.table != nullptr && flushed.table->range_tombstones > 0) live_sample_.Forget();
}

Status Background::Commit() { return parts_.committer.Commit(parts_.wal_facts, std::nullopt, parts_.wal_released); }

kv::Sequence Background::OldestSnapshot() const {
  const Snapshots::Oldest oldest = parts_.snapshots.oldest();
  return oldest.count > 0 ? oldest.sequence : kv::kSequenceMax;
}

picker::PickInput Background::PickInputFor(const read::SuperVersion& super_version,
                                           const std::vector<picker::RunningCompaction>& running_compactions,
                                           picker::Urgency urgency) const {
  return {.version = *super_version.version,
          .running = running_compactions,
          .style = parts_.options.style,
          .urgency = urgency,
          .flush_bytes = flush_bytes_,
          .flushed_bytes = flushed_bytes_.load(std::memory_order_relaxed),
          .live_bytes_known = live_sample_.BytesAtLeast(),
          .order = parts_.order,
          .oldest_snapshot = OldestSnapshot()};
}

void Background::PickJob() {
  base::Lock lock(mutex_);
  const picker::Urgency urgency = UrgencyLocked();
  const std::optional<Manual> manual = manual_;
  const std::optional<format::Bounds> scan_bounds = scan_bounds_;
  lock.Unlock();

  // WHY the running compactions are read before the SuperVersion: a job that installs its result and is
  // released in between is then seen as running. In the other order the pick would see neither, and could
  // drop tombstones above the keys that the job has just moved down.
  const uint64_t generation = tree_generation_.load(std::memory_order_relaxed);
  const read::SuperVersionPtr old_super_version = nullptr;
  const std::vector<picker::RunningCompaction> running_compactions = running_compactions_.running();
  SCHEDULE_POINT("pick between two checks");
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  const picker::PickInput input = PickInputFor(*super_version, running_compactions, urgency);
  picker::ManualPick manual_pick;
  if (manual) manual_pick = picker::PickManual(input, manual->bounds, manual->newest);
  std::optional<picker::CompactionPick> pick = std::move(manual_pick.pick);
  if (!pick && scan_bounds) pick = picker::PickTombstoneScan(input, *scan_bounds);
  if (!pick) pick = picker::Pick(input);
  // The job starts from the version against which it is claimed: another job that ends in between may take
  // the last keys of a source. WHY flushed_sequence is read before the version: it must not come from a flush
  // that the version lacks.
  const kv::Sequence flushed_sequence = parts_.version_set.flushed_sequence();
  const version::VersionPtr version = parts_.version_set.Current()->version;
  const bool is_added = pick && running_compactions_.Add(*pick, *version);
  std::shared_ptr<Running> running;
  if (is_added) {
    SCHEDULE_POINT("start a claimed job");
    const compaction::CompactionJobContext context{
        .factory = parts_.factory,
        .tables = parts_.tables,
        .values = &parts_.values,
        .clock = clock_,
        .compression = parts_.options.compression,
        .snapshots = [this] { return parts_.snapshots.Live(); },
        .install =
            [this](const format::VersionEdit& edit) {
              Status status = parts_.version_set.Install(edit);
              TreeChanged();
              return status;
            },
        .masked_bytes =
            [this](kv::Position target, const kv::RangeTombstones& ranges) {
              return compaction::EstimateMaskedBytes(parts_.order, parts_.tables,
                                                     *parts_.version_set.Current()->version, target, ranges);
            },
        .find_blob_file =
            [this](kv::FileNumber number) { return parts_.version_set.Current()->version->FindBlobFile(number); },
        .release_bytes = release_bytes_,
        .warm_bytes_max = kWarmShare * parts_.options.memory_bytes,
        .flushed_sequence = flushed_sequence};
    running = std::make_shared<Running>();
    running->job = std::make_unique<compaction::CompactionJob>(context, std::move(*pick), version);
  }

  lock.Relock();
  is_picking_ = false;
  // A request that is blocked now is dropped: the next tombstone-heavy scan asks again.
  if (scan_bounds) {
    scan_bounds_ = std::nullopt;
    if (is_added && running->job->pick().reason == picker::CompactionReason::kTombstoneScan)
      counters_.tombstone_scan_compactions.fetch_add(1, std::memory_order_relaxed);
  }
  if (running != nullptr) {
    jobs_.push_back(std::move(running));
    const uint64_t at_once = jobs_.size();
    if (at_once > counters_.compactions_at_once_max.load()) counters_.compactions_at_once_max.store(at_once);
  } else if (!pick) {
    picked_generation_ = generation;
    picked_urgency_ = urgency;
    picked_snapshot_ = input.oldest_snapshot;
  }
  const uint64_t runs = super_version->version->runs().size();
  if (runs > counters_.runs_max.load()) counters_.runs_max.store(runs);
  const bool is_for_manual = manual && manual_ && manual->id == manual_->id;
  if (is_for_manual && manual_pick.is_done) manual_is_done_ = true;
}

void Background::StepJob(const std::shared_ptr<Running>& running) {
  const uint64_t start = clock_->NowNanos();
  compaction::CompactionJob& job = *running->job;
  const Result<bool> done = job.Step(kStepNanos);
  counters_.compaction_nanos.fetch_add(clock_->NowNanos() - start, std::memory_order_relaxed);

  if (done && !*done) {
    base::Lock lock(mutex_);
    running->is_stepping = false;
    return;
  }
  const auto& counts = job.counts();
  if (done) {
    (job.pick().is_move ? counters_.moves : counters_.jobs).fetch_add(1, std::memory_order_relaxed);
  } else {
    counters_.jobs_failed.fetch_add(1, std::memory_order_relaxed);
  }
  counters_.compaction_bytes_read.fetch_add(counts.bytes_read, std::memory_order_relaxed);
  counters_.compaction_bytes_written.fetch_add(counts.bytes_written, std::memory_order_relaxed);
  counters_.compaction_bytes_unread.fetch_add(counts.bytes_unread, std::memory_order_relaxed);
  counters_.blob_bytes_moved.fetch_add(counts.blob_bytes_moved, std::memory_order_relaxed);
  counters_.compaction_entries_in.fetch_add(counts.collapse.entries_in, std::memory_order_relaxed);
  counters_.compaction_entries_out.fetch_add(counts.collapse.entries_out, std::memory_order_relaxed);
  running_compactions_.Release(job.pick());
  std::unique_ptr<compaction::CompactionJob> ended;
  {
    base::Lock lock(mutex_);
    ended = std::exchange(running->job, nullptr);
  }
  ended = nullptr;  // releases its inputs
  {
    base::Lock lock(mutex_);
    std::erase(jobs_, running);
    ArmTimerLocked();  // iterators may still pin files that are now obsolete
    NoteOutcomeLocked(&job_retry_, start, done ? Status() : done.error());
    job_ended_nanos_ = clock_->NowNanos();
    for (Retry* retry : {&flush_retry_, &commit_retry_}) {
      if (retry->status.IsBusy()) *retry = {};  // the inputs' descriptors are free
    }
    changed_.NotifyAll();
  }
  TreeChanged();
  UpdateTreeBacklog();
}

// Obsolete files become recycled files, which new files may overwrite. A file that cannot be recycled is
// removed.
void Background::RecycleObsolete() {
  const uint64_t start = clock_->NowNanos();
  Status failure;
  for (const auto& file : parts_.obsolete.Take()) {
    file.kind == format::FileKind::kTable ? parts_.tables.Evict(file.number) : parts_.values.Evict(file.number);
    if (!parts_.committer.SyncHasFailed(file.number) && parts_.recycled_files.Keep(file)) continue;
    Status status = parts_.options.env.file_system->Remove(format::FilePath(parts_.directory, file.kind, file.number));
    if (status.ok() || status.IsNotFound()) {
      parts_.obsolete.Removed(file);
      counters_.files_removed.fetch_add(1, std::memory_order_relaxed);
    } else {
      parts_.obsolete.PutBack(file);
      failure = std::move(status);
    }
  }
  base::Lock lock(mutex_);
  is_removing_ = false;
  NoteOutcomeLocked(&recycle_retry_, start, failure);
}

// While writes come, a slow removal ends the step and a rest follows, since removals delay other disk access
// (picker/write_delay.h).
void Background::RemoveRecycled() {
  base::Lock lock(mutex_);
  uint64_t rest_nanos = 0;
  while (rest_nanos == 0 && !is_stopping_ && ExcessRecycledBytesLocked() > 0) {
    lock.Unlock();
    const uint64_t start = clock_->NowNanos();
    const Status status = parts_.recycled_files.RemoveOldest();
    const uint64_t took_nanos = clock_->NowNanos() - start;
    lock.Relock();
    NoteOutcomeLocked(&removal_retry_, start, status);
    if (!status.ok()) break;
    if (UrgencyLocked() != picker::Urgency::kWriting) continue;
    rest_nanos = picker::RemovalRestNanos(took_nanos, ExcessRecycledBytesLocked(),
                                          backlog_upper_bytes_max_.load(std::memory_order_relaxed) / 4);
  }
  is_removing_ = false;
  if (rest_nanos == 0) return;
  removal_not_before_nanos_ = clock_->NowNanos() + rest_nanos;
  executor_->ScheduleAfter(rest_nanos, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Nudge();
  });
}

uint64_t Background::ExcessRecycledBytesLocked() const {
  const uint64_t bytes = parts_.recycled_files.bytes();
  return bytes - std::min(bytes, RecycledBytesMaxLocked(IsIdleLocked() ? UrgencyLocked() : picker::Urgency::kWriting));
}

// The room that the space bound leaves, but while writes come at least release_bytes_: a compaction releases
// that much at once and writes as much before its next release. 0 if the disk is full, or if no writes are
// expected soon (kIdle).
uint64_t Background::RecycledBytesMaxLocked(picker::Urgency urgency) const {
  for (const Retry* retry : RetriesLocked()) {
    if (retry->status.IsNoSpace()) return 0;
  }
  const uint64_t on_disk = parts_.obsolete.bytes_on_disk();
  const uint64_t others = on_disk - std::min(on_disk, parts_.recycled_files.bytes());
  const auto room = [&](const std::atomic<uint64_t>& allowed_bytes) {
    const uint64_t allowed = allowed_bytes.load(std::memory_order_relaxed);
    return allowed - std::min(allowed, others);
  };
  switch (urgency) {
    case picker::Urgency::kWriting: return std::max(release_bytes_, room(allowed_bytes_));
    case picker::Urgency::kQuiet: return room(allowed_quiet_bytes_);
    case picker::Urgency::kIdle: return 0;
  }
  return 0;
}

bool Background::IsIdleLocked() const {
  return UrgencyLocked() != picker::Urgency::kWriting && jobs_.empty() && !is_picking_ && !is_flushing_ &&
         picked_generation_ == tree_generation_.load(std::memory_order_relaxed) && picked_urgency_ == UrgencyLocked() &&
         !parts_.version_set.HasUncommitted();
}

// WHY at least 1/64 of the tree's bytes: the flushed table is compacted into the one run next, which may
// rewrite the whole run.
bool Background::IsWorthSwitchingLocked() const {
  constexpr uint64_t kShare = 64;
  if (!IsIdleLocked() || UrgencyLocked() != picker::Urgency::kIdle) return false;
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  return !super_version->active->empty() &&
         super_version->active->bytes_used() * kShare >= super_version->version->bytes_on_disk();
}

// Reads tables into the page cache, the newest runs first, each table once, up to kWarmShare times
// memory_bytes.
void Background::WarmTables() {
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  const uint64_t warmed_below = warmed_below_.load();
  uint64_t budget = kWarmShare * parts_.options.memory_bytes;
  uint64_t next = warmed_below;
  for (const auto& run : super_version->version->runs()) {
    for (const auto& virtual_table : run->virtual_tables()) {
      const uint64_t number = kv::ToInt(virtual_table.file->number);
      next = std::max(next, number + 1);
      if (virtual_table.file->bytes > budget) continue;
      budget -= virtual_table.file->bytes;
      if (number < warmed_below) continue;
      if (auto reader = parts_.tables.Open(virtual_table.file)) (*reader)->Warm();
    }
  }
  // Then blob files, the newest first, until one does not fit the rest of the budget.
  const auto& blob_files = super_version->version->blob_files();
  for (auto each = blob_files.rbegin(); each != blob_files.rend(); ++each) {
    const uint64_t number = kv::ToInt(each->file->number);
    next = std::max(next, number + 1);
    if (each->file->bytes > budget) break;
    budget -= each->file->bytes;
    if (number < warmed_below) continue;
    if (auto reader = parts_.values.Open(*each->file)) (*reader)->Warm();
  }
  warmed_below_.store(next);
}

bool Background::CommitIsOverdueLocked() const {
  if (!parts_.version_set.HasUncommitted()) return false;
  const uint64_t dead = parts_.version_set.uncommitted_obsolete_bytes();
  return parts_.version_set.UncommittedWalBytes() > parts_.memory.wal_quota_bytes / 2 ||
         dead > std::max<uint64_t>(parts_.memory.wal_quota_bytes, parts_.obsolete.bytes_on_disk() / 32);
}

// Work that began before a call and failed is retried at once for the call: the cause may be gone.
void Background::RetryWorkBeforeLocked(uint64_t nanos) {
  for (Retry* retry : {&flush_retry_, &commit_retry_, &job_retry_, &recycle_retry_, &removal_retry_}) {
    if (retry->began_nanos < nanos) *retry = {};
  }
}

// WHY a lack of descriptors is no failure while a job runs: the job may hold one for each sorted run, and closes
// them when it ends.
bool Background::HasFailedLocked(const Retry& retry) const {
  return !retry.status.ok() && !(retry.status.IsBusy() && !jobs_.empty());
}

bool Background::MayTryLocked(const Retry& retry) const {
  return retry.status.ok() || clock_->NowNanos() >= retry.not_before_nanos;
}

// WHY a lack of descriptors during a job that ended meanwhile is no failure: its inputs' descriptors are free now.
void Background::NoteOutcomeLocked(Retry* retry, uint64_t began_nanos, const Status& status) {
  if (status.ok() || (status.IsBusy() && retry != &job_retry_ && began_nanos < job_ended_nanos_)) {
    *retry = {};
    return;
  }
  retry->pause_nanos = std::clamp(2 * retry->pause_nanos, kRetryFirstNanos, kRetryLastNanos);
  retry->not_before_nanos = clock_->NowNanos() + retry->pause_nanos;
  retry->began_nanos = began_nanos;
  retry->status = status;
  if (parts_.options.env.logger != nullptr) parts_.options.env.logger->Log("background: " + status.ToString());
  ArmTimerLocked();
}

picker::Urgency Background::UrgencyLocked() const {
  if (!wanted_.empty()) return *std::max_element(wanted_.begin(), wanted_.end());
  const uint64_t since = clock_->NowNanos() - last_write_nanos_;
  return since < kQuietAfterNanos  ? picker::Urgency::kWriting
         : since < kIdleAfterNanos ? picker::Urgency::kQuiet
                                   : picker::Urgency::kIdle;
}

bool Background::NeedsNoCompactionLocked(picker::Urgency urgency) const {
  if (parts_.version_set.immutable_count() > 0 || is_flushing_ || is_committing_ || !jobs_.empty() || is_picking_)
    return false;
  if (parts_.version_set.HasUncommitted() || parts_.obsolete.HasAny() || is_removing_ ||
      parts_.recycled_files.bytes() > RecycledBytesMaxLocked(urgency))
    return false;
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  const std::vector<picker::RunningCompaction> none;
  return picker::NeedsNoCompaction(PickInputFor(*super_version, none, urgency));
}

void Background::UpdateTreeBacklog() {
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  const std::vector<picker::RunningCompaction> none;
  picker::PickInput input = PickInputFor(*super_version, none, picker::Urgency::kQuiet);
  allowed_quiet_bytes_.store(picker::BytesAllowed(input), std::memory_order_relaxed);
  input.urgency = picker::Urgency::kWriting;
  backlog_runs_.store(super_version->version->runs().size(), std::memory_order_relaxed);
  allowed_bytes_.store(picker::BytesAllowed(input), std::memory_order_relaxed);
  backlog_upper_bytes_.store(picker::BytesOverBound(input), std::memory_order_relaxed);
  backlog_upper_bytes_max_.store(picker::BytesOverBoundMax(input), std::memory_order_relaxed);
  UpdateWriteDelay();
}

void Background::UpdateWriteDelay() {
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  const uint64_t unflushed =
      super_version->immutable.size() * parts_.memory.memtable_bytes + super_version->active->bytes_used();
  const picker::Backlog backlog{.staged_bytes = parts_.wal_backlog(),
                                .staging_bytes_max = parts_.memory.undrained_bytes_max,
                                .unflushed_bytes = unflushed,
                                .unflushed_bytes_max = parts_.memory.memtables_max * parts_.memory.memtable_bytes,
                                .runs = backlog_runs_.load(std::memory_order_relaxed),
                                .runs_max = kRunsMax,
                                .upper_bytes = backlog_upper_bytes_.load(std::memory_order_relaxed),
                                .upper_bytes_max = backlog_upper_bytes_max_.load(std::memory_order_relaxed)};
  parts_.write_delay.SetRate(picker::DelayNanos(backlog, 1024, parts_.options.write_delay_us_max));
}

void Background::ArmTimerLocked() {
  if (timer_is_armed_ || is_stopping_) return;
  timer_is_armed_ = true;
  uint64_t nanos = kSecond;
  for (const Retry* retry : RetriesLocked()) {
    if (!retry->status.ok()) nanos = std::min(nanos, retry->pause_nanos);
  }
  executor_->ScheduleAfter(nanos, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnTimer();
  });
}

// Runs once a second while writes come, until no compaction is needed after the last write. It goes on while
// iterators or snapshots pin obsolete data: nothing signals their release.
void Background::OnTimer() {
  base::Lock lock(mutex_);
  timer_is_armed_ = false;
  if (is_stopping_) return;
  const uint64_t now = clock_->NowNanos();
  if (wrote_.exchange(false, std::memory_order_relaxed)) last_write_nanos_ = now;
  const bool is_over = now - last_write_nanos_ > kIdleAfterNanos + kSecond && jobs_.empty() &&
                       parts_.snapshots.oldest().count == 0 &&
                       parts_.obsolete.bytes_on_disk() <= parts_.version_set.Current()->version->bytes_on_disk() &&
                       NeedsNoCompactionLocked(picker::Urgency::kIdle);
  if (!is_over) ArmTimerLocked();
  may_flush_idle_ = true;  // one attempt per tick: an active writer prevents it
  ScheduleLocked();
  changed_.NotifyAll();
}

void Background::Stop(bool finish_jobs) {
  base::Lock lock(mutex_);
  if (finish_jobs) {
    picks_jobs_ = false;
    while (!jobs_.empty() && !is_stopping_) {
      ScheduleLocked();
      lock.Unlock();
      const bool ran = executor_->RunOne();
      lock.Relock();
      if (!ran && !jobs_.empty()) changed_.WaitFor(lock, kSecond / 10);
    }
  }
  is_stopping_ = true;
  changed_.NotifyAll();
  while (workers_ > 0 || is_flushing_) {
    lock.Unlock();
    const bool ran = executor_->RunOne();
    lock.Relock();
    if (!ran && (workers_ > 0 || is_flushing_)) changed_.WaitFor(lock, kSecond / 10);
  }
  auto jobs = std::exchange(jobs_, {});
  lock.Unlock();
}

Status Background::WaitUntil(Needs needs, const std::function<bool()>& is_done) {
  const uint64_t start = clock_->NowNanos();
  base::Lock lock(mutex_);
  while (!is_done()) {
    RetryWorkBeforeLocked(start);
    if (is_stopping_) return Status::ShuttingDown("the database is closing");
    if (HasFailedLocked(flush_retry_)) return read::OfWrite(flush_retry_.status, parts_.directory);
    if (needs >= Needs::kCommits && HasFailedLocked(commit_retry_))
      return read::OfWrite(commit_retry_.status, parts_.directory);
    if (needs >= Needs::kCompactions && !job_retry_.status.ok())
      return read::OfWrite(job_retry_.status, parts_.directory);
    for (const Retry* retry : {&recycle_retry_, &removal_retry_}) {
      if (needs >= Needs::kRemovals && !retry->status.ok()) return read::OfWrite(retry->status, parts_.directory);
    }
    ScheduleLocked();
    lock.Unlock();
    const bool ran = executor_->RunOne();
    lock.Relock();
    if (!ran && !is_done()) changed_.WaitFor(lock, kSecond / 10);
  }
  return {};
}

bool Background::WaitForJobEnd() {
  base::Lock lock(mutex_);
  const uint64_t ended = job_ended_nanos_;
  while (!is_stopping_ && !jobs_.empty() && job_ended_nanos_ == ended) {
    ScheduleLocked();
    lock.Unlock();
    const bool ran = executor_->RunOne();
    lock.Relock();
    if (!ran && !jobs_.empty() && job_ended_nanos_ == ended) changed_.WaitFor(lock, kSecond / 10);
  }
  return job_ended_nanos_ != ended;
}

Status Background::WaitForFlush() {
  const kv::Sequence end = parts_.version_set.immutable_end();
  RETURN_IF_ERROR(WaitUntil(Needs::kCommits, [&] { return parts_.version_set.flushed_end() >= end; }));
  const uint64_t changes = parts_.version_set.changes();
  return WaitUntil(Needs::kCommits, [&] {
    if (parts_.version_set.committed_changes() >= changes) return true;
    commit_is_urgent_ = true;
    return false;
  });
}

Status Background::WaitForCompactions(picker::Urgency urgency) {
  {
    base::Lock lock(mutex_);
    wanted_.push_back(urgency);
  }
  Status status = WaitUntil(Needs::kRemovals, [&] {
    if (NeedsNoCompactionLocked(urgency)) return true;
    commit_is_wanted_ = true;
    return false;
  });
  base::Lock lock(mutex_);
  wanted_.erase(std::find(wanted_.begin(), wanted_.end(), urgency));
  return status;
}

// One call at a time: a call waits until `manual_` is empty and sets it under the same lock.
Status Background::CompactRange(const format::Bounds& bounds) {
  uint64_t id = 0;
  RETURN_IF_ERROR(WaitUntil(Needs::kCompactions, [&] {
    if (id != 0) return true;
    if (manual_) return false;
    id = ++manual_count_;
    const read::SuperVersionPtr super_version = parts_.version_set.Current();
    const auto& runs = super_version->version->runs();
    manual_ = Manual{.id = id, .bounds = bounds, .newest = runs.empty() ? kv::Position{} : runs.front()->position()};
    manual_is_done_ = false;
    return true;
  }));
  TreeChanged();
  Status status = WaitUntil(Needs::kCompactions, [this] {
    if (manual_is_done_) return true;
    if (jobs_.empty() && !is_picking_) TreeChanged();  // pick again
    return false;
  });
  {
    base::Lock lock(mutex_);
    manual_ = std::nullopt;
    changed_.NotifyAll();  // the next call may set `manual_`
  }
  return status.ok() ? WaitForFlush() : status;
}

Status Background::error() const {
  base::Lock lock(mutex_);
  for (const Retry* retry : RetriesLocked()) {
    if (!retry->status.ok()) return retry->status;
  }
  return {};
}

std::string Background::DescribeJobs() const {
  base::Lock lock(mutex_);
  std::string text;
  for (const auto& running : jobs_) {
    if (running->job == nullptr) continue;  // it is ending
    const picker::CompactionPick& pick = running->job->pick();
    text += std::string(picker::CompactionReasonName(pick.reason)) + ": " + std::to_string(pick.sources.size()) +
            " runs, " + std::to_string(pick.input_bytes) + " bytes, to level " + std::to_string(pick.target_level) +
            "\n";
  }
  return text;
}

}  // namespace mergedb::db
