// How much older data range tombstones hide: for the policy, which sees tables as descriptions only and must know what a
// merge of them would free.
#pragma once

#include <cstdint>

#include "kv/range_tombstones.h"
#include "table/cache.h"
#include "version/version.h"

namespace mergedb::compaction {

// About the bytes of the tables in the runs of `version` below position `older_than`, and of the values that they refer to, that
// lie under `tombstones`, by the tables' indexes: no block is read. Of many tombstones a sample is looked at.
uint64_t EstimateMaskedBytes(const kv::Order& order, table::Cache& tables, const version::Version& version,
                             kv::Position older_than, const kv::RangeTombstones& tombstones);

}  // namespace mergedb::compaction
