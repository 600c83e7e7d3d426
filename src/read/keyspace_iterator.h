// An iterator over one keyspace, made from an iterator over the tree (kv/key_map.h) that has the keyspace's
// bounds already.
//
//   named     all keys begin with the keyspace's prefix: removed from keys, added to seek targets
//   default   the tree   a b c | named keyspaces | moved keys | x y z
//                           a move that enters the region of the named keyspaces goes on behind it
#pragma once

#include <memory>

#include "kv/key_map.h"
#include "mergedb/iterator.h"
#include "read/db_iterator.h"

namespace mergedb::read {

// The options for the tree's iterator: bounds of tree keys in place of the prefix. The functions below wrap
// that iterator.
IteratorOptions ToTreeOptions(const kv::KeyMap& map, const IteratorOptions& options);
// `tree` was made with the options of ToTreeOptions. `map` outlives the result.
std::unique_ptr<Iterator> NewKeyspaceIterator(const kv::KeyMap& map, const IteratorOptions& options,
                                              std::unique_ptr<InternalAccessIterator> tree);
// The same, for the default keyspace only.
std::unique_ptr<InternalAccessIterator> NewDefaultIterator(const kv::KeyMap& map, const IteratorOptions& options,
                                                           std::unique_ptr<InternalAccessIterator> tree);

}  // namespace mergedb::read
