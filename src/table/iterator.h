// A table's iterator for readers: both directions, block by block through the cache.
//
// Adjacent blocks that are not in the cache are a scan. From the third such block on, blocks come from larger and
// larger reads (BlockWindow). They do not enter the cache, where they would evict blocks that are read again.
// A block that cannot be read ends the iteration, unless ReadControl::skipped asks to skip it.
#pragma once

#include <memory>

#include "kv/iterator.h"
#include "table/block_source.h"

namespace mergedb::table {

class Reader;

// `source` must outlive the iterator. The iterator holds `keep` for this; with a null `keep` the caller ensures it.
std::unique_ptr<kv::Iterator> NewIterator(const BlockSource& source, const ReadControl& control,
                                          std::shared_ptr<const Reader> keep);

}  // namespace mergedb::table
