// The range tombstones of a compaction's sources, gathered before it starts and cut at each other's borders.
// They decide which entries to drop and which tables to skip, and some of them go into the outputs.
#pragma once

#include <optional>
#include <vector>

#include "compaction/failed_input.h"
#include "kv/range_tombstones.h"
#include "table/cache.h"
#include "version/run.h"

namespace mergedb::compaction {

// All range tombstones of the sources within `bounds`, as far as the virtual tables show them. If a table cannot be
// opened, `failed` receives it, unless it is null.
Result<kv::RangeTombstones> GatherRangeTombstones(const kv::Order& order, table::Cache& tables,
                                                  const std::vector<version::RunPtr>& sources,
                                                  const format::Bounds& bounds, const kv::Stripes& stripes,
                                                  std::optional<FailedInput>* failed = nullptr);

// The range tombstones for the outputs. At the bottom a range tombstone that every reader sees masks nothing:
// it is dropped.
kv::RangeTombstones PassedOn(const kv::Order& order, const kv::RangeTombstones& gathered, const kv::Stripes& stripes,
                             bool is_bottommost);

// True if the range tombstones mask everything that the virtual table shows, and every reader that sees an
// entry of it sees the masking tombstone as well. The compaction then needs no byte of the table. REQUIRES:
// the virtual table lies within the bounds of the compaction.
bool IsHidden(const kv::Order& order, const kv::RangeTombstones& tombstones, const kv::Stripes& stripes,
              const version::VirtualTable& virtual_table);

}  // namespace mergedb::compaction
