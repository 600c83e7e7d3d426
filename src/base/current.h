// A value that many threads read and that is seldom replaced: the SuperVersion of the database. A reader pins
// it without a lock and changes no counter that other threads change. Instead it writes the value's address
// (a note) into a slot.
//
//   now ──► value 18            slot 0   value 18      a reader's note: "this reader uses value 18"
//           value 17 (replaced) slot 1   -             free
//                               slot 2   value 17 *    noted, then replaced: the slot keeps value 17 alive
//
// Pin      Write the address of the current value into a free slot, then check that the value is still current.
//          If it is, any later Install finds the note. If not, the note came too late: take it back and try again.
// Install  Replace the value, then look through the slots. If a slot notes the old value, put a shared pointer to
//          it into the slot and mark the note (*). No thread waits.
// Unpin    Take the note back. If the note is marked, drop the slot's shared pointer; it may be the last one.
//
// So a value lives until its last reader unpins it, and not longer. If no slot near the thread's own one is
// free (nested pins, very many threads), Pin copies the shared pointer under the mutex instead.
//
// WHY not only a shared_ptr under a mutex: that costs four atomic changes of two cache lines that all cores
// share. libstdc++ 12's atomic<shared_ptr> takes a lock too. Tests: tests/unit/base/current_test.cc, also
// under the thread sanitizer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "base/schedule_point.h"
#include "base/sync.h"
#include "base/thread_waits.h"

namespace mergedb::base {

// The number of the calling thread. Threads get 0, 1, 2, ... in the order of their first calls.
inline size_t ThreadNumber() {
  static std::atomic<size_t> threads{0};
  MERGEDB_FAST_THREAD_LOCAL constinit thread_local size_t number_plus_one = 0;
  if (number_plus_one == 0) [[unlikely]]
    number_plus_one = threads.fetch_add(1, std::memory_order_relaxed) + 1;  // WHY relaxed: only a number
  return number_plus_one - 1;
}

// THREADS: all methods, any thread. Pins must not outlive the Current.
template <class T>
class Current {
  struct Slot;

 public:
  using Pointer = std::shared_ptr<const T>;

  // Keeps the pinned value alive. THREADS: one thread at a time, not always the same one.
  class Pin {
   public:
    Pin(Pin&& other) noexcept
        : value_(other.value_), slot_(std::exchange(other.slot_, nullptr)), share_(std::move(other.share_)) {}
    Pin& operator=(Pin&&) = delete;
    ~Pin() {
      if (slot_ != nullptr) [[likely]]
        slot_->TakeBack(value_);
    }
    const T& operator*() const { return *value_; }
    const T* operator->() const { return value_; }

   private:
    friend class Current;
    Pin(const T* value, Slot* slot) : value_(value), slot_(slot) {}
    explicit Pin(Pointer share) : value_(share.get()), share_(std::move(share)) {}

    const T* value_;
    Slot* slot_ = nullptr;  // set if a slot holds the note
    Pointer share_;         // set otherwise
  };

  Current() = default;
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

  // Pins the current value for the length of one call. REQUIRES: Install was called.
  Pin Pinned() const {
    const size_t home = ThreadNumber();
    SCHEDULE_POINT("pin");
    for (size_t i = 0; i < kTries; ++i) {
      Slot& slot = slots_[(home + i) % kSlots];
      const T* const seen = now_.load();
      DCHECK(seen != nullptr, "pinned before anything was installed");
      if (PinIn(slot, seen)) [[likely]]
        return Pin(seen, &slot);
    }
    return Pin(Share());
  }

  // A shared pointer for longer use, or for another thread. Null before the first Install.
  Pointer Share() const {
    Lock lock(mutex_);
    return value_;
  }

  // Can a reader that saw `seen` as the current value some time ago pin it? REQUIRES: this thread has no pin.
  bool TEST_CanPin(const T* seen) const {
    Slot& slot = slots_[ThreadNumber() % kSlots];
    if (!PinIn(slot, seen)) return false;
    slot.TakeBack(seen);
    return true;
  }

  // Returns the replaced value. The caller drops it outside of its locks.
  Pointer Install(Pointer value) {
    Lock lock(mutex_);
    // WHY seq_cst here, in Pinned and in the slots: all these operations have one order. Either a reader's
    // note comes before this store, and the loop below finds the note; or the reader's second load comes
    // after this store and sees that the value is not the current one.
    now_.store(value.get());
    value_.swap(value);
    SCHEDULE_POINT("hand over what was pinned");
    for (Slot& slot : slots_) slot.HandOver(value);
    return value;
  }

 private:
  static constexpr size_t kSlots = 64;
  static constexpr size_t kTries = 4;

  // Each slot has a cache line of its own. Only the threads that share the slot, and Install, use it.
  struct alignas(64) Slot {
    // False if the slot is taken.
    bool Note(const T* seen) {
      uintptr_t expected = 0;
      // WHY relaxed: this load is only a hint. It spares a taken slot the move of its cache line to this core.
      return note_.load(std::memory_order_relaxed) == 0 && note_.compare_exchange_strong(expected, BitsOf(seen));
    }
    void TakeBack(const T* seen) {
      uintptr_t expected = BitsOf(seen);
      if (note_.compare_exchange_strong(expected, 0)) [[likely]]
        return;
      DCHECK(expected == (BitsOf(seen) | kMark), "a note is changed by its reader, or marked");
      const Pointer share = std::move(share_);  // destroyed after the slot is free: that may take long
      note_.store(0);
    }
    // REQUIRES: the Current's mutex is held.
    void HandOver(const Pointer& before) {
      uintptr_t expected = BitsOf(before.get());
      if (expected == 0 || note_.load() != expected) [[likely]]
        return;
      // WHY no other thread uses share_: a reader looks at it only if the note is marked, and only this
      // function marks notes.
      share_ = before;
      if (!note_.compare_exchange_strong(expected, expected | kMark)) share_ = nullptr;
    }

   private:
    static constexpr uintptr_t kMark = 1;
    static uintptr_t BitsOf(const T* value) {
      static_assert(alignof(T) > kMark);
      return reinterpret_cast<uintptr_t>(value);
    }

    std::atomic<uintptr_t> note_{0};  // 0: free; else an address, maybe with the mark
    Pointer share_;
  };

  // False if the slot is taken, or if `seen` was replaced meanwhile and may be destroyed.
  bool PinIn(Slot& slot, const T* seen) const {
    SCHEDULE_POINT("note what is pinned");
    if (!slot.Note(seen)) return false;
    SCHEDULE_POINT("look again at what is pinned");
    if (now_.load() == seen) [[likely]]
      return true;
    slot.TakeBack(seen);
    return false;
  }

  mutable std::array<Slot, kSlots> slots_;
  std::atomic<const T*> now_{nullptr};
  mutable Mutex mutex_;
  Pointer value_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::base
