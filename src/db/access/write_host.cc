#include "db/access/write_host.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "format/batch.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kResumePauseNanos = 100'000'000;
// While writes are delayed, the delay is updated after 1/16 of the usual number of bytes. WHY: the delay
// rises steeply near its maximum, and the usual step would jump over that part.
constexpr size_t kUpdatesWhenDelayed = 16;
// A memtable of this size is worth a flush after one tombstone-heavy scan.
constexpr size_t kTombstoneScanMemtableBytes = size_t{1} << 20;
// A smaller one is worth it when scans have passed over so many entries, plus one for each 16 bytes: their time is then
// that of the flush and of the compaction that follows, 3 ms and more.
// WHY a minimum of entries: the flush helps only if the tombstones are in this memtable, and not in tables.
// MEASURED: 20,000 jobs that are taken from the head of a queue, each with a new iterator: 20.9 s with flushes at 1 MiB
// alone.
constexpr uint64_t kEntriesScannedForFlush = 65'536;
constexpr size_t kBytesPerEntryScanned = 16;
constexpr uint64_t kTombstoneScanMemtableEntries = 512;
// A database at rest has at most this much in its active memtable. WHY: Close flushes it, and what the flush makes
// obsolete stays on the disk.
constexpr size_t kRestingMemtableBytesMax = size_t{1} << 20;
// Of a memtable at rest, this much is looked at in one exclusive section. WHY a limit: a writer may wait for it.
constexpr size_t kGiveBackBytes = size_t{4} << 20;

// A closed or idle database keeps a WAL of at most this many bytes on the disk.
constexpr uint64_t kIdleWalBytesMax = uint64_t{512} << 10;
// Close flushes a memtable with more WAL than this. The next open replays a smaller one from the WAL.
constexpr uint64_t kClosedWalBytesMax = uint64_t{256} << 10;

}  // namespace

Status WriteHost::Start(const VersionSet::WalStart& start) {
  store_.memtables->Rest();  // what a replay used
  active() = store_.memtables->NewUntouchedMemtable(store_.order);
  tree_.version_set.SwitchMemtable(active(), start);
  return epochs_.CommitEpoch(start);
}

// WHY a limit: the keys of a batch are found one after the other.
[[gnu::noinline, gnu::cold]] void WriteHost::NoteWrite(const write::Change& change) noexcept {
  constexpr uint64_t kRecordsMax = 16;
  if (const write::Record* const record = change.record())
    return store_.heat.Note(read::Heat::Kind::kWrite, record->key, 1);
  const write::Batch& batch = *change.batch();
  store_.heat.NoteOneOf(read::Heat::Kind::kWrite, std::min(batch.records, kRecordsMax), batch.records,
                        [&batch](uint64_t index) {
                          format::BatchReader reader(batch.bytes);
                          for (uint64_t i = 0; i <= index && reader.Next(); ++i) {}
                          return reader.key();
                        });
}

Status WriteHost::SyncWal() {
  write::WriterQueue::ExclusiveSection section(queue_);
  RETURN_IF_ERROR(ResumeWal());
  Status status = write::WithFreedSpace(*this, [&] { return wal().MakeDurable(); });
  if (!status.ok()) WalFailed(status);
  return read::OfWrite(std::move(status), store_.directory);
}

// ---- Before a group -----------------------------------------------------------------------------------------

Status WriteHost::BeforeGroup(size_t bytes) {
  RETURN_IF_ERROR(store_.CheckOpen());
  RETURN_IF_ERROR(ResumeWal());
  checks_.Discard();
  background_->WriteHappened();
  bytes_since_delay_update_ += bytes;
  if (bytes_since_delay_update_ >=
      (write_delay_.rate() == 0 ? delay_update_bytes_ : delay_update_bytes_ / kUpdatesWhenDelayed)) {
    bytes_since_delay_update_ = 0;
    background_->UpdateWriteDelay();
    // WHY not at the open and not after a rest: a database that stays small needs no second memtable.
    if (!needs_standby_.load(std::memory_order_relaxed) &&  // WHY relaxed: a later call asks again
        active()->bytes_used() >= store_.memory.memtable_bytes / 4) {
      needs_standby_ = true;
      background_->WantStandby();
    }
  }
  write_delay_.Enter(bytes);
  return {};
}

