// What an iterator held as of a sequence: versions newer than it are left out. Both directions.
//
// Readers have no need of it, since user_iterator.h does the same at the end of the pipe. A transaction that reads its own writes
// has: they are newer than every version of the tree, also than those that it must not see. So its tree is read through this,
// child by child, and the end of the pipe sees everything that is left.
#pragma once

#include <memory>

#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::iterator {

std::unique_ptr<kv::Iterator> NewSnapshotFilter(const kv::Order& order, kv::Sequence sequence,
                                                std::unique_ptr<kv::Iterator> input);

}  // namespace mergedb::iterator
