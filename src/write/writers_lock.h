// The lock that makes a transaction the only writer. Waiters for the lock are commits of other writers, and
// other transactions. They join the writer queue when the lock is released, in order of arrival.
//
//   queue   [w1][w2][L: gets the lock at the front]            lock waiters   [w3][w4][L2][w5]
//   on unlock: w3, w4 and then L2 join the queue; L2 holds the lock from then on; w5 keeps waiting
//
// INVARIANT: waiters exist only while the lock is held.
// THREADS: under the mutex of the writer queue. Admit and the entry to the queue are one step for other threads.
#pragma once

#include <utility>

#include "base/assert.h"
#include "base/current.h"
#include "write/waiter.h"

namespace mergedb::write {

class WritersLock {
 public:
  bool is_free() const { return owner_ == nullptr; }
  // True if a writer with this owner (null: none) must wait.
  bool Excludes(const void* owner) const { return !is_free() && owner_ != owner; }
  // REQUIRES: the lock is free.
  void Take(const ForLock& taker) {
    owner_ = taker.owner;
    thread_ = taker.thread;
  }
  void Unlock(const void* owner) {
    ASSERT(owner_ == owner, "the caller holds the writers' lock");
    owner_ = nullptr;
    thread_ = kNoThread;
  }
  // The owner is used by this thread from now on. REQUIRES: the owner holds the lock.
  void MoveTo(const void* owner, size_t thread) {
    ASSERT(owner_ == owner, "the caller holds the writers' lock");
    thread_ = thread;
  }

  // The waiter waits, or is done with an error: after Stop, or if this thread would wait for itself.
  void Wait(Waiter& waiter) {
    if (is_stopped_) return End(waiter, Status::ShuttingDown("the database is closing"));
    if (thread_ == base::ThreadNumber()) {
      return End(waiter, Status::Busy("this thread uses the transaction that holds the writers' lock: "
                                      "write through it, or end it first"));
    }
    waiter.state = Waiter::State::kForLock;
    waiters_.Append(waiter);
  }
  // Removes and returns the next waiter that joins the queue; null if there is none. A waiter that comes for the lock
  // holds it then.
  Waiter* Admit() {
    Waiter* const waiter = is_free() ? TakeFirst() : nullptr;
    if (waiter != nullptr && waiter->lock() != nullptr) Take(*waiter->lock());
    return waiter;
  }
  void GiveUp(Waiter& waiter) {
    waiters_.Remove(waiter);
    End(waiter, Status::Busy("another transaction holds the writers' lock"));
  }
  void Stop() {
    is_stopped_ = true;
    while (Waiter* const waiter = TakeFirst()) {
      End(*waiter, Status::ShuttingDown("the database is closing"));
      waiter->wake->NotifyOne();
    }
  }

 private:
  Waiter* TakeFirst() {
    Waiter* const first = waiters_.front();
    if (first == nullptr) return nullptr;
    waiters_.RemoveThrough(*first);
    first->state = Waiter::State::kQueued;
    return first;
  }
  static void End(Waiter& waiter, Status status) {
    waiter.state = Waiter::State::kDone;
    waiter.status = std::move(status);
  }

  const void* owner_ = nullptr;
  // The thread that took the lock or used the owner since; only this thread can end the wait, as far as that is known.
  // WHY the number: std::thread::id of a thread that has ended is given to a new one.
  size_t thread_ = kNoThread;
  WaiterList waiters_;
  bool is_stopped_ = false;
};

}  // namespace mergedb::write
