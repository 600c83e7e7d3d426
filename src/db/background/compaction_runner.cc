#include "db/background/compaction_runner.h"

#include <optional>
#include <utility>

#include "base/schedule_point.h"
#include "compaction/masked_bytes.h"
#include "read/next_step.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kStepNanos = 500'000;
constexpr size_t kJobsMax = 4;  // each holds read buffers for all of its inputs
// If so many jobs in a row cannot read an input, compactions pause: the whole disk may fail.
constexpr size_t kUnreadableInRowMax = 8;

using Work = BackgroundScheduler::Work;

void RaiseTo(uint64_t value, std::atomic<uint64_t>* counter) {
  if (value > counter->load()) counter->store(value);
}

}  // namespace

BackgroundScheduler::Task CompactionRunner::NextPickLocked() {
  if (!picks_jobs_ || is_picking_ || jobs_.size() >= kJobsMax || !state_.scheduler.MayTryLocked(Work::kCompactions))
    return nullptr;
  if (idle_key_ == PickKey{state_.inputs.generation(), state_.requests.UrgencyLocked(), state_.inputs.OldestSnapshot()})
    return nullptr;
  is_picking_ = true;
  return [this] { Pick(); };
}

BackgroundScheduler::Task CompactionRunner::NextProbeLocked() {
  const std::optional<uint64_t> wait = state_.inputs.unreadable().empty() || is_probing_ || !picks_jobs_
                                           ? std::nullopt
                                           : state_.inputs.unreadable().NanosToNextDue(clock_->NowNanos());
  if (!wait || *wait > 0) return nullptr;
  is_probing_ = true;
  return [this] { ProbeNext(); };
}

BackgroundScheduler::Task CompactionRunner::NextStepLocked() {
  std::shared_ptr<Running> next;
  for (const auto& running : jobs_) {
    if (running->is_stepping) continue;
    if (next == nullptr || running->job->pick().input_bytes < next->job->pick().input_bytes) next = running;
  }
  if (next == nullptr) return nullptr;
  next->is_stepping = true;
  return [this, next = std::move(next)] { Step(next); };
}

bool CompactionRunner::IsIdleLocked() const {
  const picker::Urgency urgency = state_.requests.UrgencyLocked();
  return urgency != picker::Urgency::kWriting && !IsRunningLocked() && !state_.scheduler.IsFlushingLocked() &&
         idle_key_.generation == state_.inputs.generation() && idle_key_.urgency == urgency &&
         !tree_.version_set.HasUncommitted();
}

void CompactionRunner::Pick() {
  const Requests requests = TakeRequests();
  // WHY the running compactions are read before the SuperVersion: a job that installs its result and is unclaimed in
  // between is then seen as running. In the other order the pick would see neither, and could drop tombstones above
  // the keys that the job has just moved down.
  const std::vector<picker::RunningCompaction> running = running_compactions_.running();
  SCHEDULE_POINT("pick between two checks");
  const read::SuperVersionPtr super_version = tree_.version_set.Current();
  const picker::PickInput input = state_.inputs.For(*super_version->version, running, requests.urgency);
  const Choice choice = Choose(requests, input);
  Account(requests, input, choice, Claim(choice, input));
}

CompactionRunner::Requests CompactionRunner::TakeRequests() const {
  BackgroundLock lock(state_.scheduler.mutex());
  return {.generation = state_.inputs.generation(),
          .urgency = state_.requests.UrgencyLocked(),
          .manual = state_.requests.ManualLocked(),
          .scan = state_.requests.ScanLocked()};
}

CompactionRunner::Choice CompactionRunner::Choose(const Requests& requests, const picker::PickInput& input) {
  Choice choice;
  if (requests.manual) {
    picker::ManualPick manual = picker::PickManual(input, requests.manual->bounds, requests.manual->newest);
    choice.manual_is_done = manual.is_done;
    choice.manual_is_blocked = !manual.pick && !manual.is_done;
    choice.pick = std::move(manual.pick);
  }
  if (!choice.pick && requests.scan) choice.pick = picker::PickTombstoneScan(input, *requests.scan);
  if (!choice.pick) choice.pick = picker::Pick(input);
  return choice;
}

