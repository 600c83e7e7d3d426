// A cache of blocks by (file, offset): sharded S3-FIFO, bounded by bytes. A reader pins a block while it uses it.
//
//     hash(file, offset) -> shard -> slot      a hash table; a slot has the block and its score, the hits (at most 3)
//
//     Insert -> small, a tenth of the bytes --score < 2--> evicted; its hash becomes a ghost
//                 | score >= 2                                              | Insert of a block with a ghost
//                 v                                                         v
//               main: the oldest block is evicted, or goes to the end with a lower score
//
// Source: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023.
// A pinned block can leave the cache; its bytes live until the last Pin is released. So bytes() counts only
// the blocks in the cache, and the pins of a scan never block an eviction.
// The cache resists scans: blocks that are read once pass through `small`, and blocks that were found again are not
// evicted for them. Why this policy: docs/decisions/0063-block-cache.md. Tests: tests/unit/base/block_cache_test.cc.
//
// THREADS: all methods, any thread. Only one thread at a time uses a Pin.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace mergedb::base {

class BlockCache {
 public:
  // A block's bytes with a reference count. Blocks that never enter the cache use it too.
  struct Block {
    std::atomic<uint32_t> references{1};
    uint32_t bytes = 0;
    char* data() { return reinterpret_cast<char*>(this + 1); }
    const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  };
  // Returns uninitialized bytes with one reference, which the caller owns.
  static Block* Allocate(size_t bytes);
  // Hold adds a reference, LetGo drops one.
  static void Hold(Block* block) {
    block->references.fetch_add(1, std::memory_order_relaxed);
  }  // WHY relaxed: the caller holds a reference
  static void LetGo(Block* block);

  // Owns one reference to a block.
  class Pin {
   public:
    Pin() = default;
    explicit Pin(Block* block) : block_(block) {}  // takes over the reference
    Pin(Pin&& other) noexcept : block_(other.block_) { other.block_ = nullptr; }
    Pin& operator=(Pin&& other) noexcept {
      if (this != &other) {
        Reset();
        block_ = other.block_;
        other.block_ = nullptr;
      }
      return *this;
    }
    ~Pin() { Reset(); }
    void Reset();
    explicit operator bool() const { return block_ != nullptr; }
    std::string_view bytes() const { return {block_->data(), block_->bytes}; }
    Block* block() const { return block_; }

   private:
    Block* block_ = nullptr;
  };

  // A cache of the program that stores the blocks in place of BlockCache. THREADS: all methods, any thread.
  class Keeper {
   public:
    virtual ~Keeper() = default;
    virtual Pin Find(uint64_t file, uint64_t offset) = 0;
    // Takes its own reference.
    virtual void Insert(uint64_t file, uint64_t offset, const Pin& pin) = 0;
    virtual void EvictFile(uint64_t file) = 0;
    virtual size_t bytes() const = 0;
    virtual uint64_t hits() const = 0;
    virtual uint64_t misses() const = 0;
  };

  // `keeper` must outlive the cache. If it is null, BlockCache stores the blocks itself.
  explicit BlockCache(size_t bytes_max, Keeper* keeper = nullptr);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Returns an empty Pin if the block is not in the cache. `counts_miss`: false for a caller that looks again
  // before it reads the block.
  Pin Find(uint64_t file, uint64_t offset, bool counts_miss = true);
  // Stores `pin`'s block under this name. If another thread stored a block under it first, that block stays.
  void Insert(uint64_t file, uint64_t offset, const Pin& pin);
  // Forget all blocks of a file.
  void EvictFile(uint64_t file);

  size_t bytes() const;
  size_t bytes_max() const;
  uint64_t hits() const;
  uint64_t misses() const;

 private:
  struct Shard;
  Shard& ShardOf(uint64_t file, uint64_t offset) const;
  std::span<Shard> shards() const;
  template <typename Member>
  uint64_t Sum(Member member) const;  // over all shards, locked one after another

  Keeper* const keeper_;
  const size_t shard_count_;  // a power of two
  const size_t bytes_max_;    // bytes of blocks and their slots; each shard has an equal part as its bound
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace mergedb::base
