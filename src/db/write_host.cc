// DbImpl as the Host of its writer queue: it provides a memtable with room and a WAL that accepts writes.
// THREADS: in the exclusive section; FlushIfIdle and the functions from FactsOf on: any.
#include <algorithm>
#include <optional>
#include <utility>

#include "db/db_impl.h"
#include "format/file_name.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kResumePauseNanos = 100'000'000;
// While writes are delayed, the delay is updated after 1/16 of the usual number of bytes. WHY: the delay
// rises steeply near its maximum, and the usual step would jump over that part.
constexpr size_t kUpdatesWhenDelayed = 16;
// MEASURED: full_size_test Queue: a seek passes over the 4,000 deleted keys in a memtable of this size in
// 0.4 ms.
constexpr size_t kTombstoneScanMemtableBytes = size_t{1} << 20;

}  // namespace

Status DbImpl::BeforeGroup(size_t bytes) {
  RETURN_IF_ERROR(CheckOpen());
  RETURN_IF_ERROR(ResumeWal());
  recent_writes_.Discard();  // drops the changes of a group that failed
  if (store_->key_map() != nullptr) keyspace_ids_.Discard();
  background_->WriteHappened();
  bytes_since_delay_update_ += bytes;
  if (bytes_since_delay_update_ >=
      (write_delay_.rate() == 0 ? delay_update_bytes_ : delay_update_bytes_ / kUpdatesWhenDelayed)) {
    bytes_since_delay_update_ = 0;
    background_->UpdateWriteDelay();
  }
  write_delay_.Enter(bytes);
  return {};
}

bool DbImpl::FitsOneMemtable(const write::Room& room) const {
  return memtable::Memtable::MemoryHolds(store_->memory.memtable_bytes, room.records, room.bytes);
}

Status DbImpl::MakeRoom(const write::Room& room) {
  const bool is_full = !active_->Reserve(room.records, room.bytes);
  if (!is_full && !(background_->switch_is_wanted() && IsWorthSwitching())) [[likely]]
    return {};
  RETURN_IF_ERROR(WaitForImmutableSlot());
  MakeRoomAnyway(room);
  return {};
}

// After a tombstone-heavy scan: is the active memtable worth a flush? WHY: no compaction can drop its
// tombstones before the flush.
bool DbImpl::IsWorthSwitching() {
  background_->SwitchIsConsidered();
  return active_->bytes_used() >= std::min(kTombstoneScanMemtableBytes, store_->memory.memtable_bytes / 2) &&
         tree_->version_set.immutable_count() + 2 < store_->memory.memtables_max;
}

void DbImpl::MakeRoomAnyway(const write::Room& room) {
  SwitchMemtable(FitsOneMemtable(room) ? TakeStandby()
                                       : write::MemoryPool::NewLargeMemtable(
                                             store_->order, memtable::Memtable::BytesNeeded(room.bytes, 0)));
  // If this fails, operands leave no folded values.
  (void)active_->Reserve(room.records, room.bytes);
}

// Waits until the active memtable may become immutable: the immutable memtables, the active one and the next
// one must fit into the memory for unflushed writes.
Status DbImpl::WaitForImmutableSlot() {
  const size_t immutable_max = store_->memory.memtables_max - 2;
  if (tree_->version_set.immutable_count() <= immutable_max) return {};
  const uint64_t start = store_->options.env.clock->NowNanos();
  Status status = background_->WaitUntil(Background::Needs::kFlushes,
                                         [&] { return tree_->version_set.immutable_count() <= immutable_max; });
  memory_waits_.Add(store_->options.env.clock->NowNanos() - start);
  return status;
}

VersionSet::WalStart DbImpl::At(const wal::Mark& mark) const {
  return {.epoch = epoch_, .salt = salt_, .position = mark.position, .chain = mark.chain, .sequence = mark.sequence};
}

void DbImpl::SwitchMemtable(std::shared_ptr<memtable::Memtable> next) {
  active_ = next;
  tree_->version_set.SwitchMemtable(std::move(next), At(pieces_from_ ? *pieces_from_ : log_->end()));
  background_->UpdateWriteDelay();
  background_->MemtableSwitched();
}

Status DbImpl::SwitchMemtableIfUsed() {
  if (active_->empty()) return {};
  RETURN_IF_ERROR(WaitForImmutableSlot());
  SwitchMemtable(TakeStandby());
  return {};
}

// Called by background work, which does not wait for writers.
void DbImpl::FlushIfIdle() {
  const write::WriterQueue::ExclusiveSection section(queue_, std::try_to_lock);
  if (!section.is_taken() || !CheckOpen().ok() || !WalIsUsable() || active_->empty() ||
      tree_->version_set.immutable_count() > 0)
    return;
  SwitchMemtable(TakeStandby());
}

void DbImpl::BeginPieces(const wal::Mark& replay_from) { pieces_from_ = replay_from; }

void DbImpl::EndPieces() {
  pieces_from_ = std::nullopt;
  tree_->version_set.CountLargeBatch();
}

void DbImpl::WalFailed(const Status& status) {
  errors_.fetch_add(1, std::memory_order_relaxed);
  if (status.IsNoSpace()) (void)tree_->recycled_files.RemoveAll();  // the WAL needs their space more
  // WHY a new epoch if the outcome is unknown: the frame stays staged. Replay would apply it before later
  // writes that did not see it: transactions would have no serial order, and keys could land in a dropped
  // keyspace. In a new epoch the write did not happen.
  if (status.outcome_unknown()) epoch_is_owed_ = true;
  if (log_->failure().ok() && !epoch_is_owed_) return;
  // For later writes the outcome is known: they do not happen.
  log_failure_ = read::OfWrite(Status::Make(status.code(), status.message()), store_->directory);
}

