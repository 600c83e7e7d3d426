#include "db/recovery/wal_epochs.h"

#include <utility>

#include "db/recovery/recovery.h"
#include "format/file_name.h"
#include "read/next_step.h"

namespace mergedb::db {

Status WalEpochs::Begin(const VersionSet::WalStart& start, std::vector<kv::FileNumber> reusable_segments,
                        const std::function<void()>& before_log) {
  RETURN_IF_ERROR(CommitEpoch(start));
  if (before_log) before_log();
  return Create(start, std::move(reusable_segments));
}

Status WalEpochs::BeginNext() {
  Status status = read::OfWrite(TryNext(), store_.directory);
  if (status.ok() || failure_.ok()) failure_ = status;
  return status;
}

Status WalEpochs::TryNext() {
  next_is_owed_ = true;
  const VersionSet::WalStart start = FirstOfEpoch(epoch_ + 1, store_.options.env.entropy(), wal_->next_sequence());
  RETURN_IF_ERROR(CommitEpoch(start));

  const auto failed_segments = wal_->segments();
  wal_->Stop();
  RETURN_IF_ERROR(Create(start, {}));
  for (const kv::FileNumber number : failed_segments) {
    // If this fails, the file is an orphan.
    (void)store_.options.env.file_system->Remove(format::SegmentPath(store_.directory, number));
  }
  next_is_owed_ = false;
  if (marker_to_come_) store_.SetKeyMap(std::make_unique<kv::KeyMap>(*std::exchange(marker_to_come_, std::nullopt)));
  return {};
}

// The new epoch becomes durable before any file of the old one is overwritten.
Status WalEpochs::CommitEpoch(const VersionSet::WalStart& start) {
  tree_.version_set.StartEpoch(start);
  return tree_.committer.Commit([](const VersionSet::WalStart&) { return ManifestCommitter::WalFacts{}; }, std::nullopt,
                                nullptr);
}

Status WalEpochs::Create(const VersionSet::WalStart& start, std::vector<kv::FileNumber> reusable_segments) {
  const Env& env = store_.options.env;
  const wal::Options options{.file_system = env.file_system,
                             .clock = env.clock,
                             .latencies = &store_.latencies,
                             .executor = env.executor,
                             .directory = store_.directory,
                             .database_id = tree_.database_id,
                             .epoch = start.epoch,
                             .salt = start.salt,
                             .first_sequence = start.sequence,
                             .buffer_bytes = store_.memory.wal_buffer_bytes,
                             .unwritten_bytes_max = store_.memory.unwritten_bytes_max,
                             .sync_interval_nanos = store_.options.wal_sync_interval_ms * 1'000'000,
                             .segment_bytes = store_.memory.segment_bytes,
                             .recycled_bytes = store_.memory.wal_quota_bytes,
                             .use_mapping = store_.options.use_mapped_wal_buffer,
                             .on_wait = [this](uint64_t nanos) { store_.stalls.NoteWal(nanos); },
                             .allocate_number = [this] { return tree_.version_set.AllocateNumber(); },
                             .reusable_segments = std::move(reusable_segments)};
  ASSIGN_OR_RETURN(std::shared_ptr<wal::Wal> log, wal::Wal::Create(options));
  (void)log->Prepare();  // if the disk is full, the first write fails, not the open
  salt_ = start.salt;
  {
    base::Lock lock(mutex_);
    epoch_ = start.epoch;
    wal_ = log;
  }
  if (!log->staging_file_bytes()) return {};
  Status status =
      tree_.committer.Commit([this](const VersionSet::WalStart& from) { return FactsOf(from); }, std::nullopt, nullptr);
  if (!status.ok()) log->Stop();  // a frame must not be staged in a file that the MANIFEST does not know
  return status;
}

void WalEpochs::SetKeyMarker(std::string marker) {
  tree_.committer.SetKeyMarker(marker);
  marker_to_come_ = std::move(marker);
}

void WalEpochs::NoteFailure(const Status& status) {
  // WHY a new epoch if the outcome is unknown: the frame stays staged. Replay would apply it before later
  // writes that did not see it: transactions would have no serial order, and keys could land in a dropped
  // keyspace. In a new epoch the write did not happen.
  if (status.outcome_unknown()) next_is_owed_ = true;
  if (wal_->failure().ok() && !next_is_owed_) return;
  // For later writes the outcome is known: they do not happen.
  failure_ = read::OfWrite(Status::Make(status.code(), status.message()), store_.directory);
}

Status WalEpochs::Finish() {
  RETURN_IF_ERROR(failure_);
  const wal::Mark end = wal_->end();
  if (!AllIsInTables(end)) RETURN_IF_ERROR(wal_->MakeDurable());
  // With the WAL's end in the MANIFEST, recovery detects any damage to the WAL.
  RETURN_IF_ERROR(tree_.committer.Commit(
      [&](const VersionSet::WalStart& from) {
        const uint64_t position = from.position == end.position ? wal::kNothing : from.position;
        return ManifestCommitter::WalFacts{end.position, wal_->segments_from(position)};
      },
      end.position, nullptr));
  wal_->Stop();
  wal_->RemoveUnneeded();
  return {};
}

bool WalEpochs::AllIsInTables(const wal::Mark& end) const {
  const VersionSet::WalStart flushed = tree_.version_set.flushed();
  return flushed.epoch == epoch_ && flushed.position == end.position;
}

void WalEpochs::GiveBackSegments() {
  if (!wal_->GiveBackSegments()) return;
  // Until the MANIFEST names the new segment, the old ones stay. If this fails, a later commit releases them.
  (void)tree_.committer.Commit([this](const VersionSet::WalStart& from) { return FactsOf(from); }, std::nullopt,
                               [this](const VersionSet::WalStart& start) { Release(start); });
}

VersionSet::WalStart WalEpochs::At(const wal::Mark& mark) const {
  return {.epoch = epoch_, .salt = salt_, .position = mark.position, .chain = mark.chain, .sequence = mark.sequence};
}

ManifestCommitter::WalFacts WalEpochs::FactsOf(const VersionSet::WalStart& from) const {
  const auto log = Of(from.epoch);
  if (log == nullptr) return {};
  return {.durable = log->durable_position(),
          .segments = log->segments_from(from.position),
          .staging_bytes = log->staging_file_bytes()};
}

void WalEpochs::Release(const VersionSet::WalStart& start) {
  if (const auto log = Of(start.epoch)) {
    log->Release({.position = start.position, .chain = start.chain, .sequence = start.sequence});
  }
}

std::shared_ptr<wal::Wal> WalEpochs::Current() const {
  base::Lock lock(mutex_);
  return wal_;
}

std::shared_ptr<wal::Wal> WalEpochs::Of(uint64_t epoch) const {
  base::Lock lock(mutex_);
  return epoch == epoch_ ? wal_ : nullptr;
}

}  // namespace mergedb::db
