// A sealed memtable -> one table. The same pipe as a job's, with a memtable for input and nothing to pick.
#pragma once

#include <functional>
#include <vector>

#include "compaction/outputs.h"
#include "memtable/memtable.h"
#include "mergedb/result.h"
#include "stream/collapsing.h"

namespace mergedb::compaction {

// `snapshots`: what live snapshots, and readers of the newest state, can see; ascending. Null if the memtable is empty.
// `covered_bytes` as for Outputs.
Result<format::FileMetaPtr> Flush(const TableFactory& factory, memtable::Memtable& sealed,
                                  std::vector<kv::Sequence> snapshots, Compression compression,
                                  stream::CollapseCounts* counts,
                                  std::function<uint64_t(const kv::RangeTombstones&)> covered_bytes = {});

}  // namespace mergedb::compaction
