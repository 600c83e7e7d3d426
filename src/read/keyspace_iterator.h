// A cursor over one keyspace, from one over the tree (kv/key_map.h). The tree's iterator has the keyspace's bounds already.
//
//   named     all keys begin with the keyspace's prefix: taken off, and put before targets
//   default   the tree   a b c | named keyspaces | moved keys | x y z
//                           moves that enter the region of the named ones go on behind it
#pragma once

#include <memory>

#include "kv/key_map.h"
#include "mergedb/iterator.h"
#include "read/db_iterator.h"

namespace mergedb::read {

// The same options, with bounds in the place of a prefix, for the tree. Its iterator is then wrapped by the next function.
IteratorOptions ToTreeOptions(const kv::KeyMap& map, const IteratorOptions& options);
// `map` must live as long as what `options.keyspace` names is used; `tree` is of ToTreeOptions.
std::unique_ptr<Iterator> NewKeyspaceIterator(const kv::KeyMap& map, const IteratorOptions& options,
                                              std::unique_ptr<WalkableIterator> tree);
// The same of the default one.
std::unique_ptr<WalkableIterator> NewDefaultIterator(const kv::KeyMap& map, const IteratorOptions& options,
                                                     std::unique_ptr<WalkableIterator> tree);

}  // namespace mergedb::read
