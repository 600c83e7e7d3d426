// Rebuilds the tree from tables alone, if no MANIFEST says which tables are live and which are newer
// (docs/decisions/0015-repair.md).
//
//  - A table that shares no key with another table, and has no obsolete entries, stays as it is.
//  - All other tables are compacted again, as in a bottommost compaction:
//    - Entries and range tombstones that a later flush or compaction took as input are dropped
//      (repair/compacted_inputs.h).
//    - Entries that a range tombstone of a larger sequence masks are dropped. An entry with sequence 0 is older than
//      any live tombstone.
//    - Of several entries of one key with sequence 0, the entry of the youngest table counts.
//    - Operands are folded into their base. Operands whose operator is missing stay operands.
//
// The result is one sorted run. Its tables record compacted ranges for their inputs, so that a repeated
// repair counts each input once.
// MEMORY: a read buffer for each table that overlaps at one key, and the range tombstones of a group of
// overlapping tables.
//
// THREADS: one at a time. Tests: tests/unit/repair/rebuild_test.cc.
#pragma once

#include <functional>
#include <vector>

#include "compaction/outputs.h"
#include "mergedb/options.h"
#include "repair/compacted_inputs.h"

namespace mergedb::repair {

struct Rebuilt {
  std::vector<format::FileMetaPtr> kept;    // tables that stay as they are
  std::vector<format::FileMetaPtr> merged;  // inputs of `made`
  std::vector<format::FileMetaPtr> made;
  uint64_t entries_dropped = 0;  // entries dropped: obsolete, or masked by range tombstones
};

// Decides which tables stay and which are compacted. Pure.
Rebuilt PlanRebuild(const kv::Order& order, const std::vector<LooseTable>& tables);
// Rebuilds. `advance` is called from time to time; its error ends the call. The factory's operators fold operands.
Result<Rebuilt> Rebuild(const compaction::TableFactory& factory, const std::vector<LooseTable>& tables,
                        Compression compression, const std::function<Status()>& advance);

}  // namespace mergedb::repair
