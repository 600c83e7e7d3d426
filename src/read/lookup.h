// A point read through a SuperVersion: the active memtable, the sealed ones, then each run, newest first. The first version found
// that the sequence can see is the newest one (I1), so the search ends there; if it is an operand, the search goes on down to
// the version that says what the value was before, and folds. It ends, too, at a range tombstone over the key: all that is
// older, here or further down, is gone.
//
// If what is found is a reference, the value is read from its value file.
//
// Filters of all runs are asked in one batch, their cache lines fetched ahead: twelve probes one after the other cost 800 ns,
// fetched together 343 (facts/performance.md section 0).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "blob/cache.h"
#include "kv/fold.h"
#include "kv/order.h"
#include "read/pinned_tables.h"
#include "read/super_version.h"
#include "table/cache.h"

namespace mergedb::read {

struct LookupContext {
  const kv::Order& order;
  table::Cache& tables;
  blob::Cache& values;
  const kv::ProgramOperators* operators = nullptr;
};

// For who can use a value where it lies: `value` is set, and the table kept, if that is in a mapped table.
struct InPlace {
  PinnedTables& tables;
  std::optional<std::string_view> value = {};
};

// OK and *value (or in_place->value), NotFound, or an error (MergeFailed: of this key alone). `newer`: operands above everything in the SuperVersion, newest
// first, of a transaction that has not committed. THREADS: any.
Status Lookup(const LookupContext& context, const SuperVersion& super_version, std::string_view key,
              kv::Sequence sequence, const table::ReadControl& control, std::string* value,
              std::span<const std::string_view> newer = {}, InPlace* in_place = nullptr);

}  // namespace mergedb::read
