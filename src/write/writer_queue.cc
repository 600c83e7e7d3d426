#include "write/writer_queue.h"

#include <cstdint>

#include "base/assert.h"
#include "base/current.h"
#include "base/out_of_memory.h"
#include "base/perf.h"
#include "base/schedule_point.h"

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

}  // namespace

Status WriterQueue::Commit(const Change& change) noexcept {
  Waiter waiter{.purpose = &change};
  if (TryEnterAlone()) [[likely]] {
    base::OrStop([&] { CommitGroup(host_, target_, counters_, waiter).Commit(); });
    ExitAlone(change.durability);
    return std::move(waiter.status);
  }
  const uint64_t start = target_.NowNanos();
  Join(waiter);
  const uint64_t waited = target_.NowNanos() - start;
  counters_.queue_waits.Add(waited);
  if (PerfContext* const perf = base::thread_perf) [[unlikely]]
    perf->queue_wait_nanos += waited;
  if (waiter.is_done()) return std::move(waiter.status);
  base::OrStop([&] { CommitGroup(host_, target_, counters_, waiter).Commit(); });
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
  const Change* const change = waiter.change();
  if (change != nullptr && writers_lock_.Excludes(change->owner)) [[unlikely]] {
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
  while (!waiter.is_done() && !HoldsSection(waiter)) wake.Wait(lock);
  if (change != nullptr && !waiter.is_done()) FormGroup(waiter);
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
  if (waiter.change() == nullptr || waiter.change()->durability == Durability::kSynced) return false;
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
    follower->state = Waiter::State::kDone;
    follower->wake->NotifyOne();
    follower = next;
  }
  if (follower != nullptr) follower->wake->NotifyOne();
  ClearQueuedIfIdle();
}

// ---- The writers' lock -----------------------------------------------------------------------------------

Status WriterQueue::LockWriters(const void* owner, uint64_t wait_nanos) {
  const ForLock wanted{.owner = owner, .thread = base::ThreadNumber()};
  Waiter waiter{.purpose = wanted};
  {
    base::Lock lock(mutex_);
    if (writers_lock_.is_free()) {
      writers_lock_.Take(wanted);
      Enqueue(waiter);
    } else {
      writers_lock_.Wait(waiter);
    }
    base::CondVar wake;
    waiter.wake = &wake;
    const auto waits_for_lock = [&] { return waiter.state == Waiter::State::kForLock; };
    while (!waiter.is_done() && !HoldsSection(waiter)) {
      // WHY no time limit for a waiter in the queue: it has the lock, and only commits in progress are before it.
      if (!waits_for_lock() || wait_nanos == UINT64_MAX) {
        wake.Wait(lock);
      } else if ((wait_nanos == 0 || !wake.WaitFor(lock, wait_nanos)) && waits_for_lock()) {
        writers_lock_.GiveUp(waiter);
      }
    }
  }
  if (waiter.is_done()) return std::move(waiter.status);
  Leave(waiter);
  return {};
}

void WriterQueue::MoveWriters(const void* owner) {
  base::Lock lock(mutex_);
  writers_lock_.MoveTo(owner, base::ThreadNumber());
}

void WriterQueue::UnlockWriters(const void* owner) {
  base::Lock lock(mutex_);
  writers_lock_.Unlock(owner);
  while (Waiter* const waiter = writers_lock_.Admit()) {
    Enqueue(*waiter);
    if (waiters_.front() == waiter || waiter->lock() != nullptr) waiter->wake->NotifyOne();
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
  const Durability wanted = leader.change()->durability;
  if (leader.next == nullptr) return;
  size_t bytes = leader.change()->payload_bytes();
  if (bytes > kGroupBytesMax / 4) return;
  size_t writers = 1;
  for (Waiter* waiter = leader.next; waiter != nullptr; waiter = waiter->next) {
    const Change* const change = waiter->change();
    if (change == nullptr) break;
    const Durability asked = change->durability;
    if ((asked == Durability::kNoWal) != (wanted == Durability::kNoWal)) break;
    if (asked == Durability::kSynced && wanted != Durability::kSynced) break;
    bytes += change->payload_bytes();
    if (bytes > kGroupBytesMax || ++writers > kGroupWritersMax) break;
    leader.group_last = waiter;
  }
}

}  // namespace mergedb::write
