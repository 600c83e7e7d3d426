// A value that everybody reads and hardly anybody replaces: the SuperVersion of the database. To pin it takes no lock and counts nothing
// that other threads count, too; whoever reads holds it by a note in a slot of its own.
//
//   now ──► value 18            slot 0   value 18      a reader's note: "I read this"
//           value 17 (before)   slot 1   -             free
//                               slot 2   value 17 *    noted, and then replaced: the slot itself holds value 17 now
//
// Pin      note in a free slot what is now, then look again whether it still is. If it is, whoever replaces it from here on
//          finds the note; if not, the note came too late: give it up, and once more.
// Install  replace it, then look through the slots; where the one before is noted, leave the reader a share of it and mark
//          the note (*). Nobody waits.
// Unpin    take the note back. If it has the mark, the share is the reader's to drop, the last one maybe.
//
// So a value lives until the last of its readers lets go, and not longer. Where no slot is free near a thread's own (nested pins,
// very many threads) a share under the mutex does the same.
//
// WHY not a shared_ptr under a mutex alone: four atomic changes of two lines that all cores share. libstdc++ 12's atomic<shared_ptr>
// is a lock as well. Tests: tests/unit/base/current_test.cc, under the thread sanitizer, too.
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

namespace mergedb::base {

// A small number for each thread, from 0.
inline size_t ThreadNumber() {
  static std::atomic<size_t> threads{0};
  constinit thread_local size_t number_plus_one = 0;
  if (number_plus_one == 0) [[unlikely]]
    number_plus_one = threads.fetch_add(1, std::memory_order_relaxed) + 1;  // WHY relaxed: a number
  return number_plus_one - 1;
}

// THREADS: all methods, any thread. Pins must not outlive it.
template <class T>
class Current {
  struct Slot;

 public:
  using Pointer = std::shared_ptr<const T>;

  // Keeps what was current alive. THREADS: one at a time, not always the same.
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
    Slot* slot_ = nullptr;  // either this
    Pointer share_;         // or that
  };

  Current() = default;
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

  // For as long as one call takes. REQUIRES: something was installed.
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

  // For longer, or for somebody else. Null before anything was installed.
  Pointer Share() const {
    Lock lock(mutex_);
    return value_;
  }

  // May a reader that saw `seen` current some time ago pin it? REQUIRES: this thread has no pin.
  bool TEST_CanPin(const T* seen) const {
    Slot& slot = slots_[ThreadNumber() % kSlots];
    if (!PinIn(slot, seen)) return false;
    slot.TakeBack(seen);
    return true;
  }

  // The one before comes back, to be let go of outside of the caller's locks.
  Pointer Install(Pointer value) {
    Lock lock(mutex_);
    // WHY seq_cst, here, in Pinned and in the slots: in the one order of all of these, either a reader's note comes before this store,
    // and the walk below meets it, or the reader's second look comes after it, and sees that the value is not the current one.
    now_.store(value.get());
    value_.swap(value);
    SCHEDULE_POINT("hand over what was pinned");
    for (Slot& slot : slots_) slot.HandOver(value);
    return value;
  }

 private:
  static constexpr size_t kSlots = 64;
  static constexpr size_t kTries = 4;

  // On a line of its own, which the threads that share the slot write and nobody else reads but Install.
  struct alignas(64) Slot {
    // False: it is taken.
    bool Note(const T* seen) {
      uintptr_t expected = 0;
      // WHY relaxed: a mere guess, which spares a taken slot the change of owner of its line.
      return note_.load(std::memory_order_relaxed) == 0 && note_.compare_exchange_strong(expected, BitsOf(seen));
    }
    void TakeBack(const T* seen) {
      uintptr_t expected = BitsOf(seen);
      if (note_.compare_exchange_strong(expected, 0)) [[likely]]
        return;
      DCHECK(expected == (BitsOf(seen) | kMark), "a note is changed by its reader, or marked");
      const Pointer share = std::move(share_);  // dies when the slot is free again: what it frees may take its time
      note_.store(0);
    }
    // (mutex of the Current)
    void HandOver(const Pointer& before) {
      uintptr_t expected = BitsOf(before.get());
      if (expected == 0 || note_.load() != expected) [[likely]]
        return;
      // WHY nobody else has share_: its reader looks at it only behind a mark, and marks are made here.
      share_ = before;
      if (!note_.compare_exchange_strong(expected, expected | kMark)) share_ = nullptr;
    }

   private:
    static constexpr uintptr_t kMark = 1;
    static uintptr_t BitsOf(const T* value) {
      static_assert(alignof(T) > kMark);
      return reinterpret_cast<uintptr_t>(value);
    }

    std::atomic<uintptr_t> note_{0};  // 0: free; an address, maybe with the mark
    Pointer share_;
  };

  // False: the slot is taken, or what was seen has been replaced meanwhile, and may be gone.
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
