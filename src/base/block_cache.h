// Blocks by (file, offset): sharded CLOCK, bounded by bytes, pinned while in use, scan-resistant (a block enters with a
// low score and earns its stay by being found again).
//
//     hash(file, offset) -> shard -> slot      slots are one array: hash table for Find, ring for the clock's hand
//     [ ][a 2][ ][b 0][c 3][ ][d 0][ ]         the number is the score: sweeps that the block will survive
//          hand ^                              the hand lowers scores and takes the first block that has none left
//
// A block that is pinned may leave the cache; its bytes live until the last Pin lets go. So bytes() is what the cache
// itself holds, and a scan's pins never block the hand. A new block has score 0: a scan that touches each block once
// pushes out other such blocks, not those that were found again. Tests: tests/unit/base/block_cache_test.cc.
//
// THREADS: all methods, any thread. A Pin is for one thread at a time.
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
  // A block's bytes, reference counted; also used for blocks that never enter the cache.
  struct Block {
    std::atomic<uint32_t> references{1};
    uint32_t bytes = 0;
    char* data() { return reinterpret_cast<char*>(this + 1); }
    const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  };
  // Uninitialized bytes; one reference, the caller's.
  static Block* Allocate(size_t bytes);
  // One reference more, or less.
  static void Hold(Block* block) {
    block->references.fetch_add(1, std::memory_order_relaxed);
  }  // WHY: the caller holds one
  static void LetGo(Block* block);

  // Holds one reference.
  class Pin {
   public:
    Pin() = default;
    explicit Pin(Block* block) : block_(block) {}  // takes the reference over
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

  // A cache of the program's own, which keeps the blocks in place of ours. THREADS: all methods, any thread.
  class Keeper {
   public:
    virtual ~Keeper() = default;
    virtual Pin Find(uint64_t file, uint64_t offset) = 0;
    // Takes a reference of its own.
    virtual void Insert(uint64_t file, uint64_t offset, const Pin& pin) = 0;
    virtual void EvictFile(uint64_t file) = 0;
    virtual size_t bytes() const = 0;
    virtual uint64_t hits() const = 0;
    virtual uint64_t misses() const = 0;
  };

  // `keeper` must outlive the cache; null: there is none.
  explicit BlockCache(size_t bytes_max, Keeper* keeper = nullptr);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // An empty Pin if it is not there.
  Pin Find(uint64_t file, uint64_t offset);
  // Keep `pin`'s block under this name as well. If somebody else did so meanwhile, the older one stays.
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
  uint64_t Sum(Member member) const;  // of all shards, each locked in turn

  Keeper* const keeper_;
  const size_t shard_count_;  // a power of two
  const size_t bytes_max_;    // blocks and what they cost in slots; shared out evenly, so the shards are bounds as well
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace mergedb::base
