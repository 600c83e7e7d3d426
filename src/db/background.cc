#include "db/background.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/schedule_point.h"
#include "base/zoo.h"
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
constexpr uint64_t kCommitIntervalNanos = kSecond / 10;  // when nothing presses
constexpr uint64_t kRetryFirstNanos = kSecond / 10;
constexpr uint64_t kRetryLastNanos = 5 * kSecond;
// Outputs of a job between two releases: few, but small databases are not to hold twice their size either.
constexpr uint64_t kReleaseBytesMax = uint64_t{64} << 20;
constexpr uint64_t kFlushesPerRelease = 8;
constexpr size_t kJobsMax = 4;  // each holds read buffers for all of its inputs
constexpr uint64_t kWarmShare = 4;  // of memory_bytes: the page cache is not ours
// Sorted runs at which writers are slowed down as far as they may be.
constexpr uint64_t kRunsMax = 128;

}  // namespace

Background::Background(Parts parts)
    : parts_(std::move(parts)),
      clock_(parts_.options.env.clock),
      executor_(parts_.options.env.executor),
      flush_bytes_(parts_.memory.memtable_bytes),
      release_bytes_(std::min(kReleaseBytesMax, kFlushesPerRelease * flush_bytes_)),
      ledger_(parts_.order) {}

Background::~Background() { Stop(false); }

void Background::Nudge() {
  base::Lock lock(mutex_);
  ScheduleLocked();
}

void Background::SealHappened() {
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

void Background::Sweep(format::Bounds bounds) {
  if (parts_.snapshots.oldest().count > 0) return;  // it needs what would be swept
  seal_is_wanted_.store(true, std::memory_order_relaxed);
  base::Lock lock(mutex_);
  const uint64_t flushes = counters_.flushes.load(std::memory_order_relaxed);
  if (is_stopping_ || sweep_ || swept_flushes_ == flushes) return;
  swept_flushes_ = flushes;
  sweep_ = std::move(bounds);
  TreeChanged();
  ScheduleLocked();
}

// Flushes go in order, so there is one at a time. After each, and at first, a memory for the next memtable is made ready.
void Background::ScheduleFlushLocked() {
  // WHY first: nobody waits for the word of a seal to be heard. Once this stops, the rest of the database may be gone.
  if (is_stopping_ || is_flushing_) return;
  const bool has_sealed = parts_.shape.sealed_count() > 0 && MayTryLocked(flush_retry_);
  if (!has_sealed && !standby_is_wanted_) return;
  is_flushing_ = true;
  executor_->ScheduleUrgent([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->RunFlush();
  });
}

void Background::RunFlush() noexcept {
  base::Lock lock(mutex_);
  if (!is_stopping_) {
    lock.Unlock();
    const Status status = Flush();
    lock.Relock();
    NoteOutcomeLocked(&flush_retry_, status);
    standby_is_wanted_ = false;
    lock.Unlock();
    parts_.make_standby();
    lock.Relock();
  }
  is_flushing_ = false;
  ScheduleLocked();
  changed_.NotifyAll();
}

// One more worker, if there is room for one. A worker that finds a task asks for another before it begins.
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
  // WHY not whenever it ends: who waits asks for a worker when it wakes, and the two would wake each other for as long as others work.
  if (task != Task::kNone || is_stopping_) changed_.NotifyAll();
}

