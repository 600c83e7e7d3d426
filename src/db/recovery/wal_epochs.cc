#include "db/recovery/wal_epochs.h"

#include <utility>

#include "db/recovery/recovery.h"
#include "format/file_name.h"
#include "read/next_step.h"

namespace mergedb::db {

Status WalEpochs::BeginNext() {
  Status status = read::OfWrite(TryNext(), store_.directory);
  if (status.ok() || failure_.ok()) failure_ = status;
  return status;
}

Status WalEpochs::TryNext() {
  next_is_owed_ = true;
  const VersionSet::WalStart start =
      FirstOfEpoch(tree_.wal.epoch() + 1, store_.options.env.entropy(), wal().next_sequence());
  RETURN_IF_ERROR(CommitEpoch(start));

  wal().Stop();
  for (const kv::FileNumber number : wal().segments()) void_segments_.insert(number);
  RETURN_IF_ERROR(CreateWal(start, {}));
  RemoveVoidSegments();
  next_is_owed_ = false;
  if (marker_to_come_) store_.SetKeyMap(std::make_unique<kv::KeyMap>(*std::exchange(marker_to_come_, std::nullopt)));
  return {};
}

void WalEpochs::RemoveVoidSegments() {
  for (const kv::FileNumber number : std::exchange(void_segments_, {})) {
    // If this fails, the file is an orphan.
    (void)store_.options.env.file_system->Remove(format::SegmentPath(store_.directory, number));
  }
}

// The new epoch becomes durable before any file of the old one is overwritten. The commit records no facts of a WAL:
// the present one is of the old epoch.
Status WalEpochs::CommitEpoch(const VersionSet::WalStart& start) {
  tree_.version_set.StartEpoch(start);
  return tree_.committer.Commit();
}

Status WalEpochs::CreateWal(const VersionSet::WalStart& start, std::vector<kv::FileNumber> reusable_segments) {
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
                             .counters = tree_.wal.counters(),
                             .reusable_segments = std::move(reusable_segments)};
  ASSIGN_OR_RETURN(const std::shared_ptr<wal::Wal> created, wal::Wal::Create(options));
  (void)created->Prepare();  // if the disk is full, the first write fails, not the open
  salt_ = start.salt;
  tree_.wal.Replace(created, start.epoch);
  if (!created->staging_file_bytes()) return {};
  Status status = tree_.committer.Commit();
  if (!status.ok()) created->Stop();  // no frame may enter a file that the MANIFEST does not know
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
  if (wal().failure().ok() && !next_is_owed_) return;
  // For later writes the outcome is known: they do not happen.
  failure_ = read::OfWrite(Status::Make(status.code(), status.message()), store_.directory);
}

Status WalEpochs::Finish() {
  RETURN_IF_ERROR(failure_);
  const wal::Mark end = wal().end();
  if (!AllIsInTables(end)) RETURN_IF_ERROR(wal().MakeDurable());
  // With the WAL's end in the MANIFEST, recovery detects any damage to the WAL.
  RETURN_IF_ERROR(tree_.committer.Commit(end.position));
  wal().Stop();
  wal().RemoveUnneeded();
  return {};
}

bool WalEpochs::AllIsInTables(const wal::Mark& end) const {
  const VersionSet::WalStart flushed = tree_.version_set.flushed();
  return flushed.epoch == tree_.wal.epoch() && flushed.position == end.position;
}

void WalEpochs::GiveBackSegments() {
  if (!wal().GiveBackSegments()) return;
  // Until the MANIFEST names the new segment, the old ones stay. If this fails, a later commit releases them.
  (void)tree_.committer.Commit();
}

VersionSet::WalStart WalEpochs::At(const wal::Mark& mark) const {
  return {.epoch = tree_.wal.epoch(),
          .salt = salt_,
          .position = mark.position,
          .chain = mark.chain,
          .sequence = mark.sequence};
}

}  // namespace mergedb::db
