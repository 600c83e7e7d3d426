// Group commit. Writers queue; the writer at the front becomes the leader and commits for a group: itself and
// the writers behind it. The group shares one exclusive section and at most one device sync.
//
//   Join (wait) -> FormGroup -> CommitGroup::Commit (write/commit_group.h) -> Leave (wake the followers)
//
// The exclusive section: only its holder uses the WAL and adds to the memtable (WriteTarget). The leader holds it.
// Other code takes it without writing (ExclusiveSection): to make the active memtable immutable, to sync, to close.
//
// A writer that meets no other writer does not queue: it enters the section by one atomic instruction and
// leaves it by another. A writer that arrives meanwhile sets kQueued in the same word, and queues. From then
// on the queue decides, until it is empty.
//
//   section_   0 ──Commit──> kAlone ──done──> 0
//                            │ a writer queues
//                            └──> kAlone | kQueued ──done, wake the front──> kQueued ──the queue is empty──> 0
//
// Handing the section to another thread costs two context switches, about 100 puts. So a writer that meets a lone
// writer and asks for no sync does not set kQueued until kYieldNanos have passed. Until then the lone writer,
// or any writer that finds the section free, goes on, and the queued writers form one group. The first writer
// that cannot wait (a synced write, an ExclusiveSection) sets kQueued for all (docs/decisions/0031-bounded-wait.md).
//
// The writers' lock makes a transaction the only writer for its life (LockWriters). Other commits wait for it
// beside the queue (write/writers_lock.h). An ExclusiveSection ignores the lock.
//
// THREADS: any thread calls Commit and ExclusiveSection. Lock order: the queue's mutex comes first; it is
// held only to queue and to wake.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/sync.h"
#include "mergedb/status.h"
#include "write/change.h"
#include "write/commit_group.h"
#include "write/host.h"
#include "write/waiter.h"
#include "write/writers_lock.h"

namespace mergedb::write {

class WriterQueue {
 public:
  // `target`: the WAL and the sizes; the active memtable is set later, by target().
  WriterQueue(Host& host, WriteTarget target) : host_(host), target_(std::move(target)) {}
  WriterQueue(const WriterQueue&) = delete;
  WriterQueue& operator=(const WriterQueue&) = delete;

  // WHY noexcept: if a leader runs out of memory between its frame in the WAL and its records in the
  // memtable, the write cannot be undone and the queue cannot wait for it. The process terminates instead
  // (docs/decisions/0017-out-of-memory.md).
  Status Commit(const Change& change) noexcept;

  // Takes the writers' lock. When it returns OK, all earlier commits are published; until UnlockWriters only
  // changes of this owner commit. Busy if the lock is not free within `wait_nanos` (UINT64_MAX: no limit), or
  // if this thread uses the owner and would wait for itself; a Commit by this thread without the owner is Busy,
  // too. ShuttingDown if it would wait after Stop: a free lock can still be taken. THREADS: any thread may unlock.
  Status LockWriters(const void* owner, uint64_t wait_nanos);
  void UnlockWriters(const void* owner);
  // This thread uses the owner from now on: it is the one that would wait for itself. REQUIRES: the owner holds the
  // lock.
  void MoveWriters(const void* owner);
  // The database closes: transactions and commits that wait for the lock, now or later, get ShuttingDown.
  void Stop();

  // Exclusive use of the WAL and of the memtable's writing side, for the life of the object.
  class [[nodiscard]] ExclusiveSection {
   public:
    explicit ExclusiveSection(WriterQueue& queue);
    // Takes the section only if the queue is empty and no lone writer holds it; does not wait for either.
    ExclusiveSection(WriterQueue& queue, std::try_to_lock_t);
    ~ExclusiveSection();
    ExclusiveSection(const ExclusiveSection&) = delete;
    ExclusiveSection& operator=(const ExclusiveSection&) = delete;
    bool is_taken() const { return is_taken_; }

   private:
    WriterQueue& queue_;
    Waiter waiter_;
    bool is_taken_ = true;
  };

  // REQUIRES: the exclusive section.
  WriteTarget& target() { return target_; }
  const WriteCounters& counters() const { return counters_; }

 private:
  // Bits of section_.
  static constexpr uint32_t kAlone = 1;   // a writer that is not in the queue holds the section
  static constexpr uint32_t kQueued = 2;  // the queue or the writers' lock is in use: no writer bypasses the queue

  bool TryEnterAlone();
  void ExitAlone(Durability durability);
  void Join(Waiter& waiter);
  void Leave(Waiter& last);
  bool HoldsSection(const Waiter& waiter) const REQUIRES_LOCK(mutex_);
  void ClearQueuedIfIdle() REQUIRES_LOCK(mutex_);
  void Enqueue(Waiter& waiter) REQUIRES_LOCK(mutex_);
  bool YieldsToLoneWriter(const Waiter& waiter) const REQUIRES_LOCK(mutex_);
  void FormGroup(Waiter& leader) REQUIRES_LOCK(mutex_);

  Host& host_;
  WriteTarget target_;  // (exclusive section)
  WriteCounters counters_;

  std::atomic<uint32_t> section_{0};  // kQueued changes only under the mutex
  base::Mutex mutex_;
  // Its front holds the section, unless a lone writer holds it or the front still waits for kYieldNanos.
  WaiterList waiters_ GUARDED_BY(mutex_);
  WritersLock writers_lock_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::write
