// Merges K sorted iterators into one: a loser tree on (prefix, key, tag), in both directions or forward only.
//
// Children are given newest first. Equal entries (same key, same tag: a write replayed into two places) come
// out next to each other, the newer child's entry first.
#pragma once

#include <memory>
#include <vector>

#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::iterator {

// Takes the children and copies `order`.
std::unique_ptr<kv::Iterator> NewMergingIterator(const kv::Order& order,
                                                 std::vector<std::unique_ptr<kv::Iterator>> children);
std::unique_ptr<kv::ForwardIterator> NewMergingIterator(const kv::Order& order,
                                                        std::vector<std::unique_ptr<kv::ForwardIterator>> children);

// A merging iterator that can move its older children separately. The caller knows that these children have
// nothing to show in between.
class Merging : public kv::Iterator {
 public:
  // Moves each child from index `first` on that stands before `key` to the first entry at or after `key`.
  // REQUIRES: the last move was not Prev nor SeekToLast.
  virtual void SkipForward(size_t first, std::string_view key) = 0;
  // Moves each child from index `first` on that stands at or after `key` to the last entry before `key`.
  // REQUIRES: the last move was Prev or SeekToLast.
  virtual void SkipBackward(size_t first, std::string_view key) = 0;
};
// REQUIRES: at least one child.
std::unique_ptr<Merging> NewSkippingMerge(const kv::Order& order, std::vector<std::unique_ptr<kv::Iterator>> children);

}  // namespace mergedb::iterator
