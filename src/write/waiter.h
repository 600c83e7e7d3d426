// A thread that waits in the writer queue or for the writers' lock, and the list of such threads.
// THREADS: under the mutex of the writer queue. The leader of a group sets its members' results without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/sync.h"
#include "kv/key.h"
#include "mergedb/status.h"
#include "write/change.h"

namespace mergedb::write {

inline constexpr size_t kNoThread = SIZE_MAX;

// What a waiter comes for.
struct ForSection {};  // the exclusive section, without a change
struct ForLock {       // the writers' lock; it holds the lock once it is in the queue
  const void* owner = nullptr;
  size_t thread = kNoThread;  // base::ThreadNumber()
};
using Purpose = std::variant<ForSection, ForLock, const Change*>;

// OWNERSHIP: the waiting thread.
struct Waiter {
  enum class State : uint8_t {
    kQueued,   // in the queue, or not yet anywhere
    kForLock,  // among the waiters for the writers' lock
    kDone      // a leader committed its change, or the wait ended with an error
  };

  const Purpose purpose = ForSection();

  State state = State::kQueued;
  Waiter* next = nullptr;
  Waiter* group_last = this;        // of a leader: the last member of its group
  base::CondVar* wake = nullptr;    // while the thread waits
  kv::Sequence first_sequence = 0;  // of the committed records
  Status status = {};

  const Change* change() const {  // null: it comes for something else
    const auto* const change = std::get_if<const Change*>(&purpose);
    return change == nullptr ? nullptr : *change;
  }
  const ForLock* lock() const { return std::get_if<ForLock>(&purpose); }
  bool is_done() const { return state == State::kDone; }
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