Background::Task Background::ChooseLocked(std::shared_ptr<Running>* job) {
  const bool may_commit = !is_committing_ && MayTryLocked(commit_retry_);
  if (may_commit && (CommitIsOverdueLocked() || (commit_is_urgent_ && parts_.shape.HasUncommitted()))) {
    is_committing_ = true;
    return Task::kCommit;
  }
  if (!is_removing_ && parts_.obsolete.HasBuried() && MayTryLocked(burial_retry_)) {
    is_removing_ = true;
    return Task::kBury;
  }
  if (!is_removing_ && ExcessSpareBytesLocked() > 0 && MayTryLocked(removal_retry_) &&
      (clock_->NowNanos() >= removal_not_before_nanos_ || PressureLocked() != picker::Pressure::kWriting)) {
    is_removing_ = true;
    return Task::kRemoveSpares;
  }
  // New jobs before steps of old ones: a small urgent merge must not wait for a large one to end.
  const bool may_pick = picks_jobs_ && !is_picking_ && jobs_.size() < kJobsMax && MayTryLocked(job_retry_);
  if (may_pick && (picked_generation_ != tree_generation_.load(std::memory_order_relaxed) ||
                   picked_pressure_ != PressureLocked() || picked_snapshot_ != OldestSnapshot())) {
    is_picking_ = true;
    return Task::kPick;
  }
  for (const auto& running : jobs_) {
    if (running->is_stepping) continue;
    if (*job == nullptr || running->job->plan().input_bytes < (*job)->job->plan().input_bytes) *job = running;
  }
  if (*job != nullptr) {
    (*job)->is_stepping = true;
    return Task::kJob;
  }
  if (may_commit && parts_.shape.HasUncommitted() &&
      (commit_is_wanted_ || clock_->NowNanos() - last_commit_nanos_ >= kCommitIntervalNanos)) {
    is_committing_ = true;
    return Task::kCommit;
  }
  if (may_seal_at_rest_ && IsWorthSealingLocked()) {
    may_seal_at_rest_ = false;
    return Task::kSeal;
  }
  if (jobs_.empty() && !is_picking_ && PressureLocked() != picker::Pressure::kWriting &&
      warmed_generation_ != picked_generation_) {
    warmed_generation_ = picked_generation_;
    return Task::kWarm;
  }
  return Task::kNone;
}

void Background::Perform(Task task, const std::shared_ptr<Running>& job) {
  switch (task) {
    case Task::kNone:
      return;
    case Task::kCommit: {
      const Status status = Commit();
      base::Lock lock(mutex_);
      NoteOutcomeLocked(&commit_retry_, status);
      last_commit_nanos_ = clock_->NowNanos();
      commit_is_wanted_ = false;
      commit_is_urgent_ = false;
      is_committing_ = false;
      return;
    }
    case Task::kPick:
      return PickJob();
    case Task::kJob:
      return StepJob(job);
    case Task::kBury:
      return BuryObsolete();
    case Task::kRemoveSpares:
      return RemoveSpares();
    case Task::kSeal:
      return parts_.seal_at_rest();
    case Task::kWarm:
      return WarmTables();
  }
}

Status Background::Flush() {
  const auto sealed = parts_.shape.OldestSealed();
  if (sealed == nullptr) return {};
  const uint64_t start = clock_->NowNanos();
  iterator::CollapseCounts counts;
  const version::VersionPtr older = parts_.shape.Current()->version;
  const auto covered_bytes = [&](const kv::RangeTombstones& ranges) {
    return compaction::EstimateCoveredBytes(parts_.order, parts_.tables, *older, kv::Position{UINT64_MAX}, ranges);
  };
  auto sampled = live_sample_.Begin();
  ASSIGN_OR_RETURN(auto flushed, compaction::Flush(parts_.factory, *sealed, parts_.snapshots.Live(),
                                                   parts_.options.compression.upper, &counts, covered_bytes,
                                                   parts_.order.is_bytewise() ? &sampled : nullptr));
  const uint64_t bytes = flushed.bytes();
  RETURN_IF_ERROR(parts_.shape.InstallFlush(flushed.table, flushed.value_files));
  SampleFlushed(sampled, flushed);
  TreeChanged();
  counters_.flushes.fetch_add(1, std::memory_order_relaxed);
  counters_.flush_bytes.fetch_add(bytes, std::memory_order_relaxed);
  flushed_bytes_.store(bytes, std::memory_order_relaxed);
  counters_.flush_nanos.fetch_add(clock_->NowNanos() - start, std::memory_order_relaxed);
  UpdateTreeDebt();
  return {};
}

