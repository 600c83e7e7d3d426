// A table's cursor for readers: both directions, block by block through the cache.
//
// Blocks that follow one another and are not in the cache are a scan: from the third on they come out of larger and
// larger reads (BlockWindow), and do not enter the cache, where they would push out what is read again.
// A block that cannot be read ends the walk, unless ReadControl::skipped asks to pass over it.
#pragma once

#include <memory>

#include "kv/iterator.h"
#include "table/block_source.h"

namespace mergedb::table {

// `source` outlives the iterator, which keeps `keep` for that; null: its caller sees to it.
std::unique_ptr<kv::Iterator> NewIterator(const BlockSource& source, const ReadControl& control,
                                          std::shared_ptr<const Reader> keep);

}  // namespace mergedb::table
