// Finds the newest record of a key. Open addressing over 64-bit slots, 0 for empty:
//
//   slot = check 32 | offset 32      check: the low half of the key's hash; the high half chooses the first slot
//
// Once a key has a slot, the slot only gets newer offsets. So a reader needs no lock: it sees the slot before
// or after a change, and both are correct.
// WHY a multiplication and not a mask limits the hash: the count of slots follows the size of the memory exactly.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/prefetch.h"

namespace mergedb::memtable {

class HashIndex {
 public:
  HashIndex() = default;  // no index: for a memtable whose order is not bytewise
  // `slots` is memory for `count` words, which the index clears unless they are zeros.
  HashIndex(uint64_t* slots, uint32_t count, bool are_zeros) : slots_(slots), count_(count) {
    if (!are_zeros) std::memset(slots, 0, size_t{count} * sizeof *slots);
  }

  uint32_t count() const { return count_; }

  void PrefetchForWrite(uint64_t hash) const {
    base::PrefetchForWrite(reinterpret_cast<const char*>(&slots_[FirstSlot(hash)]));
  }

  // The offset of the record under `hash` for which `is_match(offset)` is true, or 0. THREADS: any.
  template <class IsMatch>
  uint32_t Find(uint64_t hash, IsMatch is_match) const {
    for (uint32_t i = FirstSlot(hash);; i = NextSlot(i)) {
      // WHY acquire: the record was written before its offset was stored.
      const uint64_t slot = Word(i).load(std::memory_order_acquire);
      if (slot == 0) return 0;
      const auto offset = static_cast<uint32_t>(slot);
      if (slot >> 32 == (hash & 0xffffffff) && is_match(offset)) return offset;
    }
  }

  // The slot for a record under `hash`. `offset` is that of the record which it replaces, or 0 if the slot is free.
  struct Place {
    uint32_t index;
    uint32_t offset;
  };
  // REQUIRES: a free slot. THREADS: the writer.
  template <class IsMatch>
  Place FindPlace(uint64_t hash, IsMatch is_match) const {
    for (uint32_t i = FirstSlot(hash);; i = NextSlot(i)) {
      const uint64_t slot = Word(i).load(std::memory_order_relaxed);  // WHY relaxed: only this thread stores
      if (slot == 0) return {i, 0};
      const auto offset = static_cast<uint32_t>(slot);
      if (slot >> 32 == (hash & 0xffffffff) && is_match(offset)) return {i, offset};
    }
  }
  void Store(Place place, uint64_t hash, uint32_t offset) {
    // WHY release: see Find.
    Word(place.index).store(hash << 32 | offset, std::memory_order_release);
  }

 private:
  uint32_t FirstSlot(uint64_t hash) const { return static_cast<uint32_t>(((hash >> 32) * count_) >> 32); }
  uint32_t NextSlot(uint32_t i) const { return i + 1 == count_ ? 0 : i + 1; }
  std::atomic_ref<uint64_t> Word(uint32_t i) const { return std::atomic_ref<uint64_t>(slots_[i]); }

  uint64_t* slots_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace mergedb::memtable
