// The range deletes of a memtable, oldest first. The class tells which delete masks a key at any sequence,
// while more are added.
//
//   deletes    1 2 3 4 5 6 7 8 | 9 . . . . . . 16 | 17 . . . . . . 24 | 25 26 27
//   nodes      |<---- 1 ---->|
//              |<-------------- 2 -------------->| |<----- 3 ----->|   the rest, less than a leaf, is tried one by one
//
// Add appends. A reader at a sequence sees the first n deletes. Eight deletes are a leaf; node e has the
// fragments of the leaves (e - lowest bit of e, e]. So the reader needs as many nodes as the number of full
// leaves has 1 bits (a Fenwick tree). Each node answers by one binary search, and no node ever changes. The
// first reader that needs a node makes it; then it is kept.
//
// WHY not one list that is made anew after each delete: alternating deletes and reads would cost the square of
// their number. Here a delete is fragmented at most once per level of the tree, and only if a reader needs it.
//
// Tests: tests/unit/memtable/range_deletes_test.cc. THREADS: one thread at a time calls Add; any thread calls
// the other methods meanwhile.
#pragma once

#include <array>
#include <atomic>
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

  // The keys are views that outlive this object. REQUIRES: sequences ascend.
  void Add(const kv::RangeTombstone& tombstone);

  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  size_t count() const { return count_.load(std::memory_order_acquire); }
  // Find and MaskingSequence use the range deletes up to `sequence`.
  kv::Mask Find(std::string_view key, kv::Sequence sequence) const;
  kv::Sequence MaskingSequence(std::string_view key, kv::Sequence sequence) const;
  // All range deletes, as views.
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
    // THREADS: the writer. A reader of element i knows of it from count_, which is stored later.
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
  mutable Chunks<Node> nodes_;  // node e is at e - 1; null until a reader makes it
  std::atomic<size_t> count_{0};
};

}  // namespace mergedb::memtable
