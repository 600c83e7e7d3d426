#include "base/block_cache.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/sync.h"

namespace mergedb::base {
namespace {

constexpr size_t kShardsMax = 64;
constexpr size_t kShardBytesMin = size_t{1} << 20;  // a small cache has few shards, so that each holds many blocks
constexpr size_t kSlotsMin = 16;
// Sizes of S3-FIFO (see the header), checked by simulation: docs/decisions/0063-block-cache.md.
constexpr uint8_t kScoreMax = 3;
constexpr uint8_t kScoreOfMain = 2;  // hits in `small` with which a block moves to `main`
constexpr size_t kSmallShare = 10;   // `small` may have a tenth of the bytes

struct Name {
  uint64_t file;
  uint64_t offset;
  friend bool operator==(const Name&, const Name&) = default;
};

// The low bits choose the slot, the high bits the shard.
uint64_t HashOf(Name name) {
  uint64_t hash = name.file * 0x9E3779B97F4A7C15u + name.offset;
  hash = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93u;
  return hash ^ (hash >> 32);
}

struct Slot {
  Name name{};
  BlockCache::Block* block = nullptr;  // null: the slot is free
  uint8_t score = 0;                   // hits since the block entered its queue, at most kScoreMax
  bool is_in_main = false;
};

constexpr size_t kGhostBytes = sizeof(uint32_t);
// The cost of a block beside its bytes: two slots (the table is at most half full), its name in a queue, its ghosts
// (the array has at most two for each block), the Block and malloc's header.
constexpr size_t kOverheadBytes = 2 * sizeof(Slot) + sizeof(Name) + 2 * kGhostBytes + sizeof(BlockCache::Block) + 16;
size_t ChargeOf(const BlockCache::Block& block) { return block.bytes + kOverheadBytes; }

}  // namespace

// Open addressing with linear probing. A removal shifts the following entries back, so the table needs no
// deletion marks. INVARIANT: each block in `slots` has its name in one queue, and each name in a queue has a slot.
struct alignas(64) BlockCache::Shard {
  Mutex mutex;
  std::vector<Slot> slots GUARDED_BY(mutex) = std::vector<Slot>(kSlotsMin);  // a power of two, at most half full
  std::vector<uint32_t> ghosts GUARDED_BY(mutex) = std::vector<uint32_t>(kSlotsMin / 2);  // 0: none
  std::deque<Name> small GUARDED_BY(mutex);  // the oldest first, as in main
  std::deque<Name> main GUARDED_BY(mutex);
  size_t bytes GUARDED_BY(mutex) = 0;
  size_t small_bytes GUARDED_BY(mutex) = 0;
  uint64_t hits GUARDED_BY(mutex) = 0;
  uint64_t misses GUARDED_BY(mutex) = 0;

  ~Shard() {
    for (const Slot& slot : slots) {
      if (slot.block != nullptr) LetGo(slot.block);
    }
  }

  size_t AfterLocked(size_t index) const REQUIRES_LOCK(mutex) { return (index + 1) & (slots.size() - 1); }
  size_t HomeOfLocked(Name name) const REQUIRES_LOCK(mutex) { return HashOf(name) & (slots.size() - 1); }
  size_t CountLocked() const REQUIRES_LOCK(mutex) { return small.size() + main.size(); }

  // The slot of `name`; if there is none, the free slot where it belongs.
  size_t FindSlotLocked(Name name) const REQUIRES_LOCK(mutex) {
    size_t index = HomeOfLocked(name);
    while (slots[index].block != nullptr && slots[index].name != name) index = AfterLocked(index);
    return index;
  }

  // Two names share a ghost if 32 bits of their hashes are equal: then a new block enters `main` by mistake.
  uint32_t& GhostOfLocked(Name name) REQUIRES_LOCK(mutex) { return ghosts[HashOf(name) & (ghosts.size() - 1)]; }
  static uint32_t FingerprintOf(Name name) { return static_cast<uint32_t>(HashOf(name) >> 16) | 1; }

  // The caller removes the name from its queue.
  void RemoveLocked(size_t hole) REQUIRES_LOCK(mutex) {
    const size_t charge = ChargeOf(*slots[hole].block);
    bytes -= charge;
    if (!slots[hole].is_in_main) small_bytes -= charge;
    LetGo(slots[hole].block);
    for (size_t index = AfterLocked(hole); slots[index].block != nullptr; index = AfterLocked(index)) {
      // An entry may move back into the hole unless its home slot lies after the hole.
      const size_t mask = slots.size() - 1;
      if (((index - HomeOfLocked(slots[index].name)) & mask) < ((index - hole) & mask)) continue;
      slots[hole] = slots[index];
      hole = index;
    }
    slots[hole] = {};
  }

  // The loop ends: a block leaves `small` at its first turn, and `main` after at most kScoreMax turns without a hit.
  void MakeRoomLocked(size_t bytes_max) REQUIRES_LOCK(mutex) {
    while (bytes > bytes_max) {
      if (main.empty() || small_bytes > bytes_max / kSmallShare) {
        TakeFromSmallLocked();
      } else {
        TakeFromMainLocked();
      }
    }
  }

  void TakeFromSmallLocked() REQUIRES_LOCK(mutex) {
    const Name name = small.front();
    const size_t index = FindSlotLocked(name);
    Slot& slot = slots[index];
    if (slot.score >= kScoreOfMain) {
      main.push_back(name);  // first: it may throw
      slot.score = 0;
      slot.is_in_main = true;
      small_bytes -= ChargeOf(*slot.block);
    } else {
      GhostOfLocked(name) = FingerprintOf(name);
      RemoveLocked(index);
    }
    small.pop_front();
  }

