// A tree out of tables alone, when no MANIFEST says which of them count and which are newer (docs/decisions/0015-repair.md).
//
//   tables that share no key with another one, and hold nothing dead, stay as they are
//   the others are merged anew: of all their entries
//     - those that are dead by what a later merge into the bottom says of itself (format::Settled) are left out
//     - of those of one key with sequence 0, the one of the largest table number stays
//     - all else is kept, newest first: readers find the newest, and what it hides goes with the next merges
//
// All of it becomes one run. Memory: a read buffer for each table that overlaps at one key.
//
// THREADS: one at a time. Tests: tests/unit/care/rebuild_test.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compaction/outputs.h"
#include "format/table_layout.h"
#include "mergedb/options.h"

namespace mergedb::care {

struct LooseTable {
  format::FileMetaPtr meta;  // whole
  std::optional<format::Settled> settled = {};
};

struct Rebuilt {
  std::vector<format::FileMetaPtr> kept;     // as they were
  std::vector<format::FileMetaPtr> merged;   // into `made`
  std::vector<format::FileMetaPtr> made;
  uint64_t entries_dead = 0;                 // left out
};

// Which tables stay, and which would be merged. Pure.
Rebuilt PlanRebuild(const kv::Order& order, const std::vector<LooseTable>& tables);
// Do it. `advance` is called now and then; its error ends the call.
Result<Rebuilt> Rebuild(const compaction::TableFactory& factory, const std::vector<LooseTable>& tables, Compression compression,
                        const std::function<Status()>& advance);

}  // namespace mergedb::care
