// A table's iterator for compactions: forward only, reads of 1 MiB past all caches, every checksum verified.
//
// A compaction reads each byte once. Reads through the page cache would cost a copy and evict pages that readers
// need. A small table is one buffered read: it was written buffered, and a second open would cost more.
#pragma once

#include <memory>

#include "kv/iterator.h"
#include "table/block_source.h"

namespace mergedb::table {

// `source` must outlive the iterator. SeekToLast and Prev must not be called.
std::unique_ptr<kv::Iterator> NewScanIterator(const BlockSource& source);

}  // namespace mergedb::table
