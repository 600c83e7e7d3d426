// What range tombstones a reader meets: of a memtable, of a run. A run's are looked up where the scan stands: a table is
// opened for its tombstones when the scan comes to its slice, and they count as far as the slice shows. The error of a table
// that cannot be opened is the scan's, or is passed over with the table's tombstones, if `skipped`, which must outlive the
// result, asks for that.
#pragma once

#include <memory>

#include "iterator/masking_iterator.h"
#include "kv/order.h"
#include "kv/skipped_errors.h"
#include "memtable/memtable.h"
#include "table/cache.h"
#include "version/run.h"

namespace mergedb::read {

// The memtable outlives it.
std::unique_ptr<iterator::MaskSource> NewMemtableMasks(const memtable::Memtable& memtable, kv::Sequence sequence);
// `run` is kept alive.
std::unique_ptr<iterator::MaskSource> NewRunMasks(const kv::Order& order, table::Cache& tables, version::RunPtr run,
                                                  kv::Sequence sequence, kv::SkippedErrors* skipped = nullptr);

}  // namespace mergedb::read