// Where the bottom run is compressed otherwise, what a full compaction leaves may be smaller.
void Background::SampleFlushed(const compaction::LiveSample::Changes& sampled, const compaction::Flushed& flushed) {
  const CompressionByTier& compression = parts_.options.compression;
  if (compression.bottom != compression.upper && compression.bottom != Compression::kNone) return;
  live_sample_.Apply(sampled, flushed.bytes());
  if (flushed.table != nullptr && flushed.table->range_tombstones > 0 && !ZOO(kDeletedRangeStaysLive)) live_sample_.Forget();
}

Status Background::Commit() {
  return parts_.shape.Commit(parts_.log_facts, std::nullopt, parts_.log_released);
}

kv::Sequence Background::OldestSnapshot() const {
  const Snapshots::Oldest oldest = parts_.snapshots.oldest();
  return oldest.count > 0 ? oldest.sequence : kv::kSequenceMax;
}

picker::PickInput Background::PickInputFor(const read::View& view, const std::vector<picker::Busy>& busy,
                                           picker::Pressure pressure) const {
  return {.version = *view.version,
          .busy = busy,
          .style = parts_.options.style,
          .pressure = pressure,
          .flush_bytes = flush_bytes_,
          .flushed_bytes = flushed_bytes_.load(std::memory_order_relaxed),
          .live_bytes_known = live_sample_.BytesAtLeast(),
          .order = parts_.order,
          .oldest_snapshot = OldestSnapshot()};
}

void Background::PickJob() {
  base::Lock lock(mutex_);
  const picker::Pressure pressure = PressureLocked();
  const std::optional<Manual> manual = manual_;
  const std::optional<format::Bounds> sweep = sweep_;
  lock.Unlock();

  // WHY in this order: a job that installs its result and is released in between is still busy for this pick. The other way around it
  // would be in neither, and a plan could drop tombstones above what that job has just moved down.
  const uint64_t generation = tree_generation_.load(std::memory_order_relaxed);
  const read::ViewPtr old_view = ZOO(kPickedFromOldView) ? parts_.shape.Current() : nullptr;
  if (ZOO(kPickedFromOldView)) SCHEDULE_POINT("pick between two looks");
  const std::vector<picker::Busy> busy = ledger_.busy();
  SCHEDULE_POINT("pick between two looks");
  const read::ViewPtr view = ZOO(kPickedFromOldView) ? old_view : parts_.shape.Current();
  const picker::PickInput input = PickInputFor(*view, busy, pressure);
  picker::ManualPick manual_pick;
  if (manual) manual_pick = picker::PickManual(input, manual->bounds, manual->newest);
  std::optional<picker::Plan> plan = std::move(manual_pick.plan);
  if (!plan && sweep) plan = picker::PickSweep(input, *sweep);
  if (!plan) plan = picker::Pick(input);
  // A job starts from the version that it is claimed on: a job that ends in between may take the last keys of a source.
  // WHY the sequence first: it must not be of a flush that this version lacks.
  const kv::Sequence flushed_sequence = parts_.shape.flushed_sequence();
  const version::VersionPtr version = ZOO(kPickedFromOldView) ? view->version : parts_.shape.Current()->version;
  const bool is_claimed = plan && ledger_.Claim(*plan, *version);
  std::shared_ptr<Running> running;
  if (is_claimed) {
    SCHEDULE_POINT("start a claimed job");
    const compaction::JobContext context{
        .factory = parts_.factory,
        .tables = parts_.tables,
        .values = &parts_.values,
        .clock = clock_,
        .compression = parts_.options.compression,
        .snapshots = [this] { return parts_.snapshots.Live(); },
        .install =
            [this](const format::Edit& edit) {
              Status status = parts_.shape.Install(edit);
              TreeChanged();
              return status;
            },
        .covered_bytes =
            [this](kv::Position target, const kv::RangeTombstones& ranges) {
              return compaction::EstimateCoveredBytes(parts_.order, parts_.tables, *parts_.shape.Current()->version, target, ranges);
            },
        .find_value_file = [this](kv::FileNumber number) { return parts_.shape.Current()->version->FindValueFile(number); },
        .release_bytes = release_bytes_,
        .warm_bytes_max = kWarmShare * parts_.options.memory_bytes,
        .flushed_sequence = flushed_sequence};
    running = std::make_shared<Running>();
    running->job = std::make_unique<compaction::Job>(context, std::move(*plan), version);
  }

  lock.Relock();
  is_picking_ = false;
  // A sweep that is blocked now is given up: the next move that wades asks again.
  if (sweep) {
    sweep_ = std::nullopt;
    if (is_claimed && running->job->plan().reason == picker::Reason::kSwept) counters_.sweeps.fetch_add(1, std::memory_order_relaxed);
  }
  if (running != nullptr) {
    jobs_.push_back(std::move(running));
    const uint64_t at_once = jobs_.size();
    if (at_once > counters_.jobs_at_once_max.load()) counters_.jobs_at_once_max.store(at_once);
  } else if (!plan) {
    picked_generation_ = generation;
    picked_pressure_ = pressure;
    picked_snapshot_ = input.oldest_snapshot;
  }
  const uint64_t runs = view->version->runs().size();
  if (runs > counters_.runs_max.load()) counters_.runs_max.store(runs);
  const bool is_for_manual = manual && manual_ && manual->id == manual_->id;
  if (is_for_manual && manual_pick.is_done) manual_is_done_ = true;
}

