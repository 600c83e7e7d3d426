#include "base/block_cache.h"

#include <algorithm>
#include <bit>
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
constexpr uint8_t kScoreMax = 3;

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

// One slot of the hash table. The array of slots is also the ring around which the CLOCK hand moves.
struct Slot {
  Name name{};
  BlockCache::Block* block = nullptr;  // null: the slot is free
  uint8_t score = 0;                   // passes of the hand that the block survives
};

// The cost of a block beside its bytes: two slots (the table is at most half full), the Block and malloc's header.
constexpr size_t kOverheadBytes = 2 * sizeof(Slot) + sizeof(BlockCache::Block) + 16;
size_t ChargeOf(const BlockCache::Block& block) { return block.bytes + kOverheadBytes; }

}  // namespace

// Open addressing with linear probing. A removal shifts the following entries back, so the table needs no
// deletion marks. If the hand stands on the removed slot, it looks at the shifted entry next.
struct alignas(64) BlockCache::Shard {
  Mutex mutex;
  std::vector<Slot> slots GUARDED_BY(mutex) = std::vector<Slot>(kSlotsMin);  // a power of two, at most half full
  size_t count GUARDED_BY(mutex) = 0;
  size_t hand GUARDED_BY(mutex) = 0;
  size_t bytes GUARDED_BY(mutex) = 0;
  uint64_t hits GUARDED_BY(mutex) = 0;
  uint64_t misses GUARDED_BY(mutex) = 0;

  ~Shard() {
    for (const Slot& slot : slots) {
      if (slot.block != nullptr) LetGo(slot.block);
    }
  }

  size_t After(size_t index) const { return (index + 1) & (slots.size() - 1); }
  size_t HomeOf(Name name) const { return HashOf(name) & (slots.size() - 1); }

  // The slot of `name`; if there is none, the free slot where it belongs.
  size_t FindSlotLocked(Name name) const {
    size_t index = HomeOf(name);
    while (slots[index].block != nullptr && slots[index].name != name) index = After(index);
    return index;
  }

  void RemoveLocked(size_t hole) {
    bytes -= ChargeOf(*slots[hole].block);
    --count;
    LetGo(slots[hole].block);
    for (size_t index = After(hole); slots[index].block != nullptr; index = After(index)) {
      // An entry may move back into the hole unless its home slot lies after the hole.
      const size_t mask = slots.size() - 1;
      if (((index - HomeOf(slots[index].name)) & mask) < ((index - hole) & mask)) continue;
      slots[hole] = slots[index];
      hole = index;
    }
    slots[hole] = {};
  }

  // The loop ends: a round that removes nothing lowers every score, and an empty shard has 0 bytes.
  void MakeRoomLocked(size_t bytes_max) {
    while (bytes > bytes_max) {
      Slot& slot = slots[hand];
      if (slot.block != nullptr && slot.score == 0) {
        RemoveLocked(hand);
        continue;
      }
      if (slot.block != nullptr) --slot.score;
      hand = After(hand);
    }
  }

  void GrowLocked() {
    std::vector<Slot> source(2 * slots.size());
    slots.swap(source);
    for (const Slot& slot : source) {
      if (slot.block != nullptr) slots[FindSlotLocked(slot.name)] = slot;
    }
    hand = 0;
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
  if (2 * (shard.count + 1) > shard.slots.size()) shard.GrowLocked();
  Slot& slot = shard.slots[shard.FindSlotLocked({file, offset})];
  slot = {.name = {file, offset}, .block = pin.block(), .score = 0};
  Hold(slot.block);
  shard.bytes += charge;
  ++shard.count;
}

void BlockCache::EvictFile(uint64_t file) {
  if (keeper_ != nullptr) [[unlikely]]
    return keeper_->EvictFile(file);
  for (Shard& shard : shards()) {
    Lock lock(shard.mutex);
    for (size_t index = 0; index < shard.slots.size();) {
      const Slot& slot = shard.slots[index];
      if (slot.block != nullptr && slot.name.file == file) {
        shard.RemoveLocked(index);  // look at this slot again: a later entry may have moved here
      } else {
        ++index;
      }
    }
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