// OK if the WAL accepts writes. The WAL may also have failed in the background, during a sync.
Status DbImpl::ResumeWal() {
  if (WalIsUsable()) [[likely]]
    return {};
  if (log_failure_.ok()) {
    const Status failure = log_->failure();
    if (failure.ok()) return {};
    WalFailed(failure);
  }
  return Resume();
}

// Gives up a WAL whose sync failed; it is never synced again (row B1). All applied writes are flushed to
// tables, and a new epoch begins. Later frames of the failed WAL are void. Writers get the old failure until
// this succeeds.
Status DbImpl::Resume() {
  const uint64_t now = store_->options.env.clock->NowNanos();
  if (now < resume_not_before_nanos_) return log_failure_;
  resume_not_before_nanos_ = now + kResumePauseNanos;

  if (!FlushAll().ok()) return log_failure_;
  if (!StartNewEpoch().ok()) return log_failure_;
  log_failure_ = {};
  resumes_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// When this returns OK, tables hold everything that memtables held.
Status DbImpl::FlushAll() {
  RETURN_IF_ERROR(SwitchMemtableIfUsed());
  return background_->WaitUntil(Background::Needs::kFlushes, [&] { return tree_->version_set.immutable_count() == 0; });
}

// REQUIRES: memtables are empty. After VersionSet::StartEpoch there is no way back to the old epoch: if the
// MANIFEST or the new WAL cannot be written, writers get the error until Resume succeeds.
Status DbImpl::StartNewEpoch() {
  const kv::Sequence sequence = log_->next_sequence();
  epoch_is_owed_ = true;
  const uint64_t salt = store_->options.env.entropy();
  tree_->version_set.StartEpoch(FirstOfEpoch(epoch_ + 1, salt, sequence));
  RETURN_IF_ERROR(tree_->version_set.Commit([](const VersionSet::WalStart&) { return VersionSet::WalFacts{}; },
                                            std::nullopt, nullptr));

  const auto failed_segments = log_->segments();
  log_->Stop();
  RETURN_IF_ERROR(StartWal(epoch_ + 1, salt, sequence, {}));
  for (const kv::FileNumber number : failed_segments) {
    // If this fails, the file is an orphan.
    (void)store_->options.env.file_system->Remove(format::SegmentPath(store_->directory, number));
  }
  epoch_is_owed_ = false;
  if (marker_to_come_) store_->SetKeyMap(std::make_unique<kv::KeyMap>(*std::exchange(marker_to_come_, std::nullopt)));
  return {};
}

Status DbImpl::StartWal(uint64_t epoch, uint64_t salt, kv::Sequence sequence,
                        std::vector<kv::FileNumber> reusable_segments) {
  const Env& env = store_->options.env;
  const wal::Options options{.file_system = env.file_system,
                             .clock = env.clock,
                             .executor = env.executor,
                             .directory = store_->directory,
                             .database_id = tree_->database_id,
                             .epoch = epoch,
                             .salt = salt,
                             .first_sequence = sequence,
                             .staging_bytes = store_->memory.staging_bytes,
                             .undrained_bytes_max = store_->memory.undrained_bytes_max,
                             .segment_bytes = store_->memory.segment_bytes,
                             .recycled_bytes = store_->memory.wal_quota_bytes,
                             .use_mapping = store_->options.use_mapped_wal_buffer,
                             .allocate_number = [this] { return tree_->version_set.AllocateNumber(); },
                             .reusable_segments = std::move(reusable_segments)};
  ASSIGN_OR_RETURN(std::shared_ptr<wal::Wal> log, wal::Wal::Create(options));
  (void)log->Prepare();  // if the disk is full, the first write fails, not the open
  salt_ = salt;
  {
    base::Lock lock(mutex_);
    epoch_ = epoch;
    log_ = log;
  }
  if (!log->staging_file_bytes()) return {};
  Status status = tree_->version_set.Commit([this](const VersionSet::WalStart& from) { return FactsOf(from); },
                                            std::nullopt, nullptr);
  if (!status.ok()) log->Stop();  // a frame must not be staged in a file that the MANIFEST does not know
  return status;
}

VersionSet::WalFacts DbImpl::FactsOf(const VersionSet::WalStart& from) const {
  const auto log = WalOf(from.epoch);
  if (log == nullptr) return {};
  return {.durable = log->durable_position(),
          .segments = log->segments_from(from.position),
          .staging_bytes = log->staging_file_bytes()};
}

std::shared_ptr<wal::Wal> DbImpl::CurrentWal() const {
  base::Lock lock(mutex_);
  return log_;
}

std::shared_ptr<wal::Wal> DbImpl::WalOf(uint64_t epoch) const {
  base::Lock lock(mutex_);
  return epoch == epoch_ ? log_ : nullptr;
}

std::shared_ptr<memtable::Memtable> DbImpl::TakeStandby() {
  {
    base::Lock lock(mutex_);
    if (standby_ != nullptr) return std::move(standby_);
  }
  return store_->memtables->NewMemtable(store_->order);
}

// Background work prepares the standby memtable, because clearing the index and touching fresh pages takes
// time. There is at most one standby, and only while it fits into the memory for unflushed writes.
void DbImpl::MakeStandby() {
  {
    base::Lock lock(mutex_);
    if (standby_ != nullptr || tree_->version_set.immutable_count() + 2 > store_->memory.memtables_max) return;
  }
  auto memtable = store_->memtables->NewMemtable(store_->order);
  base::Lock lock(mutex_);
  if (standby_ == nullptr) standby_ = std::move(memtable);
}

}  // namespace mergedb::db
