// Keeps the engine's blocks in the leveldb::Cache that a program supplied.
//
// A cache from NewLRUCache contains a block cache of the engine (own_objects.h). All databases that share it
// use that block cache: the block's file id is the number of the database (a count of databases in this
// process) above the lower 40 bits, which hold the file number. A database whose number exceeds 24 bits caches
// no blocks there. Any other cache gets:
//
// FORMAT: a key has 16 bytes: the id that the cache's NewId gave to the file, u64, and the block's offset, u64.
// A value is a block, and the cache holds one reference to it. The charge is the size of the block.
// THREADS: all methods, any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "base/block_cache.h"
#include "base/sync.h"
#include "leveldb/cache.h"

namespace leveldb {

class BlockKeeper final : public mergedb::base::BlockCache::Keeper {
 public:
  using Pin = mergedb::base::BlockCache::Pin;
  explicit BlockKeeper(Cache* cache);

  Pin Find(uint64_t file, uint64_t offset) override;
  void Insert(uint64_t file, uint64_t offset, const Pin& pin) override;
  // In a program's own cache, the blocks of the file stay until the cache needs their space, as in LevelDB. No
  // look-up finds them.
  void EvictFile(uint64_t file) override;
  size_t bytes() const override { return cache_.TotalCharge(); }
  uint64_t hits() const override { return own_ != nullptr ? own_->hits() : hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const override {
    return own_ != nullptr ? own_->misses() : misses_.load(std::memory_order_relaxed);
  }

 private:
  bool Fits(uint64_t file) const;
  uint64_t OwnId(uint64_t file) const;  // in own_. REQUIRES: Fits
  uint64_t IdOf(uint64_t file);

  Cache& cache_;
  mergedb::base::BlockCache* const own_;  // null: the program's own cache
  const uint64_t database_;               // for own_
  std::atomic<uint64_t> hits_{0}, misses_{0};
  mergedb::base::Mutex mutex_;
  std::unordered_map<uint64_t, uint64_t> ids_ GUARDED_BY(mutex_);  // by file
};

}  // namespace leveldb