// ---- Memtables ----------------------------------------------------------------------------------------------

Status WriteHost::MakeMemtableRoom(const write::Room& room, bool must) {
  const bool is_full = !active()->Reserve(room.records, room.bytes);
  if (!is_full && !(background_->switch_is_wanted() && IsWorthSwitching())) [[likely]]
    return {};
  if (!must) RETURN_IF_ERROR(WaitForImmutableSlot());
  auto next = TakeMemtable(&room);
  if (!next && must) throw std::bad_alloc();  // the process stops
  if (!next) return is_full ? std::move(next).error() : Status();
  SwitchMemtable(std::move(*next));
  // If this fails, operands leave no folded values.
  (void)active()->Reserve(room.records, room.bytes);
  return {};
}

// After a tombstone-heavy scan: is the active memtable worth a flush? WHY: no compaction can drop its
// tombstones before the flush.
bool WriteHost::IsWorthSwitching() {
  background_->SwitchIsConsidered();
  if (tree_.version_set.immutable_count() + 2 >= store_.memory.memtables_max) return false;
  const size_t bytes = active()->bytes_used();
  if (bytes >= std::min(kTombstoneScanMemtableBytes, store_.memory.memtable_bytes / 2)) return true;
  return active()->entries() >= kTombstoneScanMemtableEntries &&
         background_->entries_scanned() >= kEntriesScannedForFlush + bytes / kBytesPerEntryScanned;
}

// Waits until the active memtable may become immutable: the immutable memtables, the active one and the next
// one must fit into the memory for unflushed writes.
Status WriteHost::WaitForImmutableSlot() {
  const size_t immutable_max = store_.memory.memtables_max - 2;
  if (tree_.version_set.immutable_count() <= immutable_max) return {};
  const uint64_t start = store_.options.env.clock->NowNanos();
  const bool is_told = store_.stalls.BeginMemory();
  Status status = write::WithFreedSpace(*this, [&] {
    return background_->WaitUntil(Background::Needs::kFlushes,
                                  [&] { return tree_.version_set.immutable_count() <= immutable_max; });
  });
  const uint64_t waited = store_.options.env.clock->NowNanos() - start;
  counters_.memory_waits.Add(waited);
  if (is_told) store_.stalls.EndMemory(waited);
  return status;
}

void WriteHost::SwitchMemtable(std::shared_ptr<memtable::Memtable> next) {
  active() = next;
  background_->ForgetEntriesScanned();
  tree_.version_set.SwitchMemtable(std::move(next), epochs_.At(queue_.target().pieces_from.value_or(wal().end())));
  background_->UpdateWriteDelay();
  background_->MemtableSwitched();
}

Status WriteHost::SwitchMemtableIfUsed() {
  if (active()->empty()) return {};
  RETURN_IF_ERROR(WaitForImmutableSlot());
  ASSIGN_OR_RETURN(auto next, TakeMemtable(nullptr));
  SwitchMemtable(std::move(next));
  return {};
}

Status WriteHost::BeginFlush() {
  write::WriterQueue::ExclusiveSection section(queue_);
  RETURN_IF_ERROR(ResumeWal());
  return SwitchMemtableIfUsed();
}

Status WriteHost::BeginFlushForRest() {
  const write::WriterQueue::ExclusiveSection section(queue_);
  if (!IsUsable(section) || active()->bytes_used() <= kRestingMemtableBytesMax) return {};
  return SwitchMemtableIfUsed();
}

void WriteHost::BeginIdleFlush(bool is_worth_it) {
  bool is_empty = false;
  {
    const write::WriterQueue::ExclusiveSection section(queue_, std::try_to_lock);
    if (!IsUsable(section)) return;
    if (background_->DiskIsFull()) (void)FreeSpace();  // all at once: writers wait for the space
    if (tree_.version_set.immutable_count() > 0) return;
    const bool frees_space = !store_.options.keep_space_at_rest && wal().bytes_on_disk() > kIdleWalBytesMax;
    is_empty = active()->empty();
    if (!is_empty && (is_worth_it || frees_space)) {
      std::shared_ptr<memtable::Memtable> next;
      try {
        next = store_.memtables->NewUntouchedMemtable(store_.order);
      } catch (const std::bad_alloc&) { return; }  // the next tick tries again
      SwitchMemtable(std::move(next));
    }
  }
  GiveBackMemory();
  if (is_empty) GiveBackWal();
}

