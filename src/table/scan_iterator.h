// A table's cursor for compactions: forward only, megabytes at a time past all caches, every checksum verified.
//
// Merging reads each byte once; through the page cache that would cost a copy and push out what readers need. A small table
// is one buffered read: it was written buffered, and opening it a second time would cost more.
#pragma once

#include <memory>

#include "kv/iterator.h"
#include "table/block_source.h"

namespace mergedb::table {

// `source` outlives the iterator. SeekToLast and Prev are bugs.
std::unique_ptr<kv::Iterator> NewScanIterator(const BlockSource& source);

}  // namespace mergedb::table
