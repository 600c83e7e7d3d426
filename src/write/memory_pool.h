// A pool of memories for memtables. A memory returns when the last owner of its memtable releases it: after
// the flush, or later if an iterator pins the memtable. A pinned memtable never makes a writer wait: the pool
// then makes another memory.
#pragma once

#include <memory>
#include <vector>

#include "base/sync.h"
#include "memtable/memtable.h"

namespace mergedb::write {

// THREADS: any. OWNERSHIP: shared, because iterators may keep memtables longer than the database lives.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  MemoryPool(size_t memory_bytes, size_t kept_max) : memory_bytes_(memory_bytes), kept_max_(kept_max) {
    free_.reserve(kept_max);  // WHY: a memory also returns when a reader ends, which must not run out of memory
  }

  size_t memory_bytes() const { return memory_bytes_; }

  // A memtable that takes its memory from the pool and returns it.
  std::shared_ptr<memtable::Memtable> NewMemtable(const kv::Order& order) {
    auto memory = Take();
    return {new memtable::Memtable(order, memory), [pool = weak_from_this(), memory](memtable::Memtable* table) {
              delete table;
              if (auto home = pool.lock()) home->GiveBack(memory);
            }};
  }
  // The first memtable of a database: takes pages as it fills, and leaves the pool no memory.
  std::shared_ptr<memtable::Memtable> NewFirstMemtable(const kv::Order& order) const {
    return std::make_shared<memtable::Memtable>(order, memtable::NewUntouchedMemory(memory_bytes_));
  }
  // A memtable with a memory of its own, for a record that does not fit into a standard one.
  static std::shared_ptr<memtable::Memtable> NewLargeMemtable(const kv::Order& order, size_t bytes) {
    return std::make_shared<memtable::Memtable>(order, memtable::NewMemory(bytes));
  }
  // Makes a memory before it is needed.
  void Prepare() {
    {
      base::Lock lock(mutex_);
      if (!free_.empty()) return;
    }
    GiveBack(memtable::NewMemory(memory_bytes_));
  }

 private:
  std::shared_ptr<memtable::Memory> Take() {
    {
      base::Lock lock(mutex_);
      if (!free_.empty()) {
        auto memory = std::move(free_.back());
        free_.pop_back();
        return memory;
      }
    }
    return memtable::NewMemory(memory_bytes_);
  }
  void GiveBack(std::shared_ptr<memtable::Memory> memory) {
    base::Lock lock(mutex_);
    if (free_.size() < kept_max_) free_.push_back(std::move(memory));
  }

  const size_t memory_bytes_;
  const size_t kept_max_;
  base::Mutex mutex_;
  std::vector<std::shared_ptr<memtable::Memory>> free_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::write
