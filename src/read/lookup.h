// A point read through a SuperVersion: the active memtable, the immutable memtables, then each sorted run,
// newest first.
//
// The first version that the sequence can see is the newest one (I1), so the search ends there. If that
// version is an operand, the search goes on to older versions until it meets the base, and folds the operands
// onto it. If a key has more operands than a chain takes, an iterator reads it instead. A range tombstone over
// the key also ends the search: it masks everything older. If the version is a blob index, the value is read
// from its blob file.
//
// The filters of up to 16 runs are probed in one batch, with their cache lines prefetched: twelve probes one
// after the other cost 800 ns, prefetched together 343 ns.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mapped_faults.h"
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
  size_t operands_max = kv::kChainOperandsMax;                 // of one key at a time in memory; fewer in tests
  const base::MappedFaults* faults = &base::no_mapped_faults;  // of the files that `tables` and `values` map
};

// For a caller that can use a value in place: if the value lies in a memtable or in a mapped file, `value` is set and
// `tables` keeps the memtable or the file.
struct InPlace {
  PinnedTables& tables;
  std::optional<std::string_view> value = {};
};

// Returns OK and *value (or in_place->value), NotFound, or an error; MergeFailed concerns this key alone. `newer`:
// operands of an uncommitted transaction, above everything in the SuperVersion, newest first. THREADS: any.
Status Lookup(const LookupContext& context, const SuperVersion& super_version, std::string_view key,
              kv::Sequence sequence, const table::ReadControl& control, std::string* value,
              std::span<const std::string_view> newer = {}, InPlace* in_place = nullptr);

struct ManyKeys {
  std::span<const std::string_view> keys;
  kv::Sequence sequence;
  std::span<std::string> values;  // as many as keys
  std::span<Status> statuses;     // as many as keys
};

// As Lookup for each key, with the device's reads of up to 64 keys in flight (env/deferral.h): a search that misses the
// block cache tells the file system what it will read and waits until its turn comes again. THREADS: any.
void MultiLookup(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control,
                 const ManyKeys& many);

}  // namespace mergedb::read
