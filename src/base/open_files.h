// A cache of open files by number, bounded by their count. The table cache and the blob file cache each have one. A
// file in use stays open until its last user releases it.
//
//     Finder                  pins a generation ──► slots ──► Entry ──► Reader    no lock, no store that cores share
//     insert, evict, close    under the mutex: unlink the entry, give it to the current generation, install the next
//
// So a removed entry is destroyed when the last Finder is gone that can have seen it: generation n keeps what was
// removed while it was the current one, and keeps generation n + 1.
//
// A full cache closes a file that was not used for a while: a hand goes round the slots, takes the marks of used files
// away and stops at a file without one (CLOCK; F. J. Corbato, A Paging Experiment with the Multics System, 1968).
// No lock is held while a file is opened or closed. THREADS: all methods, any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/current.h"
#include "base/sync.h"
#include "mergedb/result.h"

namespace mergedb::base {

// The result of opening a file that the MANIFEST names. `what` is "table" or "blob file".
// WHY: NotFound of a file must never look like NotFound of a key.
template <class ReaderPtr>
Result<ReaderPtr> NeverNotFound(const char* what, Result<ReaderPtr> opened) {
  if (opened || !opened.error().IsNotFound()) return opened;
  return Status::IOError(std::string(opened.error().message()) + ": the MANIFEST names this " + what +
                         ", and it does not exist");
}

template <class Reader>
class OpenFiles {
  struct Entry;
  class Slots;
  struct Generation;

 public:
  using ReaderPtr = std::shared_ptr<Reader>;

  explicit OpenFiles(size_t files_max) : files_max_(std::max<size_t>(files_max, 1)) {
    generations_.Install(last_);
    slots_.store(new Slots(kSlotsMin));
  }
  ~OpenFiles() {
    const std::unique_ptr<const Slots> slots(slots_.load());
    slots->ForEach([](const Entry* entry) { delete entry; });
  }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  // Finds open files. What it found stays as long as the Finder. Let none live while a file of the cache is opened:
  // if descriptors are short, CloseIdle frees none of the files that a Finder may have seen. THREADS: one.
  class Finder {
   public:
    explicit Finder(const OpenFiles& files) : pin_(files.generations_.Pinned()), slots_(*files.slots_.load()) {}

    // Null: it is not open, or another thread changes the cache just now. FindOrOpen knows.
    const ReaderPtr* Find(uint64_t number) const {
      const Entry* const entry = slots_.Find(number);
      if (entry == nullptr) [[unlikely]]
        return nullptr;
      // WHY a load first: most uses find the mark set, and need not write the cache line.
      if (!entry->was_used.load(std::memory_order_relaxed)) entry->was_used.store(true, std::memory_order_relaxed);
      return &entry->reader;
    }

   private:
    const typename Current<Generation>::Pin pin_;  // before slots_, which it keeps
    const Slots& slots_;
  };

  // The open file, or the one that `open` opens. If two threads open the file at the same time, one reader is dropped.
  template <typename Open>
  Result<ReaderPtr> FindOrOpen(uint64_t number, Open open) {
    if (ReaderPtr found = Share(number)) [[likely]]
      return found;
    ASSIGN_OR_RETURN(ReaderPtr fresh, open());
    return Insert(number, std::move(fresh));
  }

  void Evict(uint64_t number) {
    Removal removal;
    Lock lock(mutex_);
    if (const Entry* const entry = slots().Find(number)) Remove({entry}, &removal);
    WaitForFinders(removal, lock);
  }

  // Closes the files that have no user.
  void CloseIdle() {
    Removal removal;
    Lock lock(mutex_);
    std::vector<const Entry*> idle;
    slots().ForEach([&](const Entry* entry) {
      if (entry->reader.use_count() == 1) idle.push_back(entry);
    });
    if (!idle.empty()) Remove(idle, &removal);
    WaitForFinders(removal, lock);
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    Lock lock(mutex_);
    slots().ForEach([&](const Entry* entry) { visit(*entry->reader); });
  }
  size_t count() const {
    Lock lock(mutex_);
    return files_;
  }

 private:
  static constexpr size_t kSlotsMin = 16;

  struct Entry {
    Entry(uint64_t of, ReaderPtr opened) : number(of), reader(std::move(opened)) {}

    const uint64_t number;
    const ReaderPtr reader;
    mutable std::atomic<bool> was_used{false};  // since the hand of the clock passed; an open is no use
  };

  // A hash table with linear probing: a file is in the slot that its number gives, or in the full slots that follow.
  // At least half of the slots are empty. One thread at a time changes it; others find entries meanwhile.
  class Slots {
   public:
    explicit Slots(size_t count) : entries_(count) {}  // a power of two

    size_t size() const { return entries_.size(); }
    const Entry* At(size_t at) const { return entries_[at & mask()].load(std::memory_order_acquire); }
    // Null also if a Remove moves the entry meanwhile.
    const Entry* Find(uint64_t number) const {
      const size_t home = HomeOf(number);
      // WHY a bound: entries move meanwhile, so the search may meet no empty slot.
      for (size_t at = home; at < home + size(); ++at) {
        const Entry* const entry = At(at);
        if (entry == nullptr || entry->number == number) return entry;
      }
      return nullptr;
    }
    template <typename Visit>
    void ForEach(Visit visit) const {
      for (size_t at = 0; at < size(); ++at) {
        if (const Entry* const entry = At(at)) visit(entry);
      }
    }

