// The index of a memtable whose order is not bytewise: a skip list (Pugh 1990) over the arena's records. Under such
// an order equal keys may differ in their bytes, so no hash finds them, and a key's prefix does not tell its place.
//
//   node   record offset 32 | height 32 | next 32 [height]      in the arena, beside the records; 1 in 4 is higher
//
// THREADS: one writer; readers without locks. A node is complete before the link to it is stored.
#pragma once

#include <atomic>
#include <memory>

#include "base/random.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "memtable/record.h"

namespace mergedb::memtable {

class OrderedIndex {
 public:
  static constexpr uint32_t kHeightMax = 12;
  static constexpr size_t kNodeBytesMax = RoundUp(8 + 4 * kHeightMax, kUnitBytes);

  // The first node lies at `head` and stands before all records.
  OrderedIndex(const kv::Order& order, char* arena, uint32_t head);

  // The height of the next node, and the bytes of a node of this height.
  static constexpr size_t NodeBytes(uint32_t height) { return RoundUp(8 + 4 * size_t{height}, kUnitBytes); }
  uint32_t NextHeight();

  // Inserts a record; its node is stored at `node`.
  void Insert(uint32_t record, uint32_t node, uint32_t height);

  // The node of the first record at or after (key, tag), or 0.
  uint32_t FindAtOrAfter(std::string_view key, kv::Tag tag) const;
  // The node of the last record before (key, tag), or 0.
  uint32_t FindBefore(std::string_view key, kv::Tag tag) const;
  uint32_t First() const { return NextOf(head_, 0); }
  uint32_t Last() const;
  uint32_t Next(uint32_t node) const { return NextOf(node, 0); }
  Record RecordAt(uint32_t node) const { return Record(arena_, *Words(node)); }

  const kv::Order& order() const { return order_; }

 private:
  uint32_t* Words(uint32_t node) const { return reinterpret_cast<uint32_t*>(arena_ + node * kUnitBytes); }
  std::atomic_ref<uint32_t> Link(uint32_t node, uint32_t level) const {
    return std::atomic_ref<uint32_t>(Words(node)[2 + level]);
  }
  uint32_t NextOf(uint32_t node, uint32_t level) const {
    return Link(node, level).load(std::memory_order_acquire);  // WHY acquire: the node behind the link is complete
  }
  bool IsBefore(uint32_t node, std::string_view key, kv::Tag tag) const;

  const kv::Order order_;
  char* const arena_;
  const uint32_t head_;
  base::Random random_{1};  // of the writer
};

// Shows all records, in order. A record that is added after the call may be shown or not.
std::unique_ptr<kv::Iterator> NewOrderedIterator(const OrderedIndex* index);

}  // namespace mergedb::memtable
