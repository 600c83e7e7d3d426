// A tree out of tables alone, when no MANIFEST says which of them count and which are newer (docs/decisions/0015-repair.md).
//
//   tables that share no key with another one, and hold nothing dead, stay as they are
//   the others are merged anew, as into the bottom:
//     - entries and range tombstones that are dead by what a later flush or merge says of itself (repair/compacted_inputs.h) are left out
//     - so are entries that a range tombstone of a larger sequence hides; one without a sequence is older than any that lives
//     - of those of one key with sequence 0, the one of the youngest table counts
//     - operands are folded onto what they stand on; where their operator is not to be had they stay operands
//
// All of it becomes one run, whose tables claim what they took in: should the repair be done again, it counts once.
// Memory: a read buffer for each table that overlaps at one key, and the range tombstones of all that hang together.
//
// THREADS: one at a time. Tests: tests/unit/repair/rebuild_test.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compaction/outputs.h"
#include "mergedb/options.h"
#include "repair/compacted_inputs.h"

namespace mergedb::repair {

struct Rebuilt {
  std::vector<format::FileMetaPtr> kept;    // as they were
  std::vector<format::FileMetaPtr> merged;  // into `made`
  std::vector<format::FileMetaPtr> made;
  uint64_t entries_dead = 0;  // left out: dead, or hidden by range tombstones
};

// Which tables stay, and which would be merged. Pure.
Rebuilt PlanRebuild(const kv::Order& order, const std::vector<LooseTable>& tables);
// Do it. `advance` is called now and then; its error ends the call. The factory's operators fold.
Result<Rebuilt> Rebuild(const compaction::TableFactory& factory, const std::vector<LooseTable>& tables,
                        Compression compression, const std::function<Status()>& advance);

}  // namespace mergedb::repair
