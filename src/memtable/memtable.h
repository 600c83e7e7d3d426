// Writes in memory: records appended to an arena, a hash index over them for point reads, and sorted pieces
// that are made when an iterator is created.
//
//   arena   [record][record][record]...          appended by one writer at a time
//   index   hash(key) -> newest record of key    open addressing; the record headers chain the versions of a key
//   pieces  sorted arrays of (prefix, offset)    a binary counter, at most 10, the tail included
//
// Under an order that is not bytewise, equal keys may differ in their bytes and a prefix says nothing. Then a
// skip list in the arena takes the place of index and pieces (ordered_index.h).
//
// While the memtable is active, one thread at a time calls Add, and any number of readers use it without
// locks. When it is immutable, no thread calls Add. A flush reads it in order through NewFlushIterator, which
// sorts all records once (radix sort on the prefix). The memory is reused (write/memory_pool.h), because the
// first touch of a fresh page costs 1.6-3.4 us.
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

// The reusable part: arena and index slots.
class Memory;

// `bytes` counts arena and index together, up to 32 GiB. Touches every page.
std::shared_ptr<Memory> NewMemory(size_t bytes);
// Touches no page: for a memtable that may stay small. REQUIRES: used for one memtable only, which relies on its zeros.
std::shared_ptr<Memory> NewUntouchedMemory(size_t bytes);

class Memtable {
 public:
  // Takes exclusive use of `memory`, which must not serve another memtable, and clears its index.
  Memtable(const kv::Order& order, std::shared_ptr<Memory> memory);
  ~Memtable();
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // True if a record of this size can be added. A key or a value beyond 4 GiB never fits. A new memtable
  // takes any record that fits its memory; BytesNeeded gives the memory that a huge record needs.
  bool HasRoom(size_t key_bytes, size_t value_bytes) const;
  static size_t BytesNeeded(size_t key_bytes, size_t value_bytes);
  // The same for several records whose keys and values have `bytes` bytes together. True is certain; false
  // may be cautious.
  bool HasRoomFor(uint64_t records, size_t bytes) const;
  // The same, and reserves this room until the next Reserve: folds of operands use only the room beyond it.
  // Without a Reserve, operands get no folds. REQUIRES: as Add.
  bool Reserve(uint64_t records, size_t bytes);
  // True if a new memtable of `memory_bytes` has room for these records.
  static bool MemoryHolds(size_t memory_bytes, uint64_t records, size_t bytes);

  // Gives pages that no record and no index slot uses back to the system, from the next `bytes_max` bytes of the
  // memory. True: more may be given back. A later Add takes the pages that it needs. REQUIRES: as Add.
  bool GiveBackUnused(size_t bytes_max);

  // Adds a version, or a range delete (its begin as key, its end as value). REQUIRES: HasRoom; (key, tag) is
  // newer than every version of the key here; one thread at a time. Readers see the version at once; a reader
  // that must not see it asks with a smaller sequence.
  void Add(std::string_view key, kv::Tag tag, std::string_view value);

  // Finds the newest version of the key with a sequence of at most `sequence`, whether a range delete masks
  // it or not. If this version has a fold (memtable/fold_on_write.h), *found has the version's sequence and
  // the fold of this version and all older ones here; then there is no older one. Views live as long as the
  // memtable. THREADS: any, while Add runs.
  struct Found {
    kv::Tag tag = 0;
    std::string_view value = {};
    uint32_t place = 0;  // for the memtable only
  };
  bool Get(std::string_view key, kv::Sequence sequence, Found* found) const;
  // The next older version of the key of *found; false if there is none here.
  bool GetOlder(std::string_view key, Found* found) const;
  // As Get. The caller has computed base::Hash64(key), which only the bytewise order uses.
  bool GetHashed(std::string_view key, uint64_t hash, kv::Sequence sequence, Found* found) const;

  // The range deletes. Iterators do not show them, and Get does not apply them. Lives as long as the memtable.
  const RangeDeletes& range_deletes() const;

  // The iterator shows all versions added before the call, in both directions. Under an order that is not
  // bytewise, it may also show later ones. The memtable must outlive the iterator. THREADS: any, while Add runs.
  std::unique_ptr<kv::Iterator> NewIterator();
  // The same, forward only and faster. REQUIRES: the memtable is immutable.
  std::unique_ptr<kv::Iterator> NewFlushIterator();

  uint64_t entries() const;  // without range deletes
  // Of all changes, range deletes included; 0 if there are none. THREADS: as Add, or any once the memtable is
  // immutable.
  kv::Sequence oldest_sequence() const;
  kv::Sequence newest_sequence() const;
  // True if a change up to `sequence` is here. THREADS: any; changes up to `sequence` are published.
  bool HasUpTo(kv::Sequence sequence) const;
  // All keys and values lie in it, and stay as they are as long as the memtable lives.
  std::string_view memory() const;
  size_t bytes_used() const;  // of the arena
  size_t bytes_held() const;  // memory
  bool empty() const { return entries() == 0 && range_deletes().empty(); }

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mergedb::memtable
