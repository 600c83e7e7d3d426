// K sorted iterators as one: a loser tree on (prefix, key, tag), both directions.
//
// Children are given newest first. Equal entries (same key, same tag: a change replayed into two places) come out next
// to each other, the newer child's first.
#pragma once

#include <memory>
#include <vector>

#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::iterator {

// Takes the children. `order` is copied.
std::unique_ptr<kv::Iterator> NewMergingIterator(const kv::Order& order,
                                                 std::vector<std::unique_ptr<kv::Iterator>> children);

// A merge that can move its older children on by themselves, for who knows that they have nothing to show in between.
class Merging : public kv::Iterator {
 public:
  // Of the children from index `first` on, those that stand before `key` move to it, or after it. REQUIRES: the last move
  // was not Prev nor SeekToLast.
  virtual void SkipForward(size_t first, std::string_view key) = 0;
  // Those that stand at `key` or after it move before it. REQUIRES: the last move was Prev or SeekToLast.
  virtual void SkipBackward(size_t first, std::string_view key) = 0;
};
// REQUIRES: a child.
std::unique_ptr<Merging> NewSkippingMerge(const kv::Order& order, std::vector<std::unique_ptr<kv::Iterator>> children);

}  // namespace mergedb::iterator
