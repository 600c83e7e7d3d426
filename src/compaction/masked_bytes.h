// Estimates how many older bytes range tombstones mask. The picker needs the estimate, because it sees only
// the metadata of tables and must know how many bytes a compaction would free.
#pragma once

#include <cstdint>

#include "kv/range_tombstones.h"
#include "table/cache.h"
#include "version/version.h"

namespace mergedb::compaction {

// The approximate bytes that lie under `tombstones` in the runs of `version` below position `older_than`: of
// the tables and of the values that they refer to. Uses the index blocks of the tables, no data blocks. If
// there are many tombstones it looks at a sample.
uint64_t EstimateMaskedBytes(const kv::Order& order, table::Cache& tables, const version::Version& version,
                             kv::Position older_than, const kv::RangeTombstones& tombstones);

}  // namespace mergedb::compaction