// WHY the section is left after each piece: a writer may wait for it.
void WriteHost::GiveBackMemory() {
  needs_standby_ = false;
  std::shared_ptr<memtable::Memtable> standby;
  {
    base::Lock lock(mutex_);
    standby = std::move(standby_);
  }
  standby = nullptr;
  store_.memtables->Rest();
  for (bool has_more = true; has_more;) {
    const write::WriterQueue::ExclusiveSection section(queue_, std::try_to_lock);
    has_more = IsUsable(section) && active()->GiveBackUnused(kGiveBackBytes);
  }
}

// WHY the section is left after each piece: a writer may wait for it.
void WriteHost::GiveBackWal() {
  if (store_.options.keep_space_at_rest) return;
  for (bool keeps_spare = true;; keeps_spare = false) {
    const write::WriterQueue::ExclusiveSection section(queue_, std::try_to_lock);
    if (!IsUsable(section) || wal().bytes_on_disk() <= kIdleWalBytesMax) return;
    if (!wal().GiveBackBlocks(keeps_spare)) return epochs_.GiveBackSegments();
  }
}

bool WriteHost::IsUsable(const write::WriterQueue::ExclusiveSection& section) const {
  return section.is_taken() && store_.CheckOpen().ok() && epochs_.is_usable();
}

// WHY a status: nothing is changed yet, so a process without memory need not stop here.
Result<std::shared_ptr<memtable::Memtable>> WriteHost::TakeMemtable(const write::Room* room) {
  const bool is_large = room != nullptr && !queue_.target().FitsOneMemtable(*room);
  if (!is_large) {
    base::Lock lock(mutex_);
    if (standby_ != nullptr) return std::move(standby_);
  }
  const size_t bytes = is_large ? memtable::Memtable::BytesNeeded(room->bytes, 0) : store_.memory.memtable_bytes;
  try {
    if (is_large) return write::MemoryPool::NewLargeMemtable(store_.order, bytes);
    return needs_standby_ ? store_.memtables->NewMemtable(store_.order)
                          : store_.memtables->NewUntouchedMemtable(store_.order);
  } catch (const std::bad_alloc&) {}
  return Status::Busy(store_.directory + ": no memory for a memtable of " + std::to_string(bytes) +
                      " bytes; lower Options::memory_bytes and write_buffer_bytes, or raise the limit of memory of the "
                      "process (RLIMIT_AS, memory.max)");
}

void WriteHost::MakeStandby() {
  if (!needs_standby_) return;
  {
    base::Lock lock(mutex_);
    if (standby_ != nullptr || tree_.version_set.immutable_count() + 2 > store_.memory.memtables_max) return;
  }
  std::shared_ptr<memtable::Memtable> memtable;
  try {
    memtable = store_.memtables->NewMemtable(store_.order);
  } catch (const std::bad_alloc&) { return; }  // the writer that needs it tells
  {
    base::Lock lock(mutex_);
    if (needs_standby_ && standby_ == nullptr) standby_ = std::move(memtable);
  }
  memtable = nullptr;
  if (!needs_standby_) store_.memtables->Rest();  // a rest began meanwhile
}

Status WriteHost::FlushForClose() {
  if (!has_unlogged_ && !wal().has_lost_buffer()) {
    const VersionSet::WalStart flushed = tree_.version_set.flushed();
    const uint64_t unflushed = wal().end().position - flushed.position;
    if (unflushed == 0 || (unflushed <= kClosedWalBytesMax && wal().live_bytes_on_disk() <= kIdleWalBytesMax))
      return {};
    if (wal().failure().ok()) (void)FlushAll();
    return {};
  }
  const auto flush = [&] {
    RETURN_IF_ERROR(SwitchMemtableIfUsed());
    return background_->WaitForFlush();
  };
  Status status = write::WithFreedSpace(*this, flush);
  return status.ok() ? status : flush();  // the last chance; the fault may be temporary
}