  void TakeFromMainLocked() REQUIRES_LOCK(mutex) {
    const Name name = main.front();
    const size_t index = FindSlotLocked(name);
    Slot& slot = slots[index];
    if (slot.score > 0) {
      main.push_back(name);
      --slot.score;
    } else {
      RemoveLocked(index);
    }
    main.pop_front();
  }

  void InsertLocked(Name name, Block* block) REQUIRES_LOCK(mutex) {
    const bool is_in_main = GhostOfLocked(name) == FingerprintOf(name);
    (is_in_main ? main : small).push_back(name);
    slots[FindSlotLocked(name)] = {.name = name, .block = block, .score = 0, .is_in_main = is_in_main};
    bytes += ChargeOf(*block);
    if (!is_in_main) small_bytes += ChargeOf(*block);
  }

  void EvictFileLocked(uint64_t file) REQUIRES_LOCK(mutex) {
    for (std::deque<Name>* const queue : {&small, &main}) {
      std::erase_if(*queue, [&](Name name) REQUIRES_LOCK(mutex) {
        if (name.file != file) return false;
        RemoveLocked(FindSlotLocked(name));
        return true;
      });
    }
  }

  void GrowLocked() REQUIRES_LOCK(mutex) {
    std::vector<uint32_t> no_ghosts(slots.size());
    std::vector<Slot> source(2 * slots.size());
    ghosts.swap(no_ghosts);
    slots.swap(source);
    for (const Slot& slot : source) {
      if (slot.block != nullptr) slots[FindSlotLocked(slot.name)] = slot;
    }
  }
};

void BlockCache::LetGo(Block* block) {
  // WHY acq_rel: the thread that frees the block must see the accesses that other threads made before they
  // released it.
  if (block->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    block->~Block();
    ::operator delete(block);
  }
}

BlockCache::Block* BlockCache::Allocate(size_t bytes) {
  ASSERT(bytes <= UINT32_MAX, "a block is shorter than 4 GiB");
  auto* block = new (::operator new(sizeof(Block) + bytes)) Block;
  block->bytes = static_cast<uint32_t>(bytes);
  return block;
}

void BlockCache::Pin::Reset() {
  if (block_ != nullptr) LetGo(std::exchange(block_, nullptr));
}

BlockCache::BlockCache(size_t bytes_max, Keeper* keeper)
    : keeper_(keeper),
      shard_count_(std::bit_floor(std::clamp<size_t>(bytes_max / kShardBytesMin, 1, kShardsMax))),
      bytes_max_(bytes_max),
      shards_(std::make_unique<Shard[]>(shard_count_)) {}

BlockCache::~BlockCache() = default;

BlockCache::Shard& BlockCache::ShardOf(uint64_t file, uint64_t offset) const {
  return shards_[(HashOf({file, offset}) >> 48) & (shard_count_ - 1)];
}

BlockCache::Pin BlockCache::Find(uint64_t file, uint64_t offset, bool counts_miss) {
  if (keeper_ != nullptr) [[unlikely]]
    return keeper_->Find(file, offset);
  Shard& shard = ShardOf(file, offset);
  Lock lock(shard.mutex);
  Slot& slot = shard.slots[shard.FindSlotLocked({file, offset})];
  if (slot.block == nullptr) {
    shard.misses += counts_miss ? 1 : 0;
    return {};
  }
  ++shard.hits;
  if (slot.score < kScoreMax) ++slot.score;
  Hold(slot.block);
  return Pin(slot.block);
}

void BlockCache::Insert(uint64_t file, uint64_t offset, const Pin& pin) {
  if (keeper_ != nullptr) [[unlikely]]
    return keeper_->Insert(file, offset, pin);
  const size_t charge = ChargeOf(*pin.block());
  const size_t shard_bytes_max = bytes_max_ / shard_count_;
  if (charge > shard_bytes_max) return;
  Shard& shard = ShardOf(file, offset);
  Lock lock(shard.mutex);
  if (shard.slots[shard.FindSlotLocked({file, offset})].block != nullptr) return;
  shard.MakeRoomLocked(shard_bytes_max - charge);
  if (2 * (shard.CountLocked() + 1) > shard.slots.size()) shard.GrowLocked();
  shard.InsertLocked({file, offset}, pin.block());
  Hold(pin.block());
}

void BlockCache::EvictFile(uint64_t file) {
  if (keeper_ != nullptr) [[unlikely]]
    return keeper_->EvictFile(file);
  for (Shard& shard : shards()) {
    Lock lock(shard.mutex);
    shard.EvictFileLocked(file);
  }
}

std::span<BlockCache::Shard> BlockCache::shards() const { return {shards_.get(), shard_count_}; }

template <typename Member>
uint64_t BlockCache::Sum(Member member) const {
  uint64_t sum = 0;
  for (Shard& shard : shards()) {
    Lock lock(shard.mutex);
    sum += shard.*member;
  }
  return sum;
}

size_t BlockCache::bytes() const { return keeper_ != nullptr ? keeper_->bytes() : Sum(&Shard::bytes); }
size_t BlockCache::bytes_max() const { return bytes_max_; }
uint64_t BlockCache::hits() const { return keeper_ != nullptr ? keeper_->hits() : Sum(&Shard::hits); }
uint64_t BlockCache::misses() const { return keeper_ != nullptr ? keeper_->misses() : Sum(&Shard::misses); }

}  // namespace mergedb::base
