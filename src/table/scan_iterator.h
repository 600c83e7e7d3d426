// A table's iterator for compactions: forward only, reads of 1 MiB past all caches, every checksum verified.
//
// A compaction reads each byte once. Reads through the page cache would cost a copy and evict pages that readers
// need. A small table is one buffered read: it was written buffered, and a second open would cost more.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "format/version_edit.h"
#include "kv/iterator.h"
#include "table/block_source.h"

namespace mergedb::table {

// How far a scan for a compaction goes, and what it says about an error.
struct ScanLimit {
  std::optional<std::string> upper = {};  // the caller needs no key from here on: no block behind it is read
  // Receives, after an error, the keys of the block that could not be read; it outlives the iterator. May be null.
  format::Bounds* unreadable = nullptr;
};

// From `lower` on, if given. `source` must outlive the iterator.
std::unique_ptr<kv::ForwardIterator> NewScanIterator(const BlockSource& source, std::optional<std::string> lower,
                                                     const ScanLimit& limit = {});

// Bounds around all keys of the block, and around few others: a scan with the upper bound `lower` reads the blocks
// before this one, and a scan from `upper` on reads blocks behind it. No upper bound: no key behind the block is
// certain.
format::Bounds KeysOfBlock(const BlockSource& source, uint32_t block);

}  // namespace mergedb::table