// ---- A new epoch of the WAL ---------------------------------------------------------------------------------

void WriteHost::WalFailed(const Status& status) {
  counters_.errors.fetch_add(1, std::memory_order_relaxed);
  store_.events.Emit(EventKind::kError, [&] { return EventFields{TextField("work", "wal"), StatusField(status)}; });
  if (status.IsNoSpace()) {
    counters_.errors_no_space.fetch_add(1, std::memory_order_relaxed);
    is_out_of_space_ = true;
    (void)tree_.recycled_files.RemoveAll();  // the WAL needs their space more
  }
  epochs_.NoteFailure(status);
}

// WHY one event: a program that tries again at once would fill LOG.
void WriteHost::FrameFailed(const write::Change& change, const Status& why) {
  checks_.Withdraw(change);
  if (why.outcome_unknown()) return WalFailed(why);
  if (!why.IsNoSpace()) return;
  counters_.errors.fetch_add(1, std::memory_order_relaxed);
  counters_.errors_no_space.fetch_add(1, std::memory_order_relaxed);
  if (is_out_of_space_.exchange(true)) return;
  store_.events.Emit(EventKind::kError, [&] { return EventFields{TextField("work", "wal"), StatusField(why)}; });
}

void WriteHost::Publish(kv::Sequence last, bool in_pieces) {
  if (in_pieces) tree_.version_set.CountLargeBatch();
  if (is_out_of_space_.load(std::memory_order_relaxed)) [[unlikely]]  // WHY relaxed: it was set in this section
    is_out_of_space_ = false;
  checks_.Publish(last);
}

// WHY all of it: the WAL buffer keeps blocks up to its size, and a small disk may have no others.
bool WriteHost::FreeSpace() {
  bool is_freed = false;
  while (wal().GiveBackBlocks(false)) is_freed = true;
  is_freed |= wal().GiveBackReusableSegments();
  const uint64_t recycled = tree_.recycled_files.bytes();
  (void)tree_.recycled_files.RemoveAll();  // what stays is in bytes()
  return is_freed || tree_.recycled_files.bytes() < recycled;
}

bool WriteHost::EnterAndFreeSpace() {
  const write::WriterQueue::ExclusiveSection section(queue_);
  return IsUsable(section) && FreeSpace();
}

// The WAL may also have failed in the background, during a sync.
Status WriteHost::ResumeWal() {
  if (epochs_.is_usable()) [[likely]]
    return {};
  if (epochs_.failure().ok()) {
    const Status failure = wal().failure();
    if (failure.ok()) return {};
    WalFailed(failure);
  }
  return Resume();
}

// All applied writes are flushed to tables, and a new epoch begins. Writers get the old failure until this
// succeeds.
Status WriteHost::Resume() {
  const uint64_t now = store_.options.env.clock->NowNanos();
  if (now < resume_not_before_nanos_) return epochs_.failure();
  resume_not_before_nanos_ = now + kResumePauseNanos;

  if (!write::WithFreedSpace(*this, [&] { return FlushAll(); }).ok()) return epochs_.failure();
  if (!write::WithFreedSpace(*this, [&] { return epochs_.BeginNext(); }).ok()) return epochs_.failure();
  counters_.resumes.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// When this returns OK, tables hold everything that memtables held.
Status WriteHost::FlushAll() {
  RETURN_IF_ERROR(SwitchMemtableIfUsed());
  return background_->WaitUntil(Background::Needs::kFlushes, [&] { return tree_.version_set.immutable_count() == 0; });
}

Status WriteHost::BeginKeyspaces(std::string marker) {
  RETURN_IF_ERROR(write::WithFreedSpace(*this, [&] { return FlushAll(); }));
  epochs_.SetKeyMarker(std::move(marker));
  return write::WithFreedSpace(*this, [&] { return epochs_.BeginNext(); });
}

}  // namespace mergedb::db
