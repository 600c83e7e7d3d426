// The database as its commit queue sees it: a memtable with room, and a log that can be written.
// THREADS: by the holder of the turn; from FactsOf on, by any.
#include <algorithm>
#include <optional>
#include <utility>

#include "db/db_impl.h"
#include "format/file_name.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kResumePauseNanos = 100'000'000;
// The pace rises steeply near the end of a debt: a look at a sixteenth of the way would jump over that.
constexpr size_t kLooksWhenPaced = 16;
// MEASURED: full_size_test Queue: a move passes over the 4,000 keys deleted in so much in 0.4 ms.
constexpr size_t kSweptMemtableBytes = size_t{1} << 20;

}  // namespace

Status DbImpl::BeforeGroup(size_t bytes) {
  RETURN_IF_ERROR(CheckOpen());
  RETURN_IF_ERROR(ReviveLog());
  recent_writes_.Discard();  // of a group that failed
  if (store_->key_map() != nullptr) keyspace_ids_.Discard();
  background_->WriteHappened();
  paced_bytes_ += bytes;
  if (paced_bytes_ >= (write_delay_.rate() == 0 ? pace_look_bytes_ : pace_look_bytes_ / kLooksWhenPaced)) {
    paced_bytes_ = 0;
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
  if (!is_full && !(background_->seal_is_wanted() && IsWorthSealing())) [[likely]]
    return {};
  RETURN_IF_ERROR(WaitForSealedSlot());
  MakeRoomAnyway(room);
  return {};
}

// A reader waded through what the active memtable deletes: no merge can take that away before it is flushed.
bool DbImpl::IsWorthSealing() {
  background_->SealIsConsidered();
  return active_->bytes_used() >= std::min(kSweptMemtableBytes, store_->memory.memtable_bytes / 2) &&
         version_set_->sealed_count() + 2 < store_->memory.memtables_max;
}

void DbImpl::MakeRoomAnyway(const write::Room& room) {
  Seal(FitsOneMemtable(room)
           ? TakeStandby()
           : write::MemoryPool::NewLargeMemtable(store_->order, memtable::Memtable::BytesNeeded(room.bytes, 0)));
  (void)active_->Reserve(room.records, room.bytes);  // else operands leave no folds, that is all
}

// The active memtable may be sealed when those sealed, itself and the next one together are within the memory for unflushed
// writes.
Status DbImpl::WaitForSealedSlot() {
  const size_t sealed_max = store_->memory.memtables_max - 2;
  if (version_set_->sealed_count() <= sealed_max) return {};
  const uint64_t start = store_->options.env.clock->NowNanos();
  Status status =
      background_->WaitUntil(Background::Needs::kFlushes, [&] { return version_set_->sealed_count() <= sealed_max; });
  memory_waits_.Add(store_->options.env.clock->NowNanos() - start);
  return status;
}

VersionSet::WalStart DbImpl::At(const wal::Mark& mark) const {
  return {.epoch = epoch_, .salt = salt_, .position = mark.position, .chain = mark.chain, .sequence = mark.sequence};
}

void DbImpl::Seal(std::shared_ptr<memtable::Memtable> next) {
  active_ = next;
  version_set_->Seal(std::move(next), At(pieces_from_ ? *pieces_from_ : log_->end()));
  background_->UpdateWriteDelay();
  background_->SealHappened();
}

Status DbImpl::SealIfUsed() {
  if (active_->empty()) return {};
  RETURN_IF_ERROR(WaitForSealedSlot());
  Seal(TakeStandby());
  return {};
}

// Of the background, which does not wait for writers.
void DbImpl::SealAtRest() {
  const write::WriterQueue::ExclusiveSection turn(queue_, std::try_to_lock);
  if (!turn.is_taken() || !CheckOpen().ok() || !LogGoesOn() || active_->empty() || version_set_->sealed_count() > 0)
    return;
  Seal(TakeStandby());
}

void DbImpl::BeginPieces(const wal::Mark& replay_from) { pieces_from_ = replay_from; }

void DbImpl::EndPieces() {
  pieces_from_ = std::nullopt;
  version_set_->CountLargeBatch();
}

void DbImpl::LogFailed(const Status& status) {
  errors_.fetch_add(1, std::memory_order_relaxed);
  if (status.IsNoSpace()) (void)recycled_files_.RemoveAll();  // the log needs their space more
  // WHY no log goes on by itself with a write whose outcome is unknown: the write stays staged. Replay would put it before writes
  // that did not see it: two transactions would be in no order, and keys would be in a keyspace that was dropped. In a new epoch the
  // write has not happened.
  if (status.outcome_unknown()) epoch_is_owed_ = true;
  if (log_->failure().ok() && !epoch_is_owed_) return;
  // Of those who come later the outcome is known: absent.
  log_failure_ = read::OfWrite(Status::Make(status.code(), status.message()), store_->directory);
}

// OK if the log can be written. It may have failed behind everyone's back, when the background synced it.
Status DbImpl::ReviveLog() {
  if (LogGoesOn()) [[likely]]
    return {};
  if (log_failure_.ok()) {
    const Status failure = log_->failure();
    if (failure.ok()) return {};
    LogFailed(failure);
  }
  return Resume();
}

// A log whose sync failed is given up, never synced again (row B1): everything applied goes into tables, a new epoch begins, and
// what the failed log holds beyond them is void. Writers hear the old failure until that worked.
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

// What is in memory is in tables when this returns OK.
Status DbImpl::FlushAll() {
  RETURN_IF_ERROR(SealIfUsed());
  return background_->WaitUntil(Background::Needs::kFlushes, [&] { return version_set_->sealed_count() == 0; });
}

// REQUIRES: all is in tables. Once the log's new epoch was begun in the SuperVersion there is no way back to the old one: if the MANIFEST or the
// new log cannot be written, writers hear why until Resume could do it.
Status DbImpl::StartNewEpoch() {
  const kv::Sequence sequence = log_->next_sequence();
  epoch_is_owed_ = true;
  const uint64_t salt = store_->options.env.entropy();
  const wal::Mark first = wal::FirstMark(salt, sequence);
  version_set_->StartEpoch(
      {.epoch = epoch_ + 1, .salt = salt, .position = first.position, .chain = first.chain, .sequence = sequence});
  RETURN_IF_ERROR(
      version_set_->Commit([](const VersionSet::WalStart&) { return VersionSet::WalFacts{}; }, std::nullopt, nullptr));

  const auto failed_segments = log_->segments();
  log_->Stop();
  RETURN_IF_ERROR(StartLog(epoch_ + 1, salt, sequence, {}));
  for (const kv::FileNumber number : failed_segments) {
    (void)store_->options.env.file_system->Remove(format::SegmentPath(store_->directory, number));  // else an orphan
  }
  epoch_is_owed_ = false;
  if (marker_to_come_) store_->SetKeyMap(std::make_unique<kv::KeyMap>(*std::exchange(marker_to_come_, std::nullopt)));
  return {};
}

Status DbImpl::StartLog(uint64_t epoch, uint64_t salt, kv::Sequence sequence,
                        std::vector<kv::FileNumber> reusable_segments) {
  const Env& env = store_->options.env;
  const wal::Options options{.file_system = env.file_system,
                             .clock = env.clock,
                             .executor = env.executor,
                             .directory = store_->directory,
                             .database_id = database_id_,
                             .epoch = epoch,
                             .salt = salt,
                             .first_sequence = sequence,
                             .staging_bytes = store_->memory.staging_bytes,
                             .undrained_bytes_max = store_->memory.undrained_bytes_max,
                             .segment_bytes = store_->memory.segment_bytes,
                             .recycled_bytes = store_->memory.log_quota_bytes,
                             .use_mapping = store_->options.use_mapped_staging,
                             .allocate_number = [this] { return version_set_->AllocateNumber(); },
                             .reusable_segments = std::move(reusable_segments)};
  ASSIGN_OR_RETURN(std::shared_ptr<wal::Wal> log, wal::Wal::Create(options));
  (void)log->Prepare();  // a full disk is the first writer's error, not the open's
  salt_ = salt;
  {
    base::Lock lock(mutex_);
    epoch_ = epoch;
    log_ = log;
  }
  if (!log->staging_file_bytes()) return {};
  Status status =
      version_set_->Commit([this](const VersionSet::WalStart& from) { return FactsOf(from); }, std::nullopt, nullptr);
  if (!status.ok()) log->Stop();  // nothing is staged that the MANIFEST does not know of
  return status;
}

VersionSet::WalFacts DbImpl::FactsOf(const VersionSet::WalStart& from) const {
  const auto log = LogOf(from.epoch);
  if (log == nullptr) return {};
  return {.durable = log->durable_position(),
          .segments = log->segments_from(from.position),
          .staging_bytes = log->staging_file_bytes()};
}

std::shared_ptr<wal::Wal> DbImpl::CurrentLog() const {
  base::Lock lock(mutex_);
  return log_;
}

std::shared_ptr<wal::Wal> DbImpl::LogOf(uint64_t epoch) const {
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

// Clearing an index and touching fresh pages is work for the background. One standby at most, and only while it keeps within
// the memory for unflushed writes.
void DbImpl::MakeStandby() {
  {
    base::Lock lock(mutex_);
    if (standby_ != nullptr || version_set_->sealed_count() + 2 > store_->memory.memtables_max) return;
  }
  auto memtable = store_->memtables->NewMemtable(store_->order);
  base::Lock lock(mutex_);
  if (standby_ == nullptr) standby_ = std::move(memtable);
}

}  // namespace mergedb::db
