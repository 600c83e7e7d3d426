#include "write/writer_queue.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "base/schedule_point.h"
#include "base/zoo.h"
#include "format/batch.h"

namespace mergedb::write {
namespace {

// A group is worth forming up to here: larger ones only delay their members.
constexpr size_t kGroupBytesMax = 1 << 20;
constexpr size_t kGroupWritersMax = 128;

// How long those who pass by the queue go before those in it. The kernel's timer adds as much again.
// MEASURED: mergerandom of 5 M by ten threads on two cores: 0.20-0.49 us an update without, 0.12-0.16 with 30, 100 and 300 us;
// fillrandom of 2 M by sixteen: 0.66 and 0.27 us, p99 143 and 104 us; by four: p99 14 and 0.4 us.
constexpr uint64_t kPatienceNanos = 50'000;

size_t PayloadBytes(const Change& change) {
  return change.is_batch ? change.batch.size()
                         : format::RecordBytes(change.kind, change.key.size(), change.value.size());
}

// WHY by bytes: replay knows a frame's bytes before it counts its records, and refuses a frame whose sequences might not suffice.
Status CheckSequences(kv::Sequence first, const Change& change) {
  if (first <= kv::kSequenceMax - std::min<uint64_t>(kv::kSequenceMax, PayloadBytes(change))) [[likely]]
    return {};
  return Status::NotSupported("sequence numbers are used up");
}

// One frame, durable when it returns OK.
Status AppendDurably(wal::Wal& log, const Change& change) {
  if (change.batch.size() > log.direct_bytes_max()) return log.AppendLarge(change.batch, change.records);
  RETURN_IF_ERROR(log.Append({&change.batch, 1}, change.records));
  Status status = log.MakeDurable();
  return status.ok() ? Status() : status.WithOutcomeUnknown();
}

// WHY no fetch_add: only the holder of the turn counts.
void Count(std::atomic<uint64_t>* counter, uint64_t more) {
  counter->store(counter->load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

// A place in the queue, or aside: on the stack of the thread that waits.
class WriterQueue::Waiter {
 public:
  explicit Waiter(const Change* to_commit)
      : change(to_commit), owner(to_commit == nullptr ? nullptr : to_commit->owner) {}

  const Change* const change;  // null: takes the turn only
  const void* owner;
  bool wants_lock = false;    // and holds the writers' lock when it is in the queue
  std::thread::id thread;     // of one that wants the lock
  Waiter* group_last = this;  // of a leader: the last of its group

  // Guarded by the queue's mutex.
  Waiter* next = nullptr;
  bool waits_for_lock = false;    // not in the queue yet
  bool is_done = false;           // a leader committed this, or it was given up
  base::CondVar* wake = nullptr;  // while it waits, in the queue or aside

  // Set by the leader.
  kv::Sequence first_sequence = 0;
  Status status;
};

Status WriterQueue::Commit(const Change& change) noexcept {
  Waiter waiter(&change);
  if (TakeAlone()) [[likely]] {
    Lead(waiter);
    LeaveAlone(change.durability);
    return std::move(waiter.status);
  }
  Join(waiter);
  if (waiter.is_done) return std::move(waiter.status);
  Lead(waiter);
  Leave(*waiter.group_last);
  return std::move(waiter.status);
}

// WHY beside the queue: its mutex and its condition variable are most of what a lone writer's turn would cost.
bool WriterQueue::TakeAlone() {
  SCHEDULE_POINT("take the turn alone");
  uint32_t free = 0;
  return section_.compare_exchange_strong(free, kAlone, std::memory_order_acquire, std::memory_order_relaxed);
}

// After a sync the turn is handed on at once: those who queue waited longer than a switch takes, and share the next one.
void WriterQueue::LeaveAlone(Durability durability) {
  SCHEDULE_POINT("leave the turn alone");
  uint32_t alone = kAlone;
  if (durability != Durability::kSynced &&
      section_.compare_exchange_strong(alone, 0, std::memory_order_release, std::memory_order_relaxed)) [[likely]] {
    return;
  }
  base::Lock lock(mutex_);
  if (front_ != nullptr) {
    section_.fetch_or(kQueued, std::memory_order_relaxed);
    front_->wake->NotifyOne();
  }
  section_.fetch_and(~kAlone, std::memory_order_release);
  Settle();
}

WriterQueue::ExclusiveSection::ExclusiveSection(WriterQueue& queue) : queue_(queue) {
  Waiter* waiter = new Waiter(nullptr);
  queue_.Join(*waiter);
}

WriterQueue::ExclusiveSection::ExclusiveSection(WriterQueue& queue, std::try_to_lock_t) : queue_(queue) {
  base::Lock lock(queue.mutex_);
  is_taken_ = queue.front_ == nullptr && (queue.section_.fetch_or(kQueued, std::memory_order_acquire) & kAlone) == 0;
  if (is_taken_) queue.Enqueue(*new Waiter(nullptr));
  queue.Settle();
}

WriterQueue::ExclusiveSection::~ExclusiveSection() {
  if (!is_taken_) return;
  Waiter* waiter;
  {
    base::Lock lock(queue_.mutex_);
    waiter = queue_.front_;
  }
  queue_.Leave(*waiter);
  delete waiter;
}

// Wait until this waiter is at the front, with its group behind it, or done.
void WriterQueue::Join(Waiter& waiter) {
  base::Lock lock(mutex_);
  const bool is_locked_out = waiter.change != nullptr && lock_owner_ != nullptr && lock_owner_ != waiter.owner;
  base::CondVar wake;
  waiter.wake = &wake;
  if (is_locked_out) [[unlikely]] {
    WaitForWritersLock(waiter);
  } else if (IsPatient(waiter)) {
    Append(waiter);
    if (front_ == &waiter) {
      wake.WaitFor(lock, kPatienceNanos);
      section_.fetch_or(kQueued, std::memory_order_acquire);
    }
  } else {
    Enqueue(waiter);
  }
  while (!waiter.is_done && !HoldsSection(waiter)) wake.Wait(lock);
  if (waiter.change != nullptr && !waiter.is_done) FormGroup(waiter);
}

bool WriterQueue::HoldsSection(const Waiter& waiter) const {
  return front_ == &waiter && ((section_.load(std::memory_order_acquire) & kAlone) == 0 || ZOO(kLoneWriterIgnored));
}

// If nobody queues and no lock is held, the next writer may pass by the queue.
void WriterQueue::Settle() {
  if (front_ == nullptr && lock_owner_ == nullptr) section_.fetch_and(~kQueued, std::memory_order_release);
}

void WriterQueue::Append(Waiter& waiter) {
  waiter.waits_for_lock = false;
  waiter.next = nullptr;
  (front_ == nullptr ? front_ : back_->next) = &waiter;
  back_ = &waiter;
}

// Nobody passes by from here on. A front that was patient hears of it: from here, or from the lone writer when it is done.
void WriterQueue::Enqueue(Waiter& waiter) {
  const uint32_t before = section_.fetch_or(kQueued, std::memory_order_acquire);
  Append(waiter);
  if (before == 0 && front_ != &waiter) front_->wake->NotifyOne();
}

// Whether it lets others pass by: it meets a lone writer, or a front that does so too.
bool WriterQueue::IsPatient(const Waiter& waiter) const {
  if (waiter.change == nullptr || waiter.change->durability == Durability::kSynced) return false;
  const uint32_t turn = section_.load(std::memory_order_relaxed);
  return (turn & kQueued) == 0 && (front_ != nullptr || turn == kAlone);
}

// The front up to `last` is done: wake them, and the next leader.
void WriterQueue::Leave(Waiter& last) {
  base::Lock lock(mutex_);
  Waiter* follower = front_->next;
  front_ = last.next;
  if (front_ == nullptr) back_ = nullptr;
  // A follower may be gone as soon as it is marked done and the lock is let go.
  while (follower != front_) {
    Waiter* next = follower->next;
    follower->is_done = true;
    follower->wake->NotifyOne();
    follower = next;
  }
  if (front_ != nullptr) front_->wake->NotifyOne();
  Settle();
}

// ---- The writers' lock ---------------------------------------------------------------------------------------------------

void WriterQueue::WaitForWritersLock(Waiter& waiter) {
  if (is_stopped_ || lock_thread_ == std::this_thread::get_id()) {
    waiter.is_done = true;
    waiter.status = is_stopped_ ? Status::ShuttingDown("the database is closing")
                                : Status::Busy(
                                      "this thread began the transaction that holds the writers' lock: "
                                      "write through it, or end it first");
    return;
  }
  waiter.waits_for_lock = true;
  (lock_waiters_front_ == nullptr ? lock_waiters_front_ : lock_waiters_back_->next) = &waiter;
  lock_waiters_back_ = &waiter;
}

void WriterQueue::GiveUpWaiting(Waiter& waiter) {
  Waiter* before = nullptr;
  for (Waiter* each = lock_waiters_front_; each != &waiter; each = each->next) before = each;
  (before == nullptr ? lock_waiters_front_ : before->next) = waiter.next;
  if (lock_waiters_back_ == &waiter) lock_waiters_back_ = before;
  waiter.is_done = true;
  waiter.status = Status::Busy("another transaction holds the writers' lock");
}

Status WriterQueue::LockWriters(const void* owner, uint64_t wait_nanos) {
  Waiter waiter(nullptr);
  waiter.owner = owner;
  waiter.wants_lock = true;
  waiter.thread = std::this_thread::get_id();
  {
    base::Lock lock(mutex_);
    if (lock_owner_ == nullptr) {
      lock_owner_ = owner;
      lock_thread_ = waiter.thread;
      Enqueue(waiter);
    } else {
      WaitForWritersLock(waiter);
    }
    base::CondVar wake;
    waiter.wake = &wake;
    while (!waiter.is_done && !HoldsSection(waiter)) {
      // WHY not of one in the queue: it has the lock, and only those who are committing are before it.
      if (!waiter.waits_for_lock || wait_nanos == UINT64_MAX) {
        wake.Wait(lock);
      } else if ((wait_nanos == 0 || !wake.WaitFor(lock, wait_nanos)) && waiter.waits_for_lock) {
        GiveUpWaiting(waiter);
      }
    }
  }
  if (waiter.is_done) return std::move(waiter.status);
  Leave(waiter);
  return {};
}

void WriterQueue::UnlockWriters(const void* owner) {
  base::Lock lock(mutex_);
  ASSERT(lock_owner_ == owner, "who unlocks the writers' lock holds it");
  lock_owner_ = nullptr;
  lock_thread_ = {};
  while (lock_waiters_front_ != nullptr && lock_owner_ == nullptr) {
    Waiter& waiter = *lock_waiters_front_;
    lock_waiters_front_ = waiter.next;
    if (waiter.wants_lock) {
      lock_owner_ = waiter.owner;
      lock_thread_ = waiter.thread;
    }
    Enqueue(waiter);
    if (front_ == &waiter || waiter.wants_lock) waiter.wake->NotifyOne();
  }
  if (lock_waiters_front_ == nullptr) lock_waiters_back_ = nullptr;
  Settle();
}

void WriterQueue::Stop() {
  base::Lock lock(mutex_);
  is_stopped_ = true;
  while (lock_waiters_front_ != nullptr) {
    Waiter& waiter = *lock_waiters_front_;
    lock_waiters_front_ = waiter.next;
    waiter.waits_for_lock = false;
    waiter.is_done = true;
    waiter.status = Status::ShuttingDown("the database is closing");
    waiter.wake->NotifyOne();
  }
  lock_waiters_back_ = nullptr;
}

// ---- Groups --------------------------------------------------------------------------------------------------------------

// Extend the group over those behind the leader that ask for no more than it does: who does not ask for a sync must not
// wait for one that came later, and writes without a log take no part in groups with one.
void WriterQueue::FormGroup(Waiter& leader) {
  const Durability wanted = leader.change->durability;
  if (leader.next == nullptr) return;
  size_t bytes = PayloadBytes(*leader.change);
  if (bytes > kGroupBytesMax / 4) return;
  size_t writers = 1;
  for (Waiter* waiter = leader.next; waiter != nullptr; waiter = waiter->next) {
    if (waiter->change == nullptr) break;
    const Durability asked = waiter->change->durability;
    if ((asked == Durability::kNoLog) != (wanted == Durability::kNoLog)) break;
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
  if (end != nullptr && !host_.FitsOneMemtable(room)) {  // tiny memtables: one write at a time
    leader.group_last = &leader;
    return Lead(leader);
  }

  Status status = host_.BeforeGroup(room.bytes);
  if (status.ok()) for_each([&](Waiter& waiter) { waiter.status = host_.CheckConflicts(*waiter.change); });
  if (status.ok() && !host_.FitsOneMemtable(room) && leader.change->is_batch) return LeadLarge(leader);
  if (status.ok()) status = host_.MakeRoom(room);
  if (!status.ok()) return for_each([&](Waiter& waiter) { waiter.status = status; });

  Status failed;  // of a frame that may be in the log or not: nothing that does not know of it may follow it
  for_each([&](Waiter& waiter) {
    if (!waiter.status.ok()) return;  // a conflict
    if (failed.ok()) {
      Stage(waiter, leader);
    } else {
      waiter.status = failed;
    }
    if (waiter.status.ok()) return;
    host_.Withdraw(*waiter.change);
    if (!waiter.status.outcome_unknown()) return;
    host_.LogFailed(waiter.status);
    failed = Status::Make(waiter.status.code(), waiter.status.message());
  });
  if (leader.change->durability != Durability::kNoLog) {
    if (ZOO(kAcknowledgedBeforeSync)) is_synced = false;
    status = is_synced ? host_.log().MakeDurable() : host_.log().WriteThrough();
    if (is_synced) Count(&counters_.syncs, 1);
    if (!status.ok() && !ZOO(kFailedSyncAcknowledged)) {
      const Status unknown = status.WithOutcomeUnknown();
      host_.LogFailed(unknown);
      return for_each([&](Waiter& waiter) {
        if (waiter.status.ok()) waiter.status = unknown;
      });
    }
  }

  if (ZOO(kPublishedBeforeApply)) host_.Publish(host_.log().next_sequence() - 1);
  kv::Sequence last = 0;
  for_each([&](Waiter& waiter) {
    if (!waiter.status.ok()) return;
    waiter.status = Apply(waiter);
    last = waiter.first_sequence + waiter.change->records - 1;
  });
  if (last != 0) host_.Publish(last);
  Count(&counters_.groups, 1);
}

// Give the change its sequences and its frame in the log.
void WriterQueue::Stage(Waiter& waiter, const Waiter& leader) {
  const Change& change = *waiter.change;
  wal::Wal& log = host_.log();
  waiter.first_sequence = log.next_sequence();
  waiter.status = CheckSequences(waiter.first_sequence, change);
  if (!waiter.status.ok()) return;
  if (change.durability == Durability::kNoLog) return log.SkipTo(waiter.first_sequence + change.records);
  if (ZOO(kFollowerNotLogged) && &waiter != &leader) return log.SkipTo(waiter.first_sequence + change.records);

  const size_t bytes = PayloadBytes(change);
  if (bytes > log.direct_bytes_max()) {
    std::string payload;
    if (!change.is_batch) format::AppendRecord(&payload, change.kind, change.key, change.value);
    waiter.status = log.AppendLarge(change.is_batch ? change.batch : payload, change.records);
    return;
  }
  if (change.is_batch) {
    waiter.status = log.Append({&change.batch, 1}, change.records);
    return;
  }
  const format::RecordHeader header(change.kind, change.key.size(), change.value.size());
  const std::string_view record[] = {header.view(), change.key,
                                     change.kind == kv::Kind::kDelete ? std::string_view() : change.value};
  waiter.status = log.Append(record, change.records);
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

// One batch that no memtable holds. Durable in the log before any piece of it can reach a table: a table with half a batch
// and a log without the rest would break atomicity. For the same reason it is logged even if it asked for no log.
void WriterQueue::LeadLarge(Waiter& waiter) {
  if (!waiter.status.ok()) return;
  const Change& change = *waiter.change;
  wal::Wal& log = host_.log();
  const wal::Mark before = log.end();
  waiter.first_sequence = log.next_sequence();
  waiter.status = CheckSequences(waiter.first_sequence, change);
  if (waiter.status.ok()) waiter.status = AppendDurably(log, change);
  if (!waiter.status.ok()) {
    if (waiter.status.outcome_unknown()) host_.LogFailed(waiter.status);
    return;
  }
  if (!ZOO(kBatchReplayedInHalves)) host_.BeginPieces(before);
  kv::Sequence sequence = waiter.first_sequence;
  format::BatchReader reader(change.batch);
  while (reader.Next()) {
    SCHEDULE_POINT("add a piece to the memtable");
    const Room room{.records = 1, .bytes = reader.key().size() + reader.value().size()};
    // WHY anyway: the pieces that are in cannot be taken back, and the next commit would make them visible.
    if (!host_.MakeRoom(room).ok()) host_.MakeRoomAnyway(room);
    host_.active().Add(reader.key(), kv::MakeTag(sequence++, reader.kind()), reader.value());
  }
  host_.EndPieces();
  host_.Publish(sequence - 1);
  Count(&counters_.writes, 1);
  Count(&counters_.records, change.records);
}

}  // namespace mergedb::write
