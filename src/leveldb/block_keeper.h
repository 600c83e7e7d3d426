// The leveldb::Cache that a program supplied as the place where the engine's blocks are kept. One of NewLRUCache has a place for them
// (own_objects.h), where file numbers of several databases are told apart by the database's number above their lower
// 40 bits: how many came before it in this process. A database whose number does not fit keeps no blocks there. Any other
// cache gets:
//
// FORMAT: keys are 16 bytes: an id that the cache's NewId gave to the file, u64, and the block's offset, u64. Values are blocks, each with a
// reference of the cache's own; the charge is their size.
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
  // In a program's own cache the file's blocks stay until it has no room for them, as LevelDB's do; nobody finds them.
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
  mergedb::base::BlockCache* const own_;  // null: a program's own cache
  const uint64_t database_;               // for own_
  std::atomic<uint64_t> hits_{0}, misses_{0};
  mergedb::base::Mutex mutex_;
  std::unordered_map<uint64_t, uint64_t> ids_ GUARDED_BY(mutex_);  // by file
};

}  // namespace leveldb