// The job starts from the version against which it is claimed: another job that ends in between may take the last keys
// of a source. WHY flushed_sequence is read before the version: it must not come from a flush that the version lacks.
std::shared_ptr<CompactionRunner::Running> CompactionRunner::Claim(const Choice& choice,
                                                                   const picker::PickInput& input) {
  const kv::Sequence flushed_sequence = std::max<kv::Sequence>(tree_.version_set.flushed().sequence, 1) - 1;
  const version::VersionPtr version = state_.CurrentVersion();
  if (!choice.pick || !running_compactions_.Claim(*choice.pick, *version)) return nullptr;
  SCHEDULE_POINT("start a claimed job");
  const picker::CompactionPick& pick = *choice.pick;
  auto running = std::make_shared<Running>();
  running->start_nanos = clock_->NowNanos();
  running->output_bytes_max = OutputBytesMax(pick);
  running->job = NewJob(pick, version, flushed_sequence);
  running->id = 1 + jobs_begun_.fetch_add(1, std::memory_order_relaxed);
  running->facts = {.reason = std::string(picker::CompactionReasonName(pick.reason)),
                    .runs = pick.sources.size(),
                    .level = pick.target_level,
                    .input_bytes = pick.input_bytes};
  TellBegin(*running, input);
  return running;
}

void CompactionRunner::Account(const Requests& requests, const picker::PickInput& input, const Choice& choice,
                               std::shared_ptr<Running> job) {
  SCHEDULE_POINT("account for a pick");
  const auto begins = [&](picker::CompactionReason reason) { return job != nullptr && choice.pick->reason == reason; };
  if (job != nullptr) state_.counters.compactions_begun.Add(choice.pick->reason, 1);
  if (begins(picker::CompactionReason::kReads))
    state_.inputs.SpendRunVisits(picker::RunVisitsFor(choice.pick->input_bytes));
  if (picker::NeedsBlobOrder(input) && (!choice.pick || begins(picker::CompactionReason::kBlobOrder)))
    state_.inputs.ResetScattered();

  BackgroundLock lock(state_.scheduler.mutex());
  is_picking_ = false;
  // A request that is blocked now is dropped: the next tombstone-heavy scan asks again.
  if (requests.scan) state_.requests.RemoveScanLocked();
  if (!choice.pick)
    idle_key_ = {
        .generation = requests.generation, .urgency = requests.urgency, .oldest_snapshot = input.oldest_snapshot};
  if (job != nullptr) {
    jobs_.push_back(std::move(job));
    RaiseTo(jobs_.size(), &state_.counters.compactions_at_once_max);
  }
  // WHY only now: between the end of a job and the next pick, writers must not take the room of its outputs.
  uint64_t output_bytes_max = 0;
  for (const auto& each : jobs_) output_bytes_max += each->output_bytes_max;
  state_.controller.NoteRunning(output_bytes_max);
  RaiseTo(input.version.runs().size(), &state_.counters.runs_max);
  if (choice.manual_is_done) state_.requests.NoteManualDoneLocked(requests.manual->id);
  if (!choice.manual_is_blocked || !input.running.empty() || input.unreadable == nullptr) return;
  // WHY not OK: a probe found everything readable since the pick, and the next pick goes on.
  Status status = UnreadableStatus();
  if (!status.ok()) state_.requests.NoteManualDoneLocked(requests.manual->id, std::move(status));
}

// A blob collection keeps all files that it collects to its end; another compaction keeps inputs until it publishes.
uint64_t CompactionRunner::OutputBytesMax(const picker::CompactionPick& pick) const {
  if (pick.is_move) return 0;
  return pick.blob_files_to_collect.empty() ? std::min(pick.input_bytes, state_.controller.publication_bytes())
                                            : pick.input_bytes;
}

std::unique_ptr<compaction::CompactionJob> CompactionRunner::NewJob(picker::CompactionPick pick,
                                                                    const version::VersionPtr& version,
                                                                    kv::Sequence flushed_sequence) {
  const compaction::CompactionJobContext context{.factory = tree_.factory,
                                                 .tree = *this,
                                                 .tables = *store_.tables,
                                                 .values = &store_.values,
                                                 .clock = clock_,
                                                 .compression = store_.options.compression,
                                                 .publication_bytes = state_.controller.publication_bytes(),
                                                 .flushed_sequence = flushed_sequence};
  return std::make_unique<compaction::CompactionJob>(context, std::move(pick), version);
}

Status CompactionRunner::Install(const format::VersionEdit& edit) {
  Status status = tree_.version_set.Install(edit);
  state_.inputs.NoteChange();
  state_.UpdateController();
  return status;
}

uint64_t CompactionRunner::MaskedBytes(kv::Position target, const kv::RangeTombstones& ranges) {
  return compaction::EstimateMaskedBytes(store_.order, *store_.tables, *state_.CurrentVersion(), target, ranges);
}

void CompactionRunner::Step(const std::shared_ptr<Running>& running) {
  const uint64_t start = clock_->NowNanos();
  const Result<bool> done = running->job->Step(kStepNanos);
  state_.counters.compaction_nanos.fetch_add(clock_->NowNanos() - start, std::memory_order_relaxed);
  if (!done || *done) return EndJob(running, start, done ? Status() : done.error());
  const uint64_t output_bytes = running->job->unpublished_bytes();
  const auto& counts = running->job->counts();
  BackgroundLock lock(state_.scheduler.mutex());
  running->facts.written_bytes = counts.bytes_written + output_bytes;
  running->facts.entries = running->job->entries_expected();
  running->facts.entries_read = counts.input.entries_in + counts.input.masked;
  running->output_bytes = output_bytes;
  running->is_stepping = false;
  NoteOutputBytesLocked();
}

