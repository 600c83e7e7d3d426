// A pool of memories for memtables. A memory returns when the last owner of its memtable releases it: after
// the flush, or later if an iterator pins the memtable. A pinned memtable never makes a writer wait: the pool
// then makes another memory.
#pragma once

#include <memory>
#include <vector>

#include "base/sync.h"
#include "memtable/memory.h"
#include "memtable/memtable.h"

namespace mergedb::write {

// THREADS: any. OWNERSHIP: shared, because iterators may keep memtables longer than the database lives.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  MemoryPool(size_t memory_bytes, size_t kept_max) : memory_bytes_(memory_bytes), kept_max_(kept_max) {
    free_.reserve(kept_max);  // WHY: a memory also returns when a reader ends, which must not run out of memory
  }

  size_t free_count() const {
    base::Lock lock(mutex_);
    return free_.size();
  }

  // A memtable that takes its memory from the pool and returns it. Ends a rest.
  std::shared_ptr<memtable::Memtable> NewMemtable(const kv::Order& order) {
    auto memory = Take();
    return {new memtable::Memtable(order, memory), [pool = weak_from_this(), memory](memtable::Memtable* table) {
              delete table;
              if (auto home = pool.lock()) home->GiveBack(memory);
            }};
  }
  // A memtable that may stay small: takes pages as it fills, and leaves the pool no memory.
  std::shared_ptr<memtable::Memtable> NewUntouchedMemtable(const kv::Order& order) const {
    return std::make_shared<memtable::Memtable>(order, memtable::NewUntouchedMemory(memory_bytes_));
  }
  // A memtable with a memory of its own, for a record that does not fit into a standard one.
  static std::shared_ptr<memtable::Memtable> NewLargeMemtable(const kv::Order& order, size_t bytes) {
    return std::make_shared<memtable::Memtable>(order, memtable::NewMemory(bytes));
  }
  // Gives all free memories back to the system. Until the pool gives out a memory again, those that return go there,
  // too.
  void Rest() {
    for (;;) {
      std::shared_ptr<memtable::Memory> dropped;  // unmapped without the mutex
      base::Lock lock(mutex_);
      rests_ = true;
      if (free_.empty()) return;
      dropped = std::move(free_.back());
      free_.pop_back();
    }
  }

 private:
  std::shared_ptr<memtable::Memory> Take() {
    {
      base::Lock lock(mutex_);
      rests_ = false;
      if (!free_.empty()) {
        auto memory = std::move(free_.back());
        free_.pop_back();
        return memory;
      }
    }
    return memtable::NewMemory(memory_bytes_);
  }
  void GiveBack(std::shared_ptr<memtable::Memory> memory) {
    if (memory->is_untouched()) return;  // it gave its pages back (Memtable::GiveBackUnused)
    base::Lock lock(mutex_);
    if (!rests_ && free_.size() < kept_max_) free_.push_back(std::move(memory));
  }

  const size_t memory_bytes_;
  const size_t kept_max_;
  mutable base::Mutex mutex_;
  bool rests_ GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<memtable::Memory>> free_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::write