void Background::StepJob(const std::shared_ptr<Running>& running) {
  const uint64_t start = clock_->NowNanos();
  compaction::Job& job = *running->job;
  const Result<bool> done = job.Step(kStepNanos);
  counters_.merge_nanos.fetch_add(clock_->NowNanos() - start, std::memory_order_relaxed);

  if (done && !*done) {
    base::Lock lock(mutex_);
    running->is_stepping = false;
    return;
  }
  const auto& counts = job.counts();
  if (done) {
    (job.plan().is_move ? counters_.moves : counters_.jobs).fetch_add(1, std::memory_order_relaxed);
  } else {
    counters_.jobs_failed.fetch_add(1, std::memory_order_relaxed);
  }
  counters_.merge_bytes_read.fetch_add(counts.bytes_read, std::memory_order_relaxed);
  counters_.merge_bytes_written.fetch_add(counts.bytes_written, std::memory_order_relaxed);
  counters_.merge_bytes_unread.fetch_add(counts.bytes_unread, std::memory_order_relaxed);
  counters_.value_bytes_moved.fetch_add(counts.value_bytes_moved, std::memory_order_relaxed);
  counters_.merge_entries_in.fetch_add(counts.collapse.entries_in, std::memory_order_relaxed);
  counters_.merge_entries_out.fetch_add(counts.collapse.entries_out, std::memory_order_relaxed);
  ledger_.Release(job.plan());
  {
    base::Lock lock(mutex_);
    std::erase(jobs_, running);
    ArmTimerLocked();  // cursors may pin what is obsolete now
    NoteOutcomeLocked(&job_retry_, done ? Status() : done.error());
  }
  running->job = nullptr;  // lets go of its inputs
  TreeChanged();
  UpdateTreeDebt();
}

