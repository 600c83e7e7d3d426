// Shows an iterator as of a sequence: newer versions are left out. Both directions.
//
// Most readers do not need this filter: the user iterator (user_iterator.h) leaves out newer versions itself.
// An optimistic transaction that reads its own writes needs it. Its own writes have larger sequences than the
// whole tree, so its user iterator must show every sequence. The tree is therefore filtered below the merging
// iterator, child by child.
#pragma once

#include <memory>

#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::iterator {

std::unique_ptr<kv::Iterator> NewSnapshotFilter(const kv::Order& order, kv::Sequence sequence,
                                                std::unique_ptr<kv::Iterator> input);

}  // namespace mergedb::iterator
