// What range tombstones a reader meets: of a memtable, of a run. A run's are looked up where the scan stands: a table is
// opened for its tombstones when the scan comes to its slice, and they count as far as the slice shows.
#pragma once

#include <memory>

#include "kv/order.h"
#include "memtable/memtable.h"
#include "stream/uncovered.h"
#include "table/cache.h"
#include "tree/run.h"

namespace mergedb::read {

// The memtable outlives it.
std::unique_ptr<stream::CoverSource> NewMemtableCovers(const memtable::Memtable& memtable, kv::Sequence sequence);
// `run` is kept alive.
std::unique_ptr<stream::CoverSource> NewRunCovers(const kv::Order& order, table::Cache& tables, tree::RunPtr run,
                                                  kv::Sequence sequence);

}  // namespace mergedb::read