void CompactionRunner::EndJob(const std::shared_ptr<Running>& running, uint64_t began_nanos, const Status& status) {
  Count(*running->job, status.ok());
  TellEnd(*running, status);
  if (status.ok() && !running->job->pick().is_move)
    store_.latencies.Record(env::Operation::kCompaction, clock_->NowNanos() - running->start_nanos);
  const Status outcome = NoteEnd(*running->job, status);
  running_compactions_.Unclaim(running->job->pick());
  std::unique_ptr<compaction::CompactionJob> ended;
  {
    BackgroundLock lock(state_.scheduler.mutex());
    ended = std::exchange(running->job, nullptr);
  }
  ended = nullptr;  // releases its inputs
  {
    BackgroundLock lock(state_.scheduler.mutex());
    std::erase(jobs_, running);
    NoteOutputBytesLocked();
    state_.scheduler.NoteJobEndLocked(began_nanos, outcome);
  }
  state_.inputs.NoteChange();
  state_.UpdateController();
}

Status CompactionRunner::NoteEnd(const compaction::CompactionJob& job, const Status& status) {
  state_.inputs.unreadable().Prune([this] { return state_.CurrentVersion(); });
  if (status.ok()) {
    state_.inputs.NoteCompacted();
    unreadable_in_row_.store(0, std::memory_order_relaxed);
    return status;
  }
  if (status.IsBusy()) return state_.inputs.HalveSources(job.pick().sources.size()) ? Status() : status;
  const bool lies_in_inputs = job.failed_input() || status.IsCorruption();
  return lies_in_inputs && !status.IsNoSpace() ? NoteUnreadable(job, status) : status;
}

Status CompactionRunner::NoteUnreadable(const compaction::CompactionJob& job, const Status& status) {
  compaction::UnreadableInputs& unreadable = state_.inputs.unreadable();
  const uint64_t now = clock_->NowNanos();
  const bool is_new = job.failed_input() ? unreadable.Note(*job.failed_input(), status, now)
                                         : unreadable.NotePick(job.pick(), status, now);
  if (is_new) {
    if (store_.options.env.logger != nullptr) store_.options.env.logger->Log("background: " + status.ToString());
    store_.events.Emit(EventKind::kError, [&] {
      return EventFields{TextField("work", "compaction"), StatusField(read::OfWrite(status, store_.directory))};
    });
  }
  return unreadable_in_row_.fetch_add(1, std::memory_order_relaxed) < kUnreadableInRowMax ? Status() : status;
}

void CompactionRunner::ProbeNext() {
  compaction::UnreadableInputs& unreadable = state_.inputs.unreadable();
  if (const auto probe = unreadable.NextDue(clock_->NowNanos())) {
    unreadable.NoteProbe(probe->file, IsReadable(*probe), clock_->NowNanos());
  }
  state_.inputs.NoteChange();
  BackgroundLock lock(state_.scheduler.mutex());
  is_probing_ = false;
}

void CompactionRunner::ProbeAll() {
  compaction::UnreadableInputs& unreadable = state_.inputs.unreadable();
  if (unreadable.empty()) return;
  unreadable.MakeDue();
  const uint64_t start = clock_->NowNanos();
  while (const auto probe = unreadable.NextDue(start)) {
    unreadable.NoteProbe(probe->file, IsReadable(*probe), clock_->NowNanos());
  }
  state_.inputs.NoteChange();
}

// A table that is gone counts as readable: it is forgotten.
bool CompactionRunner::IsReadable(const compaction::UnreadableInputs::Probe& probe) const {
  const version::VersionPtr version = state_.CurrentVersion();
  const std::vector<format::FileMetaPtr> files = version->file_metas();
  const auto file = std::ranges::lower_bound(files, probe.file, {}, [](const auto& each) { return each->number; });
  if (file == files.end() || (*file)->number != probe.file) return true;
  const auto reader = store_.tables->Open(*file);
  if (!reader) return false;
  const auto reads = [&](const format::Bounds& keys) {
    const auto entries = (*reader)->NewScanIterator(keys.lower, {.upper = keys.upper});
    entries->SeekToFirst();
    while (entries->Valid() && (!keys.upper || store_.order.CompareKeys(entries->entry().key, *keys.upper) < 0)) {
      entries->Next();
    }
    return entries->status().ok();
  };
  return probe.keys.empty() ? reads({}) : std::ranges::all_of(probe.keys, reads);
}

