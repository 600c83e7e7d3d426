// LevelDB's tables as iterators of mergedb, each read once from the smallest key to the largest.
//
//   one table                                    ─►  its entries, each after the one before, or Corruption
//   a sorted run: tables without a common key    ─►  one iterator, which has only one of the tables open at a time
//
// WHY sorted runs: a merging iterator opens one file for each child, and a database has thousands of tables in seven
// levels. NewTableIterators uses the bounds of the tables only, so it is correct in every level, also in level 0 and in
// the level 0 of a repaired database.
//
// An unreadable block or table is an error that ends the iterator. If `on_loss` is set, it is a reported loss
// instead, and the iterator continues behind it.
// THREADS: one at a time. Tests: tests/unit/leveldb/import/table_walk_test.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kv/iterator.h"
#include "kv/order.h"
#include "leveldb/import/directory.h"
#include "mergedb/env.h"

namespace mergedb::leveldb_import {

// The environment of the iterators. It outlives them.
struct Walking {
  FileSystem* file_system = nullptr;
  std::string directory;
  kv::Order order;
  // Receives damage that an iterator passes over. Null: damage is an error. `offset` and `bytes` refer to the
  // file; 0 bytes: the length is not known.
  std::function<void(const std::string& name, uint64_t offset, uint64_t bytes, std::string_view what)> on_loss = {};
  // Receives the number of bytes read. If it returns an error, the iterator ends with this error. May be null.
  std::function<Status(uint64_t bytes)> advance = {};
};

// As few iterators as the overlaps within each level allow; those of level 0 come first. Reads the bounds of
// tables that have no bounds. `walking` and `tables` outlive the iterators.
Result<std::vector<std::unique_ptr<kv::ForwardIterator>>> NewTableIterators(const Walking& walking,
                                                                            const std::vector<SourceTable>& tables);

}  // namespace mergedb::leveldb_import
