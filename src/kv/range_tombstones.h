// Range tombstones as a table or a stretch of a memtable holds them: cut at each other's borders into fragments that do not
// overlap, in key order, each with the sequences of the tombstones over it, newest first. Immutable.
//
//   tombstones   [a . . . . . m)#5          fragments   [a . d)  [d . g)  [g . m)  [m . p)      [s . t)
//                       [d . . g)#9                        5       9 5       5        7            2
//                                [m . p)#7              group   |<------------------------->|   |<---->|
//                                     [s . t)#2
//
// A tombstone hides the versions of the keys in its range that are older than itself, from readers who see it. WHY
// fragments: what covers a key is one binary search, however many tombstones overlap, and how far the answer holds is at
// hand: a scan asks once a border, not once a key. Fragments without a gap between them form a group, over which a scan
// jumps at once.
//
// Of a fragment's sequences only the newest of each stripe is kept (snapshot_stripes.h), so that tombstones that lie on top of each
// other do not multiply: without snapshots, n tombstones make at most 2n - 1 fragments of one sequence each.
//
// Tests: tests/unit/kv/range_tombstones_test.cc. THREADS: any, once built.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key.h"
#include "kv/order.h"
#include "kv/snapshot_stripes.h"

namespace mergedb::kv {

struct RangeTombstone {
  std::string_view begin;
  std::string_view end;  // not included
  Sequence sequence = 0;
};

using OptionalKey = std::optional<std::string_view>;

// What range tombstones say of a key, and of its neighbours. The views are those of the tombstones.
struct Mask {
  Sequence sequence = 0;  // of the newest tombstone over the key that the reader sees; 0: there is none
  // The same holds for every key from `lower` on and before `upper`; open where nothing is said.
  OptionalKey lower = {};
  OptionalKey upper = {};
  // If there is one: each key from `from` on and before `until` lies under some tombstone that the reader sees.
  std::string_view from = {};
  std::string_view until = {};
};
// What two sources say of one key, together.
Mask Combined(const Order& order, const Mask& a, const Mask& b);
// The tighter one of two limits.
OptionalKey LaterOf(const Order& order, OptionalKey a, OptionalKey b);
OptionalKey EarlierOf(const Order& order, OptionalKey a, OptionalKey b);

class RangeTombstones {
 public:
  enum class Keys : uint8_t { kViews, kCopies };  // who keeps the keys alive: the caller, or the result

  RangeTombstones() = default;
  // Those with begin at or after end say nothing. O(n log n), and what the result holds.
  static RangeTombstones Fragment(const Order& order, std::vector<RangeTombstone> tombstones, const Stripes& stripes,
                                  Keys keys);

  // Fragments one by one, as a file has them. `keep` keeps the keys alive.
  class Builder;

  // False: Fragment met borders out of order, as the comparator contradicts itself, and left some out: write no table from them. True is no
  // proof: a comparator that changes its order as a whole, or calls different keys the same, is not noticed here.
  bool is_complete() const { return is_complete_; }
  bool empty() const { return fragments_.empty(); }
  size_t size() const { return fragments_.size(); }        // fragments
  size_t tombstones() const { return sequences_.size(); }  // sequences of all fragments
  std::string_view begin(size_t i) const { return fragments_[i].begin; }
  std::string_view end(size_t i) const { return fragments_[i].end; }
  std::span<const Sequence> sequences(size_t i) const {
    const size_t last = i + 1 < size() ? fragments_[i + 1].first_sequence : sequences_.size();
    return {sequences_.data() + fragments_[i].first_sequence, last - fragments_[i].first_sequence};
  }
  Sequence oldest_sequence() const { return oldest_; }  // REQUIRES: not empty
  Sequence newest_sequence() const { return newest_; }
  size_t memory_bytes() const;

  // Index of the first fragment that ends after `key`; size() if there is none.
  size_t FindIndex(const Order& order, std::string_view key) const;
  // As a reader at `sequence` sees it.
  Mask Find(const Order& order, std::string_view key, Sequence sequence) const {
    return FindAt(order, FindIndex(order, key), key, sequence);
  }
  // The same for who goes from key to key: *hint is the index found the last time, 0 at first. A search is made only if the
  // key is not near it.
  Mask FindNear(const Order& order, std::string_view key, Sequence sequence, size_t* hint) const;
  // The same without the neighbours: 0, or the newest sequence over `key` up to `sequence`.
  Sequence MaskingSequence(const Order& order, std::string_view key, Sequence sequence) const;

  // What of them lies in [lower, upper), clipped, appended to *out as views.
  void AppendTo(const Order& order, OptionalKey lower, OptionalKey upper, std::vector<RangeTombstone>* out) const;

 private:
  struct Fragmented {
    std::string_view begin;
    std::string_view end;
    uint32_t first_sequence = 0;
    uint32_t group_first = 0;  // the fragments of its group: [group_first, group_end)
    uint32_t group_end = 0;
  };

  void FormGroups(const Order& order);
  bool IsIndexOf(const Order& order, size_t i, std::string_view key) const;
  Mask FindAt(const Order& order, size_t i, std::string_view key, Sequence sequence) const;
  Sequence NewestUpTo(size_t i, Sequence sequence) const;
  void FindGroup(const Order& order, size_t i, Sequence sequence, Mask* cover) const;

  std::vector<uint64_t> end_prefixes_;  // Order::Prefix of each fragment's end: where a search looks first
  std::vector<Fragmented> fragments_;
  std::vector<Sequence> sequences_;
  Sequence oldest_ = kSequenceMax;
  Sequence newest_ = 0;
  std::shared_ptr<const void> keep_;
  size_t kept_bytes_ = 0;
  bool is_complete_ = true;
};

class RangeTombstones::Builder {
 public:
  // Fragments follow each other in key order; their sequences descend and are not empty. Neighbours that say the same
  // become one. False, and nothing is added, if a fragment breaks these rules.
  [[nodiscard]] bool Add(const Order& order, std::string_view begin, std::string_view end,
                         std::span<const Sequence> sequences);
  RangeTombstones Finish(const Order& order, std::shared_ptr<const void> keep, size_t kept_bytes);

 private:
  RangeTombstones built_;
};

}  // namespace mergedb::kv