// They become spares, which may be written over as long as they are not removed.
void Background::BuryObsolete() {
  Status failure;
  for (const auto& file : parts_.obsolete.Take()) {
    if (ZOO(kObsoleteTablesKept)) continue;
    file.kind == format::FileKind::kTable ? parts_.tables.Evict(file.number) : parts_.values.Evict(file.number);
    if (!parts_.shape.SyncHasFailed(file.number) && parts_.spares.Keep(file)) continue;
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
  NoteOutcomeLocked(&burial_retry_, failure);
}

// Until one took long: then a rest, for the sake of those who write.
void Background::RemoveSpares() {
  base::Lock lock(mutex_);
  uint64_t rest_nanos = 0;
  while (rest_nanos == 0 && !is_stopping_ && ExcessSpareBytesLocked() > 0) {
    lock.Unlock();
    const uint64_t start = clock_->NowNanos();
    const Status status = parts_.spares.RemoveOldest();
    const uint64_t took_nanos = clock_->NowNanos() - start;
    lock.Relock();
    NoteOutcomeLocked(&removal_retry_, status);
    if (!status.ok()) break;
    if (PressureLocked() != picker::Pressure::kWriting) continue;
    rest_nanos = picker::RemovalRestNanos(took_nanos, ExcessSpareBytesLocked(), debt_upper_bytes_max_.load(std::memory_order_relaxed) / 4);
  }
  is_removing_ = false;
  if (rest_nanos == 0) return;
  removal_not_before_nanos_ = clock_->NowNanos() + rest_nanos;
  executor_->ScheduleAfter(rest_nanos, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Nudge();
  });
}

uint64_t Background::ExcessSpareBytesLocked() const {
  const uint64_t bytes = parts_.spares.bytes();
  return bytes - std::min(bytes, SpareBytesMaxLocked(IsAtRestLocked() ? PressureLocked() : picker::Pressure::kWriting));
}

// As many as the space bound has room for, and where it has none what a merge releases at once: it writes as much before the
// next release. None when the disk has no room for anything else, nor when nothing will be written soon.
uint64_t Background::SpareBytesMaxLocked(picker::Pressure pressure) const {
  for (const Retry* retry : RetriesLocked()) {
    if (retry->status.IsNoSpace()) return 0;
  }
  const uint64_t on_disk = parts_.obsolete.bytes_on_disk();
  const uint64_t others = on_disk - std::min(on_disk, parts_.spares.bytes());
  const auto room = [&](const std::atomic<uint64_t>& allowed_bytes) {
    const uint64_t allowed = allowed_bytes.load(std::memory_order_relaxed);
    return allowed - std::min(allowed, others);
  };
  switch (pressure) {
    case picker::Pressure::kWriting: return std::max(release_bytes_, room(allowed_bytes_));
    case picker::Pressure::kQuiet: return room(allowed_quiet_bytes_);
    case picker::Pressure::kIdle: return 0;
  }
  return 0;
}

bool Background::IsAtRestLocked() const {
  return PressureLocked() != picker::Pressure::kWriting && jobs_.empty() && !is_picking_ && !is_flushing_ &&
         picked_generation_ == tree_generation_.load(std::memory_order_relaxed) && picked_pressure_ == PressureLocked() &&
         !parts_.shape.HasUncommitted();
}

// WHY not whatever it holds: what is flushed is merged into the one run next, which may rewrite all of it. Who writes a little now and then has
// that done once for each 64th of the tree at most.
bool Background::IsWorthSealingLocked() const {
  constexpr uint64_t kShare = 64;
  if (!IsAtRestLocked() || PressureLocked() != picker::Pressure::kIdle) return false;
  const read::ViewPtr view = parts_.shape.Current();
  return !view->active->empty() && view->active->bytes_used() * kShare >= view->version->bytes_on_disk();
}