Status CompactionRunner::UnreadableStatus() const {
  return read::OfWrite(state_.inputs.unreadable().status(), store_.directory);
}

void CompactionRunner::TellBegin(const Running& running, const picker::PickInput& input) const {
  store_.events.Emit(EventKind::kCompactionBegin, [&] {
    constexpr std::string_view kUrgencies[] = {"writing", "quiet", "idle"};
    const picker::CompactionPick& pick = running.job->pick();
    std::string runs;
    for (const auto& run : input.version.runs()) {
      if (!runs.empty()) runs += ' ';
      runs += std::to_string(kv::ToInt(run->position())) + ":" + std::to_string(run->level()) + ":" +
              std::to_string(run->virtual_tables().size()) + ":" + std::to_string(run->bytes());
    }
    EventFields fields = {NumberField("job", running.id),
                          TextField("reason", running.facts.reason),
                          NumberField("is_move", pick.is_move),
                          NumberField("is_bottom", pick.is_bottommost),
                          NumberField("sources", pick.sources.size()),
                          NumberField("target_level", pick.target_level),
                          NumberField("input_bytes", pick.input_bytes),
                          NumberField("blob_files", pick.blob_files_to_collect.size()),
                          TextField("urgency", kUrgencies[static_cast<size_t>(input.urgency)]),
                          TextField("runs", runs),
                          NumberField("running", input.running.size())};
    if (input.oldest_snapshot != kv::kSequenceMax)
      fields.push_back(NumberField("oldest_snapshot", input.oldest_snapshot));
    return fields;
  });
}

void CompactionRunner::TellEnd(const Running& running, const Status& status) const {
  store_.events.Emit(EventKind::kCompactionEnd, [&] {
    const compaction::CompactionJob::Counts& counts = running.job->counts();
    return EventFields{NumberField("job", running.id),
                       TextField("reason", running.facts.reason),
                       NumberField("bytes_read", counts.bytes_read),
                       NumberField("bytes_written", counts.bytes_written),
                       NumberField("bytes_unread", counts.bytes_unread),
                       NumberField("entries_in", counts.input.entries_in),
                       NumberField("entries_out", counts.input.entries_out),
                       NumberField("micros", (clock_->NowNanos() - running.start_nanos) / 1000),
                       StatusField(status)};
  });
}

void CompactionRunner::Count(const compaction::CompactionJob& job, bool is_done) {
  const auto add = [](uint64_t value, std::atomic<uint64_t>* counter) {
    counter->fetch_add(value, std::memory_order_relaxed);
  };
  const auto& counts = job.counts();
  add(1, !is_done ? &state_.counters.jobs_failed : job.pick().is_move ? &state_.counters.moves : &state_.counters.jobs);
  add(counts.bytes_read, &state_.counters.compaction_bytes_read);
  state_.counters.compaction_bytes_written.Add(job.pick().reason, counts.bytes_written);
  if (is_done && job.pick().is_move) add(job.pick().input_bytes, &state_.counters.table_bytes_moved);
  add(counts.bytes_unread, &state_.counters.compaction_bytes_unread);
  add(counts.blob_bytes_moved, &state_.counters.blob_bytes_moved);
  add(counts.input.entries_in, &state_.counters.compaction_entries_in);
  add(counts.input.entries_out, &state_.counters.compaction_entries_out);
}

void CompactionRunner::NoteOutputBytesLocked() {
  uint64_t bytes = 0;
  for (const auto& running : jobs_) bytes += running->output_bytes;
  state_.controller.NoteUnpublished(bytes);
}

void CompactionRunner::StopPicking() {
  BackgroundLock lock(state_.scheduler.mutex());
  picks_jobs_ = false;
}

void CompactionRunner::DropJobs() {
  BackgroundLock lock(state_.scheduler.mutex());
  auto jobs = std::exchange(jobs_, {});
  lock.Unlock();
}

std::string CompactionRunner::Describe() const {
  std::string text;
  for (const format::LiveCompaction& each : List()) {
    text += each.reason + ": " + std::to_string(each.runs) + " runs, " + std::to_string(each.input_bytes) +
            " bytes, to level " + std::to_string(each.level) + "\n";
  }
  return text;
}

std::vector<format::LiveCompaction> CompactionRunner::List() const {
  const uint64_t now = clock_->NowNanos();
  BackgroundLock lock(state_.scheduler.mutex());
  std::vector<format::LiveCompaction> list;
  for (const auto& running : jobs_) {
    if (running->job == nullptr) continue;  // it is ending
    list.push_back(running->facts);
    list.back().age_nanos = now - std::min(now, running->start_nanos);
  }
  return list;
}

}  // namespace mergedb::db
