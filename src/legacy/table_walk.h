// LevelDB's tables as mergedb's iterators, for one walk from the smallest key to the largest.
//
//   a table  ─►  TableWalk: entries, each after the one before, or Corruption
//   tables that share no key, one after the other  ─►  Lane; only one of them is open at a time
//
// WHY lanes: a merge opens as many files as it has lanes, and a database has thousands of tables in seven levels. Lanes are cut by the bounds
// of the tables alone, so that they hold in every level, level 0 and that of a repaired database included.
//
// Whatever cannot be read is an error that ends the walk, or, where the caller saves what is whole, a loss that it is told of.
// THREADS: one at a time. Tests: tests/legacy/convert_test.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kv/iterator.h"
#include "kv/order.h"
#include "legacy/directory.h"
#include "mergedb/env.h"

namespace mergedb::legacy {

// What a walk needs of its surroundings. Outlives it.
struct Walking {
  FileSystem* file_system = nullptr;
  std::string directory;
  kv::Order order;
  // Told of damage that the walk passes over; null: damage is an error. `offset` and `bytes` are of the file; 0 bytes: not known.
  std::function<void(const std::string& name, uint64_t offset, uint64_t bytes, std::string_view what)> on_loss = {};
  // Told of the bytes read; its error ends the walk. May be null.
  std::function<Status(uint64_t bytes)> advance = {};
};

// As few iterators as the tables' overlaps allow, each over some of them, lanes of lower levels first. Reads the bounds of tables that come
// without. `tables` outlives them.
Result<std::vector<std::unique_ptr<kv::Iterator>>> MakeLanes(const Walking& walking,
                                                             const std::vector<SourceTable>& tables);

}  // namespace mergedb::legacy