// Newest tables first, each once, and no more of them than a few times the memory that the database was given.
void Background::WarmTables() {
  const read::ViewPtr view = parts_.shape.Current();
  const uint64_t warmed_below = warmed_below_.load();
  uint64_t budget = kWarmShare * parts_.options.memory_bytes;
  uint64_t next = warmed_below;
  for (const auto& run : view->version->runs()) {
    for (const auto& slice : run->slices()) {
      const uint64_t number = kv::ToInt(slice.file->number);
      next = std::max(next, number + 1);
      if (slice.file->bytes > budget) continue;
      budget -= slice.file->bytes;
      if (number < warmed_below) continue;
      if (auto reader = parts_.tables.Open(slice.file)) (*reader)->Warm();
    }
  }
  // Value files: those that fit what is left, the newest first.
  const auto& value_files = view->version->value_files();
  for (auto each = value_files.rbegin(); each != value_files.rend(); ++each) {
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
  if (!parts_.shape.HasUncommitted()) return false;
  const uint64_t dead = parts_.shape.uncommitted_dead_bytes();
  return parts_.shape.UncommittedLogBytes() > parts_.memory.log_quota_bytes / 2 ||
         dead > std::max<uint64_t>(parts_.memory.log_quota_bytes, parts_.obsolete.bytes_on_disk() / 32);
}

bool Background::MayTryLocked(const Retry& retry) const {
  return retry.status.ok() || clock_->NowNanos() >= retry.not_before_nanos;
}

void Background::NoteOutcomeLocked(Retry* retry, const Status& status) {
  if (status.ok()) {
    *retry = {};
    return;
  }
  retry->pause_nanos = std::clamp(2 * retry->pause_nanos, kRetryFirstNanos, kRetryLastNanos);
  retry->not_before_nanos = clock_->NowNanos() + retry->pause_nanos;
  retry->status = status;
  if (parts_.options.env.logger != nullptr) parts_.options.env.logger->Log("background: " + status.ToString());
  ArmTimerLocked();
}

picker::Pressure Background::PressureLocked() const {
  if (!wanted_.empty()) return *std::max_element(wanted_.begin(), wanted_.end());
  const uint64_t since = clock_->NowNanos() - last_write_nanos_;
  return since < kQuietAfterNanos  ? picker::Pressure::kWriting
         : since < kIdleAfterNanos ? picker::Pressure::kQuiet
                                   : picker::Pressure::kIdle;
}

bool Background::IsSettledLocked(picker::Pressure pressure) const {
  if (parts_.shape.sealed_count() > 0 || is_flushing_ || is_committing_ || !jobs_.empty() || is_picking_) return false;
  if (parts_.shape.HasUncommitted() || parts_.obsolete.HasBuried() || is_removing_ ||
      parts_.spares.bytes() > SpareBytesMaxLocked(pressure)) return false;
  const read::ViewPtr view = parts_.shape.Current();
  const std::vector<picker::Busy> none;
  return picker::IsSettled(PickInputFor(*view, none, pressure));
}

void Background::UpdateTreeDebt() {
  const read::ViewPtr view = parts_.shape.Current();
  const std::vector<picker::Busy> none;
  picker::PickInput input = PickInputFor(*view, none, picker::Pressure::kQuiet);
  allowed_quiet_bytes_.store(picker::BytesAllowed(input), std::memory_order_relaxed);
  input.pressure = picker::Pressure::kWriting;
  debt_runs_.store(view->version->runs().size(), std::memory_order_relaxed);
  allowed_bytes_.store(picker::BytesAllowed(input), std::memory_order_relaxed);
  debt_upper_bytes_.store(picker::BytesOverBound(input), std::memory_order_relaxed);
  debt_upper_bytes_max_.store(picker::BytesOverBoundMax(input), std::memory_order_relaxed);
  UpdatePace();
}

void Background::UpdatePace() {
  const read::ViewPtr view = parts_.shape.Current();
  const uint64_t unflushed = view->sealed.size() * parts_.memory.memtable_bytes + view->active->bytes_used();
  const picker::Debt debt{.staged_bytes = parts_.log_debt(),
                          .staging_bytes_max = parts_.memory.undrained_bytes_max,
                          .unflushed_bytes = unflushed,
                          .unflushed_bytes_max = parts_.memory.memtables_max * parts_.memory.memtable_bytes,
                          .runs = debt_runs_.load(std::memory_order_relaxed),
                          .runs_max = kRunsMax,
                          .upper_bytes = debt_upper_bytes_.load(std::memory_order_relaxed),
                          .upper_bytes_max = debt_upper_bytes_max_.load(std::memory_order_relaxed)};
  parts_.gate.SetRate(picker::DelayNanos(debt, 1024, parts_.options.pause_us_max));
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

// Once a second while writes come, until the tree has settled after the last one, and while cursors or snapshots pin what
// could go: nobody else says when they are let go of.
void Background::OnTimer() {
  base::Lock lock(mutex_);
  timer_is_armed_ = false;
  if (is_stopping_) return;
  const uint64_t now = clock_->NowNanos();
  if (wrote_.exchange(false, std::memory_order_relaxed)) last_write_nanos_ = now;
  const bool is_over = now - last_write_nanos_ > kIdleAfterNanos + kSecond && jobs_.empty() &&
                       parts_.snapshots.oldest().count == 0 &&
                       parts_.obsolete.bytes_on_disk() <= parts_.shape.Current()->version->bytes_on_disk() &&
                       IsSettledLocked(picker::Pressure::kIdle);
  if (!is_over) ArmTimerLocked();
  may_seal_at_rest_ = true;  // once a look: somebody who writes just then keeps it from being done
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
  base::Lock lock(mutex_);
  // What failed before is tried again now, on behalf of who waits.
  flush_retry_ = commit_retry_ = job_retry_ = burial_retry_ = removal_retry_ = {};
  while (!is_done()) {
    if (is_stopping_) return Status::ShuttingDown("the database is closing");
    if (!flush_retry_.status.ok()) return read::OfWrite(flush_retry_.status, parts_.directory);
    if (needs >= Needs::kCommits && !commit_retry_.status.ok()) return read::OfWrite(commit_retry_.status, parts_.directory);
    if (needs >= Needs::kMerges && !job_retry_.status.ok()) return read::OfWrite(job_retry_.status, parts_.directory);
    for (const Retry* retry : {&burial_retry_, &removal_retry_}) {
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

Status Background::WaitForFlush() {
  const kv::Sequence end = parts_.shape.sealed_end();
  RETURN_IF_ERROR(WaitUntil(Needs::kCommits, [&] { return parts_.shape.flushed_end() >= end; }));
  const uint64_t changes = parts_.shape.changes();
  return WaitUntil(Needs::kCommits, [&] {
    if (parts_.shape.committed_changes() >= changes) return true;
    commit_is_urgent_ = true;
    return false;
  });
}

Status Background::WaitForSettled(picker::Pressure pressure) {
  {
    base::Lock lock(mutex_);
    wanted_.push_back(pressure);
  }
  Status status = WaitUntil(Needs::kRemovals, [&] {
    if (IsSettledLocked(pressure)) return true;
    commit_is_wanted_ = true;
    return false;
  });
  base::Lock lock(mutex_);
  wanted_.erase(std::find(wanted_.begin(), wanted_.end(), pressure));
  return status;
}

// One at a time: a call waits until `manual_` is free and takes it under the same lock.
Status Background::CompactRange(const format::Bounds& bounds) {
  uint64_t id = 0;
  RETURN_IF_ERROR(WaitUntil(Needs::kMerges, [&] {
    if (id != 0) return true;
    if (manual_ && !ZOO(kManualTakenOver)) return false;
    id = ++manual_count_;
    const read::ViewPtr view = parts_.shape.Current();
    const auto& runs = view->version->runs();
    manual_ = Manual{.id = id, .bounds = bounds, .newest = runs.empty() ? kv::Position{} : runs.front()->position()};
    manual_is_done_ = false;
    return true;
  }));
  TreeChanged();
  Status status = WaitUntil(Needs::kMerges, [this] {
    if (manual_is_done_) return true;
    if (jobs_.empty() && !is_picking_) TreeChanged();  // look again
    return false;
  });
  {
    base::Lock lock(mutex_);
    manual_ = std::nullopt;
    changed_.NotifyAll();  // the next call may take it
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
    const picker::Plan& plan = running->job->plan();
    text += std::string(picker::ReasonName(plan.reason)) + ": " + std::to_string(plan.sources.size()) + " runs, " +
            std::to_string(plan.input_bytes) + " bytes, to level " + std::to_string(plan.target_level) + "\n";
  }
  return text;
}

}  // namespace mergedb::db
