// K sorted iterators as one: a loser tree on (prefix, key, tag), both directions.
//
// Children are given newest first. Equal entries (same key, same tag: a change replayed into two places) come out next
// to each other, the newer child's first.
#pragma once

#include <memory>
#include <vector>

#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::stream {

// Takes the children. `order` is copied.
std::unique_ptr<kv::Iterator> NewMergingIterator(const kv::Order& order,
                                                 std::vector<std::unique_ptr<kv::Iterator>> children);

}  // namespace mergedb::stream
