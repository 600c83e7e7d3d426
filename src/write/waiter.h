// A thread that waits in the writer queue or for the writers' lock, and the list of such threads.
// THREADS: under the mutex of the writer queue. The leader of a group sets its members' results without it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/sync.h"
#include "kv/key.h"
#include "mergedb/status.h"
#include "write/change.h"

namespace mergedb::write {

inline constexpr size_t kNoThread = SIZE_MAX;

// OWNERSHIP: the waiting thread.
struct Waiter {
  const Change* const change = nullptr;  // null: takes the section without writing
  const void* const owner = nullptr;     // of the writers' lock
  const bool wants_lock = false;         // asks for the writers' lock; holds it once it is in the queue
  const size_t thread = kNoThread;       // base::ThreadNumber(), of a waiter that asks for the lock

  Waiter* next = nullptr;
  Waiter* group_last = this;        // of a leader: the last member of its group
  bool waits_for_lock = false;      // among the waiters of the writers' lock, not in the queue
  bool is_done = false;             // a leader committed it, or the wait ended with an error
  base::CondVar* wake = nullptr;    // while the thread waits
  kv::Sequence first_sequence = 0;  // of the committed records
  Status status = {};
};

// In order of arrival.
class WaiterList {
 public:
  Waiter* front() const { return front_; }
  void Append(Waiter& waiter) {
    waiter.next = nullptr;
    (front_ == nullptr ? front_ : back_->next) = &waiter;
    back_ = &waiter;
  }
  // Removes the waiters from the front to `last`.
  void RemoveThrough(const Waiter& last) {
    front_ = last.next;
    if (front_ == nullptr) back_ = nullptr;
  }
  void Remove(const Waiter& waiter) {
    Waiter* before = nullptr;
    for (Waiter* each = front_; each != &waiter; each = each->next) before = each;
    (before == nullptr ? front_ : before->next) = waiter.next;
    if (back_ == &waiter) back_ = before;
  }

 private:
  Waiter* front_ = nullptr;
  Waiter* back_ = nullptr;
};

}  // namespace mergedb::write