    void Insert(const Entry* entry) {
      size_t at = HomeOf(entry->number);
      while (At(at) != nullptr) ++at;
      Set(at, entry);
    }
    // Fills the gap that a removal leaves, since a search ends at an empty slot: an entry that follows moves into it,
    // unless its search begins after the gap (Knuth, The Art of Computer Programming, 6.4, Algorithm R).
    void Remove(const Entry* entry) {
      size_t gap = HomeOf(entry->number);
      while (At(gap) != entry) ++gap;
      for (size_t at = gap + 1; At(at) != nullptr; ++at) {
        if (((at - HomeOf(At(at)->number)) & mask()) < at - gap) continue;
        Set(gap, At(at));
        gap = at;
      }
      Set(gap, nullptr);
    }

   private:
    size_t mask() const { return entries_.size() - 1; }
    // WHY a product: numbers are consecutive, and files that live long can have equal low bits. The constant is 2^64
    // divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4).
    size_t HomeOf(uint64_t number) const { return static_cast<size_t>(number * 0x9E3779B97F4A7C15 >> 32) & mask(); }
    void Set(size_t at, const Entry* entry) { entries_[at & mask()].store(entry, std::memory_order_release); }

    std::vector<std::atomic<const Entry*>> entries_;
  };

  struct Generation {
    Generation() = default;
    // WHY a loop: a long pin can leave very many generations, and each would destroy the next one from within.
    ~Generation() {
      constinit thread_local std::shared_ptr<Generation>* rest = nullptr;  // of the loop that destroys this one
      if (rest != nullptr) {
        *rest = std::move(next);
        return;
      }
      rest = &next;
      while (next != nullptr) std::exchange(next, nullptr).reset();
      rest = nullptr;
    }
    Generation(const Generation&) = delete;
    Generation& operator=(const Generation&) = delete;

    std::vector<std::unique_ptr<const Entry>> removed;
    std::unique_ptr<const Slots> replaced;
    std::shared_ptr<Generation> next;
  };
  // The generation that a change replaced. Its owner drops it without the lock, and so closes files.
  using Removal = typename Current<Generation>::Pointer;

  // Until no Finder has seen what was removed, but not for long: a Finder lives for microseconds, unless its thread
  // reads from a device. WHY: the last owner closes the files. A get should not do that, since to unmap a large file
  // takes long, and CloseIdle should leave descriptors behind.
  void WaitForFinders(const Removal& removal, Lock& lock) REQUIRES_LOCK(mutex_) {
    constexpr int kLooksMax = 20;
    constexpr uint64_t kLookNanos = 20'000;
    for (int i = 0; i < kLooksMax && removal != nullptr && removal.use_count() > 1; ++i)
      pause_.WaitFor(lock, kLookNanos);
  }

  const Slots& slots() const REQUIRES_LOCK(mutex_) { return *slots_.load(std::memory_order_relaxed); }
  Slots& slots() REQUIRES_LOCK(mutex_) { return *slots_.load(std::memory_order_relaxed); }

  // Null if the file is not open.
  ReaderPtr Share(uint64_t number) const {
    if (const Finder finder(*this); const ReaderPtr* const found = finder.Find(number)) return *found;
    Lock lock(mutex_);
    const Entry* const entry = slots().Find(number);
    return entry == nullptr ? nullptr : entry->reader;
  }

  // The reader that the cache keeps: `fresh`, or the one that another thread inserted first.
  ReaderPtr Insert(uint64_t number, ReaderPtr fresh) {
    auto entry = std::make_unique<const Entry>(number, std::move(fresh));
    Removal removal;
    Lock lock(mutex_);
    if (const Entry* const found = slots().Find(number)) return found->reader;
    if (files_ >= files_max_) {
      Remove({NextUnused()}, &removal);
    } else if (2 * (files_ + 1) > slots().size()) {
      Grow(&removal);
    }
    slots().Insert(entry.get());
    ++files_;
    return entry.release()->reader;
  }

  // REQUIRES: a file is open.
  const Entry* NextUnused() REQUIRES_LOCK(mutex_) {
    for (size_t steps = 0;; ++steps) {
      const Entry* const entry = slots().At(hand_++);
      // WHY after two rounds any: other threads set the marks again.
      if (entry != nullptr &&
          (!entry->was_used.exchange(false, std::memory_order_relaxed) || steps > 2 * slots().size()))
        return entry;
    }
  }

  void Remove(const std::vector<const Entry*>& entries, Removal* removal) REQUIRES_LOCK(mutex_) {
    auto next = std::make_shared<Generation>();
    last_->removed.reserve(entries.size());  // WHY first: if memory runs out, nothing has changed
    for (const Entry* const entry : entries) {
      slots().Remove(entry);
      last_->removed.emplace_back(entry);
    }
    files_ -= entries.size();
    *removal = Install(std::move(next));
  }

  void Grow(Removal* removal) REQUIRES_LOCK(mutex_) {
    auto grown = std::make_unique<Slots>(2 * slots().size());
    auto next = std::make_shared<Generation>();
    slots().ForEach([&](const Entry* entry) { grown->Insert(entry); });
    last_->replaced.reset(slots_.exchange(grown.release()));
    *removal = Install(std::move(next));
  }

  Removal Install(std::shared_ptr<Generation> next) REQUIRES_LOCK(mutex_) {
    last_->next = next;
    last_ = std::move(next);
    return generations_.Install(last_);
  }

  const size_t files_max_;
  mutable Mutex mutex_;
  CondVar pause_;  // never notified
  Current<Generation> generations_;
  std::atomic<Slots*> slots_{nullptr};                                                    // owned
  std::shared_ptr<Generation> last_ GUARDED_BY(mutex_) = std::make_shared<Generation>();  // the current one
  size_t files_ GUARDED_BY(mutex_) = 0;
  size_t hand_ GUARDED_BY(mutex_) = 0;
};

}  // namespace mergedb::base
