// Sorted writes in memory: records appended to an arena, a hash index over them for point reads, sorted pieces made
// when someone iterates.
//
//   arena   [record][record][record]...          appended by one writer at a time
//   index   hash(key) -> newest record of key    open addressing; versions of a key chained through the record headers
//   pieces  sorted arrays of (prefix, offset)    a binary counter, at most 10; the unsorted rest is sorted per iterator
//
// Under an order that is not bytewise, equal keys may differ in their bytes and a prefix says nothing: a skip list in
// the arena then takes the place of index and pieces (ordered_index.h).
//
// active: Add is called, by one thread at a time; any number of readers, without locks. sealed: no more Add. A flush
// reads it in order through NewFlushIterator, which sorts all of it once (radix sort on the prefix).
// An arena is recycled, never freed and allocated again: the first touch of a fresh page costs 1.6-3.4 us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kv/iterator.h"
#include "kv/order.h"
#include "memtable/range_deletes.h"

namespace mergedb::memtable {

// The recyclable part: arena and index slots, pre-touched when made (or at the first Reset).
class Memory;

// `bytes` counts arena and index together, up to 32 GiB.
std::shared_ptr<Memory> NewMemory(size_t bytes);

class Memtable {
 public:
  // Takes exclusive use of `memory`, which must not serve another memtable; clears its index.
  Memtable(const kv::Order& order, std::shared_ptr<Memory> memory);
  ~Memtable();
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // True if a record of this size can be added; a key or a value beyond 4 GiB never can. A new memtable takes any
  // record that fits its memory; use BytesNeeded to make a large enough one for a huge record.
  bool HasRoom(size_t key_bytes, size_t value_bytes) const;
  static size_t BytesNeeded(size_t key_bytes, size_t value_bytes);
  // The same for several records whose keys and values are `bytes` long together; true is certain, false may be
  // cautious.
  bool HasRoomFor(uint64_t records, size_t bytes) const;
  // The same, and what is promised here until the next Reserve is set aside: what an operand leaves beside itself takes
  // only what is beyond it. Without a Reserve operands leave nothing. REQUIRES: as Add.
  bool Reserve(uint64_t records, size_t bytes);
  // Would a new memtable of `memory_bytes` have room for them?
  static bool MemoryHolds(size_t memory_bytes, uint64_t records, size_t bytes);

  // Add a version, or a range delete (its begin as key, its end as value). REQUIRES: HasRoom; (key, tag) newer than every
  // version of key here; one thread at a time. Readers see it at once: who must not, asks with a smaller sequence.
  void Add(std::string_view key, kv::Tag tag, std::string_view value);

  // The newest version of key with a sequence up to `sequence`, whether a range delete covers it or not; or, with its tag's sequence, what this version and all
  // older ones here fold into (memtable/fold_on_write.h): then there is no older one. Views live as long as the memtable.
  // THREADS: any, while Add runs.
  struct Found {
    kv::Tag tag = 0;
    std::string_view value = {};
    uint32_t place = 0;  // the memtable's own
  };
  bool Get(std::string_view key, kv::Sequence sequence, Found* found) const;
  // The next older version of the key that *found is of; false if there is none here.
  bool GetOlder(std::string_view key, Found* found) const;
  // As Get, with base::Hash64(key) computed already (used under the bytewise order only).
  bool GetHashed(std::string_view key, uint64_t hash, kv::Sequence sequence, Found* found) const;

  // What is deleted by ranges: iterators do not show it, and Get does not look at it. Lives as long as the memtable.
  const RangeDeletes& range_deletes() const;

  // All versions added before the call, both directions. The memtable must outlive it. THREADS: any, while Add runs.
  std::unique_ptr<kv::Iterator> NewIterator();
  // The same, forward only and faster; for a sealed memtable.
  std::unique_ptr<kv::Iterator> NewFlushIterator();

  uint64_t entries() const;  // range deletes not counted
  // Of any change, range deletes included; 0 if there is none. THREADS: as Add, or once sealed.
  kv::Sequence oldest_sequence() const;
  kv::Sequence newest_sequence() const;
  size_t bytes_used() const;  // of the arena
  size_t bytes_held() const;  // memory
  bool empty() const { return entries() == 0 && range_deletes().empty(); }

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mergedb::memtable
