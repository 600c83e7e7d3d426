#include "write/writer_queue.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "base/current.h"
#include "base/out_of_memory.h"
#include "base/perf.h"
#include "base/schedule_point.h"
#include "format/batch.h"

namespace mergedb::write {
namespace {

// The limits of a group: a larger one only delays its members.
constexpr size_t kGroupBytesMax = 1 << 20;
constexpr size_t kGroupWritersMax = 128;

// How long writers that bypass the queue go before queued writers. The kernel's timer adds about as much again.
// MEASURED: mergerandom of 5 M by ten threads on two cores: 0.20-0.49 us an update without the wait,
// 0.12-0.16 with 30, 100 and 300 us; fillrandom of 2 M by sixteen threads: 0.66 us without, 0.27 with it, p99
// 143 and 104 us; by four: p99 14 and 0.4 us.
constexpr uint64_t kYieldNanos = 50'000;

size_t PayloadBytes(const Change& change) {
  return change.is_batch ? change.batch.size()
                         : format::RecordBytes(change.kind, change.key.size(), change.value.size());
}

// WHY by bytes: replay knows the bytes of a frame before it counts its records, and refuses a frame whose
// sequences might exceed the maximum.
Status CheckSequences(kv::Sequence first, const Change& change) {
  if (first <= kv::kSequenceMax - std::min<uint64_t>(kv::kSequenceMax, PayloadBytes(change))) [[likely]]
    return {};
  return Status::NotSupported("sequence numbers are used up");
}

// Calls append(), and again if it found no disk space or no descriptor for a new segment, and there may be some now.
// WHY once for space: each try may take blocks and segments that the host then gives back. WHY not WithFreedSpace:
// after an unknown outcome, no other frame may take the place.
template <typename Append>
Status AppendPatiently(Host& host, Append&& append) {
  Status status = append();
  if (status.IsNoSpace() && !status.outcome_unknown() && host.FreeSpace()) status = append();
  while (status.IsBusy() && !status.outcome_unknown() && host.WaitForDescriptors()) status = append();
  return status;
}

// Makes the frames that were appended durable, or, if not `is_synced`, hands them to the system.
Status WriteOut(Host& host, bool is_synced) {
  const Status status =
      WithFreedSpace(host, [&] { return is_synced ? host.wal().MakeDurable() : host.wal().WriteThrough(); });
  return status.ok() ? Status() : status.WithOutcomeUnknown();
}

// Appends one frame, durable when it returns OK.
Status AppendDurably(Host& host, const Change& change) {
  wal::Wal& log = host.wal();
  if (change.batch.size() > log.direct_bytes_max()) return log.AppendLarge(change.batch, change.records);
  RETURN_IF_ERROR(log.Append({&change.batch, 1}, change.records, true));
  return WriteOut(host, true);
}

// WHY no fetch_add: only the holder of the exclusive section counts.
void Count(std::atomic<uint64_t>* counter, uint64_t more) {
  counter->store(counter->load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

Status WriterQueue::Commit(const Change& change) noexcept {
  Waiter waiter{.change = &change, .owner = change.owner};
  if (TryEnterAlone()) [[likely]] {
    base::OrStop([&] { Lead(waiter); });
    ExitAlone(change.durability);
    return std::move(waiter.status);
  }
  const uint64_t start = host_.NowNanos();
  Join(waiter);
  const uint64_t waited = host_.NowNanos() - start;
  counters_.queue_waits.Add(waited);
  if (PerfContext* const perf = base::thread_perf) [[unlikely]]
    perf->queue_wait_nanos += waited;
  if (waiter.is_done) return std::move(waiter.status);
  base::OrStop([&] { Lead(waiter); });
  Leave(*waiter.group_last);
  return std::move(waiter.status);
}

// WHY a path beside the queue: the queue's mutex and condition variable would be most of the cost of a lone
// writer's commit.
bool WriterQueue::TryEnterAlone() {
  SCHEDULE_POINT("enter the section alone");
  uint32_t free = 0;
  return section_.compare_exchange_strong(free, kAlone, std::memory_order_acquire, std::memory_order_relaxed);
}

// After a sync the section goes to the queue at once: queued writers have waited longer than a context switch
// takes, and share the next sync.
void WriterQueue::ExitAlone(Durability durability) {
  SCHEDULE_POINT("leave the section alone");
  uint32_t alone = kAlone;
  if (durability != Durability::kSynced &&
      section_.compare_exchange_strong(alone, 0, std::memory_order_release, std::memory_order_relaxed)) [[likely]] {
    return;
  }
  base::Lock lock(mutex_);
  if (Waiter* const front = waiters_.front()) {
    section_.fetch_or(kQueued, std::memory_order_relaxed);
    front->wake->NotifyOne();
  }
  section_.fetch_and(~kAlone, std::memory_order_release);
  ClearQueuedIfIdle();
}

WriterQueue::ExclusiveSection::ExclusiveSection(WriterQueue& queue) : queue_(queue) { queue_.Join(waiter_); }

WriterQueue::ExclusiveSection::ExclusiveSection(WriterQueue& queue, std::try_to_lock_t) : queue_(queue) {
  base::Lock lock(queue.mutex_);
  is_taken_ =
      queue.waiters_.front() == nullptr && (queue.section_.fetch_or(kQueued, std::memory_order_acquire) & kAlone) == 0;
  if (is_taken_) queue.Enqueue(waiter_);
  queue.ClearQueuedIfIdle();
}

WriterQueue::ExclusiveSection::~ExclusiveSection() {
  if (is_taken_) queue_.Leave(waiter_);
}

// Waits until this waiter is at the front, with its group behind it, or done.
void WriterQueue::Join(Waiter& waiter) {
  base::Lock lock(mutex_);
  base::CondVar wake;
  waiter.wake = &wake;
  if (waiter.change != nullptr && writers_lock_.Excludes(waiter.owner)) [[unlikely]] {
    writers_lock_.Wait(waiter);
  } else if (YieldsToLoneWriter(waiter)) {
    waiters_.Append(waiter);
    if (waiters_.front() == &waiter) {
      wake.WaitFor(lock, kYieldNanos);
      section_.fetch_or(kQueued, std::memory_order_acquire);
    }
  } else {
    Enqueue(waiter);
  }
  while (!waiter.is_done && !HoldsSection(waiter)) wake.Wait(lock);
  if (waiter.change != nullptr && !waiter.is_done) FormGroup(waiter);
}

bool WriterQueue::HoldsSection(const Waiter& waiter) const {
  return waiters_.front() == &waiter && (section_.load(std::memory_order_acquire) & kAlone) == 0;
}

// If the queue is empty and the writers' lock is free, the next writer may bypass the queue.
void WriterQueue::ClearQueuedIfIdle() {
  if (waiters_.front() == nullptr && writers_lock_.is_free()) section_.fetch_and(~kQueued, std::memory_order_release);
}

// Ends the bypass of the queue. A front that still waits for kYieldNanos is woken: here, or by the lone
// writer when it leaves.
void WriterQueue::Enqueue(Waiter& waiter) {
  const uint32_t before = section_.fetch_or(kQueued, std::memory_order_acquire);
  waiters_.Append(waiter);
  if (before == 0 && waiters_.front() != &waiter) waiters_.front()->wake->NotifyOne();
}

// True if the waiter lets other writers bypass the queue for kYieldNanos: it meets a lone writer, or a
// front that waits so itself.
bool WriterQueue::YieldsToLoneWriter(const Waiter& waiter) const {
  if (waiter.change == nullptr || waiter.change->durability == Durability::kSynced) return false;
  const uint32_t section = section_.load(std::memory_order_relaxed);
  return (section & kQueued) == 0 && (waiters_.front() != nullptr || section == kAlone);
}

// The waiters from the front to `last` are done: wakes them and the next leader.
void WriterQueue::Leave(Waiter& last) {
  base::Lock lock(mutex_);
  Waiter* follower = waiters_.front()->next;
  waiters_.RemoveThrough(last);
  // A follower may be destroyed as soon as it is marked done and the mutex is released.
  while (follower != waiters_.front()) {
    Waiter* next = follower->next;
    follower->is_done = true;
    follower->wake->NotifyOne();
    follower = next;
  }
  if (follower != nullptr) follower->wake->NotifyOne();
  ClearQueuedIfIdle();
}

// ---- The writers' lock -----------------------------------------------------------------------------------

Status WriterQueue::LockWriters(const void* owner, uint64_t wait_nanos) {
  Waiter waiter{.owner = owner, .wants_lock = true, .thread = base::ThreadNumber()};
  {
    base::Lock lock(mutex_);
    if (writers_lock_.is_free()) {
      writers_lock_.Take(waiter);
      Enqueue(waiter);
    } else {
      writers_lock_.Wait(waiter);
    }
    base::CondVar wake;
    waiter.wake = &wake;
    while (!waiter.is_done && !HoldsSection(waiter)) {
      // WHY no time limit for a waiter in the queue: it has the lock, and only commits in progress are before it.
      if (!waiter.waits_for_lock || wait_nanos == UINT64_MAX) {
        wake.Wait(lock);
      } else if ((wait_nanos == 0 || !wake.WaitFor(lock, wait_nanos)) && waiter.waits_for_lock) {
        writers_lock_.GiveUp(waiter);
      }
    }
  }
  if (waiter.is_done) return std::move(waiter.status);
  Leave(waiter);
  return {};
}

void WriterQueue::MoveWriters(const void* owner) {
  base::Lock lock(mutex_);
  writers_lock_.MoveTo(owner, base::ThreadNumber());
}

void WriterQueue::UnlockWriters(const void* owner) {
  base::Lock lock(mutex_);
  writers_lock_.Release(owner);
  while (Waiter* const waiter = writers_lock_.Admit()) {
    Enqueue(*waiter);
    if (waiters_.front() == waiter || waiter->wants_lock) waiter->wake->NotifyOne();
  }
  ClearQueuedIfIdle();
}

void WriterQueue::Stop() {
  base::Lock lock(mutex_);
  writers_lock_.Stop();
}

// ---- Groups ----------------------------------------------------------------------------------------------

// Adds waiters behind the leader to the group as long as they ask for no more than the leader. A write without a
// sync must not wait for the sync of a later write. Writes without a WAL and writes with one form separate groups.
void WriterQueue::FormGroup(Waiter& leader) {
  const Durability wanted = leader.change->durability;
  if (leader.next == nullptr) return;
  size_t bytes = PayloadBytes(*leader.change);
  if (bytes > kGroupBytesMax / 4) return;
  size_t writers = 1;
  for (Waiter* waiter = leader.next; waiter != nullptr; waiter = waiter->next) {
    if (waiter->change == nullptr) break;
    const Durability asked = waiter->change->durability;
    if ((asked == Durability::kNoWal) != (wanted == Durability::kNoWal)) break;
    if (asked == Durability::kSynced && wanted != Durability::kSynced) break;
    bytes += PayloadBytes(*waiter->change);
    if (bytes > kGroupBytesMax || ++writers > kGroupWritersMax) break;
    leader.group_last = waiter;
  }
}

void WriterQueue::Lead(Waiter& leader) {
  Waiter* const end = leader.group_last == &leader ? nullptr : leader.group_last;
  const auto for_each = [&](auto&& act) {
    for (Waiter* waiter = &leader;; waiter = waiter->next) {
      act(*waiter);
      if (end == nullptr || waiter == end) break;
    }
  };

  Room room;
  bool is_synced = false;
  for_each([&](Waiter& waiter) {
    room.records += waiter.change->records;
    room.bytes += PayloadBytes(*waiter.change);
    is_synced |= waiter.change->durability == Durability::kSynced;
  });
  if (end != nullptr && !host_.FitsOneMemtable(room)) {  // small memtables: one write at a time
    leader.group_last = &leader;
    return Lead(leader);
  }

  Status status = host_.BeforeGroup(room.bytes);
  if (status.ok()) for_each([&](Waiter& waiter) { waiter.status = host_.CheckConflicts(*waiter.change); });
  if (status.ok() && !host_.FitsOneMemtable(room) && leader.change->is_batch) return LeadLarge(leader);
  if (status.ok()) status = host_.MakeMemtableRoom(room);
  if (!status.ok()) return for_each([&](Waiter& waiter) { waiter.status = status; });

  PerfContext* const perf = base::thread_perf;
  const uint64_t wal_start = perf == nullptr ? 0 : host_.NowNanos();
  // Of a frame whose outcome is unknown: no later frame may follow it.
  Status failed;
  for_each([&](Waiter& waiter) {
    if (!waiter.status.ok()) return;  // a conflict
    if (failed.ok()) {
      waiter.status = AppendPatiently(host_, [&] { return Stage(waiter, is_synced); });
    } else {
      waiter.status = failed;
    }
    if (waiter.status.ok()) return;
    host_.Withdraw(*waiter.change, waiter.status);
    if (!waiter.status.outcome_unknown()) return;
    host_.WalFailed(waiter.status);
    failed = Status::Make(waiter.status.code(), waiter.status.message());
  });
  if (leader.change->durability != Durability::kNoWal) {
    status = WriteOut(host_, is_synced);
    if (is_synced) Count(&counters_.syncs, 1);
    if (!status.ok()) {
      host_.WalFailed(status);
      return for_each([&](Waiter& waiter) {
        if (waiter.status.ok()) waiter.status = status;
      });
    }
  }

  const uint64_t memtable_start = perf == nullptr ? 0 : host_.NowNanos();
  kv::Sequence last = 0;
  for_each([&](Waiter& waiter) {
    if (!waiter.status.ok()) return;
    waiter.status = Apply(waiter);
    last = waiter.first_sequence + waiter.change->records - 1;
  });
  if (perf != nullptr) [[unlikely]] {
    perf->wal_nanos += memtable_start - wal_start;
    perf->memtable_nanos += host_.NowNanos() - memtable_start;
  }
  if (last != 0) host_.Publish(last);
  Count(&counters_.groups, 1);
}

// Assigns the sequences of the change and appends its frame to the WAL.
Status WriterQueue::Stage(Waiter& waiter, bool will_sync) {
  const Change& change = *waiter.change;
  wal::Wal& log = host_.wal();
  waiter.first_sequence = log.next_sequence();
  RETURN_IF_ERROR(CheckSequences(waiter.first_sequence, change));
  if (change.durability == Durability::kNoWal) {
    log.SkipTo(waiter.first_sequence + change.records);
    return {};
  }

  const size_t bytes = PayloadBytes(change);
  if (bytes > log.direct_bytes_max()) {
    std::string payload;
    if (!change.is_batch) format::AppendRecord(&payload, change.kind, change.key, change.value);
    return log.AppendLarge(change.is_batch ? change.batch : payload, change.records);
  }
  if (change.is_batch) return log.Append({&change.batch, 1}, change.records, will_sync);
  const format::RecordHeader header(change.kind, change.key.size(), change.value.size());
  const std::string_view record[] = {header.view(), change.key,
                                     change.kind == kv::Kind::kDelete ? std::string_view() : change.value};
  return log.Append(record, change.records, will_sync);
}

Status WriterQueue::Apply(Waiter& waiter) {
  const Change& change = *waiter.change;
  memtable::Memtable& active = host_.active();
  SCHEDULE_POINT("add to the memtable");
  Count(&counters_.writes, 1);
  Count(&counters_.records, change.records);
  if (!change.is_batch) {
    active.Add(change.key, kv::MakeTag(waiter.first_sequence, change.kind), change.value);
    return {};
  }
  kv::Sequence sequence = waiter.first_sequence;
  format::BatchReader reader(change.batch);
  while (reader.Next()) active.Add(reader.key(), kv::MakeTag(sequence++, reader.kind()), reader.value());
  ASSERT(reader.status().ok() && sequence == waiter.first_sequence + change.records,
         "the batch was checked before it was staged");
  return {};
}

// Commits one batch that does not fit in a memtable. It is durable in the WAL before any piece can reach a
// table: a table with half of a batch and a WAL without the rest would break atomicity. For the same reason
// it goes to the WAL even if it asks for no WAL.
void WriterQueue::LeadLarge(Waiter& waiter) {
  if (!waiter.status.ok()) return;
  const Change& change = *waiter.change;
  wal::Wal& log = host_.wal();
  const wal::Mark before = log.end();
  waiter.first_sequence = log.next_sequence();
  waiter.status = CheckSequences(waiter.first_sequence, change);
  if (waiter.status.ok()) waiter.status = AppendPatiently(host_, [&] { return AppendDurably(host_, change); });
  if (!waiter.status.ok()) {
    host_.Withdraw(change, waiter.status);
    if (waiter.status.outcome_unknown()) host_.WalFailed(waiter.status);
    return;
  }
  host_.BeginPieces(before);
  kv::Sequence sequence = waiter.first_sequence;
  format::BatchReader reader(change.batch);
  while (reader.Next()) {
    SCHEDULE_POINT("add a piece to the memtable");
    const Room room{.records = 1, .bytes = reader.key().size() + reader.value().size()};
    // WHY MakeMemtableRoomAnyway: the pieces that are applied cannot be undone, and the next commit would make
    // them visible.
    if (!host_.MakeMemtableRoom(room).ok()) host_.MakeMemtableRoomAnyway(room);
    host_.active().Add(reader.key(), kv::MakeTag(sequence++, reader.kind()), reader.value());
  }
  host_.EndPieces();
  host_.Publish(sequence - 1);
  Count(&counters_.writes, 1);
  Count(&counters_.records, change.records);
}

}  // namespace mergedb::write
