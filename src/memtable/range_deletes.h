// The range deletes of a memtable, oldest first, and what covers a key as of any sequence, while more are added.
//
//   deletes    1 2 3 4 5 6 7 8 | 9 . . . . . . 16 | 17 . . . . . . 24 | 25 26 27
//   nodes      |<---- 1 ---->|
//              |<-------------- 2 -------------->| |<----- 3 ----->|   the rest, less than a leaf, is looked through
//
// Adding is an append. A reader at a sequence sees the first n deletes; node e, for leaves of eight, is the fragmented list of
// the leaves (e - lowest bit of e, e], so that the nodes of n's leaves are as many as that number has bits (a Fenwick tree),
// each answers by one binary search, and none ever changes. A node is made by the first reader that needs it and kept.
//
// WHY not one list made anew after each delete: deletes and reads in turn would cost the square of their number. Here each
// delete is fragmented as many times as the tree is high, if it is read at all.
//
// Tests: tests/unit/memtable/range_deletes_test.cc. THREADS: Add by one thread at a time, the rest by any meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "kv/range_tombstones.h"

namespace mergedb::memtable {

class RangeDeletes {
 public:
  explicit RangeDeletes(const kv::Order& order) : order_(order) {}
  ~RangeDeletes();
  RangeDeletes(const RangeDeletes&) = delete;
  RangeDeletes& operator=(const RangeDeletes&) = delete;

  // The keys are views that outlive this. REQUIRES: sequences ascend.
  void Add(const kv::RangeTombstone& tombstone);

  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  size_t count() const { return count_.load(std::memory_order_acquire); }
  // Of the range deletes up to `sequence`.
  kv::Mask Find(std::string_view key, kv::Sequence sequence) const;
  kv::Sequence MaskingSequence(std::string_view key, kv::Sequence sequence) const;
  // All of them, as views.
  std::vector<kv::RangeTombstone> All() const;

 private:
  static constexpr size_t kLeaf = 8;

  // Elements that never move, in chunks of doubling size: chunk c holds [kFirst * (2^c - 1), kFirst * (2^(c + 1) - 1)).
  template <class Element>
  class Chunks {
   public:
    ~Chunks() {
      for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
    }
    // THREADS: the writer; who reads element i learned of it from count_, later.
    void MakeRoom(size_t i);
    Element& operator[](size_t i) const;

   private:
    static constexpr size_t kFirst = 8;
    std::array<std::atomic<Element*>, 32> chunks_{};
  };
  using Node = std::atomic<const kv::RangeTombstones*>;

  size_t CountUpTo(kv::Sequence sequence) const;
  const kv::RangeTombstones& NodeOf(size_t leaf) const;
  template <class Visit, class VisitOne>
  void VisitFirst(size_t count, Visit visit_node, VisitOne visit_delete) const;

  const kv::Order order_;
  Chunks<kv::RangeTombstone> deletes_;
  mutable Chunks<Node> nodes_;  // node e at e - 1; null until a reader makes it
  std::atomic<size_t> count_{0};
};

}  // namespace mergedb::memtable
