// The range tombstones of a table, or of a part of a memtable, cut at each other's borders into fragments.
// Fragments do not overlap and are in key order. Each has the sequences of the tombstones that contain it,
// newest first. Immutable.
//
//   tombstones   [a . . . . . m)#5          fragments   [a . d)  [d . g)  [g . m)  [m . p)      [s . t)
//                       [d . . g)#9                        5       9 5       5        7            2
//                                [m . p)#7              group   |<------------------------->|   |<---->|
//                                     [s . t)#2
//
// A tombstone masks the older versions of the keys in its range, for the readers that see the tombstone. WHY
// fragments: one binary search finds the tombstone that masks a key, however many overlap. The answer holds
// up to the next border, so a scan asks once per border, not once per key. Fragments without a gap between
// them form a group, which a scan skips in one jump.
//
// A fragment keeps only the newest sequence of each stripe (snapshot_stripes.h), so that tombstones on top of each
// other do not multiply: without snapshots, n tombstones make at most 2n - 1 fragments with one sequence each.
//
// Tests: tests/unit/kv/range_tombstones_test.cc. THREADS: any, after construction.
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
  std::string_view end;  // exclusive
  Sequence sequence = 0;
};

using OptionalKey = std::optional<std::string_view>;

// The effect of range tombstones on a key and its neighbours. The views are those of the tombstones.
struct Mask {
  Sequence sequence = 0;  // of the newest tombstone that contains the key and that the reader sees; 0: none
  // The same holds for every key in [lower, upper); nullopt means no known bound.
  OptionalKey lower = {};
  OptionalKey upper = {};
  // If `sequence` > 0: each key in [from, until) lies in some tombstone that the reader sees.
  std::string_view from = {};
  std::string_view until = {};
};
// The effect of two sources on one key.
Mask Combined(const Order& order, const Mask& a, const Mask& b);
// The tighter one of two bounds; nullopt is no bound.
OptionalKey LaterOf(const Order& order, OptionalKey a, OptionalKey b);
OptionalKey EarlierOf(const Order& order, OptionalKey a, OptionalKey b);

class RangeTombstones {
 public:
  enum class Keys : uint8_t { kViews, kCopies };  // the owner of the keys: the caller, or the result

  RangeTombstones() = default;
  // Ignores tombstones that do not begin before their end. O(n log n), plus the size of the result.
  static RangeTombstones Fragment(const Order& order, std::vector<RangeTombstone> tombstones, const Stripes& stripes,
                                  Keys keys);

  // Takes fragments one by one, as a file has them. `keep` keeps the keys alive.
  class Builder;

  // False: the comparator contradicts itself, so Fragment met borders out of order and left fragments out.
  // Write no table from them. True is no proof: a comparator that changes its order as a whole, or that calls
  // different keys equal, is not detected here.
  bool is_complete() const { return is_complete_; }
  bool empty() const { return fragments_.empty(); }
  size_t size() const { return fragments_.size(); }        // number of fragments
  size_t tombstones() const { return sequences_.size(); }  // number of sequences of all fragments
  std::string_view begin(size_t i) const { return fragments_[i].begin; }
  std::string_view end(size_t i) const { return fragments_[i].end; }
  std::span<const Sequence> sequences(size_t i) const {
    const size_t last = i + 1 < size() ? fragments_[i + 1].first_sequence : sequences_.size();
    return {sequences_.data() + fragments_[i].first_sequence, last - fragments_[i].first_sequence};
  }
  Sequence oldest_sequence() const { return oldest_; }  // REQUIRES: not empty
  Sequence newest_sequence() const { return newest_; }
  size_t memory_bytes() const;

  // The index of the first fragment that ends after `key`; size() if there is none.
  size_t FindIndex(const Order& order, std::string_view key) const;
  // The mask of `key` for a reader at `sequence`.
  Mask Find(const Order& order, std::string_view key, Sequence sequence) const {
    return FindAt(order, FindIndex(order, key), key, sequence);
  }
  // The same for a reader that goes from key to key. *hint is the index found last, 0 at first. FindNear
  // makes a search only if the key is not near *hint.
  Mask FindNear(const Order& order, std::string_view key, Sequence sequence, size_t* hint) const;
  // Only the sequence of the mask: the newest sequence of at most `sequence` over `key`; 0 if there is none.
  Sequence MaskingSequence(const Order& order, std::string_view key, Sequence sequence) const;

  // Appends the tombstones in [lower, upper), clipped to it, to *out as views.
  void AppendTo(const Order& order, OptionalKey lower, OptionalKey upper, std::vector<RangeTombstone>* out) const;

 private:
  struct Fragmented {
    std::string_view begin;
    std::string_view end;
    uint32_t first_sequence = 0;
    uint32_t group_first = 0;  // its group has the fragments [group_first, group_end)
    uint32_t group_end = 0;
  };

  void FormGroups(const Order& order);
  bool IsIndexOf(const Order& order, size_t i, std::string_view key) const;
  Mask FindAt(const Order& order, size_t i, std::string_view key, Sequence sequence) const;
  Sequence NewestUpTo(size_t i, Sequence sequence) const;
  void FindGroup(const Order& order, size_t i, Sequence sequence, Mask* mask) const;

  std::vector<uint64_t> end_prefixes_;  // Order::Prefix of each fragment's end; a search compares these first
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
  // Fragments must come in key order. Their sequences must descend and must not be empty. Neighbours with the
  // same sequences become one fragment. If a fragment breaks these rules, Add returns false and adds nothing.
  [[nodiscard]] bool Add(const Order& order, std::string_view begin, std::string_view end,
                         std::span<const Sequence> sequences);
  RangeTombstones Finish(const Order& order, std::shared_ptr<const void> keep, size_t kept_bytes);

 private:
  RangeTombstones built_;
};

}  // namespace mergedb::kv
