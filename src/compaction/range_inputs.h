// The range tombstones that a job meets: gathered from its sources before it starts, cut at each other's borders. They say
// which entries to leave out, which tables not even to read, and what is left of them for the outputs.
#pragma once

#include <vector>

#include "kv/range_tombstones.h"
#include "table/cache.h"
#include "version/run.h"

namespace mergedb::compaction {

// All of the sources' within `bounds`, as far as their slices show.
Result<kv::RangeTombstones> GatherRangeTombstones(const kv::Order& order, table::Cache& tables,
                                                  const std::vector<version::RunPtr>& sources,
                                                  const format::Bounds& bounds, const kv::Stripes& stripes);

// Those that a merge passes on: at the bottom the ones that every reader sees have nothing left to hide.
kv::RangeTombstones PassedOn(const kv::Order& order, const kv::RangeTombstones& gathered, const kv::Stripes& stripes,
                             bool is_bottom);

// Everything that the slice shows, if it is within `bounds`, lies under tombstones that whoever sees it sees, too: nobody
// needs any of it.
bool IsHidden(const kv::Order& order, const kv::RangeTombstones& tombstones, const kv::Stripes& stripes,
              const version::VirtualTable& virtual_table);

}  // namespace mergedb::compaction
