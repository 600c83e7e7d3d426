// The range tombstones that a reader meets, of a memtable or of a run. A run's table is opened for its
// tombstones when the scan reaches its virtual table; the tombstones count within the virtual table's bounds.
// If a table cannot be opened, Find returns the error. With `skipped`, which outlives the result, Find adds
// the error there and ignores the table's tombstones.
#pragma once

#include <memory>

#include "iterator/masking_iterator.h"
#include "kv/order.h"
#include "kv/skipped_errors.h"
#include "memtable/memtable.h"
#include "table/cache.h"
#include "version/run.h"

namespace mergedb::read {

// `memtable` outlives the result.
std::unique_ptr<iterator::MaskSource> NewMemtableMasks(const memtable::Memtable& memtable, kv::Sequence sequence);
// Keeps `run` alive.
std::unique_ptr<iterator::MaskSource> NewRunMasks(const kv::Order& order, table::Cache& tables, version::RunPtr run,
                                                  kv::Sequence sequence, kv::SkippedErrors* skipped = nullptr);

}  // namespace mergedb::read
