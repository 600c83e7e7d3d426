// Flush: an immutable memtable becomes one table, plus one blob file if it holds enough large values. The
// iterators and outputs are those of a compaction; the input is the memtable, and there is no pick.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compaction/live_sample.h"
#include "compaction/outputs.h"
#include "iterator/compaction_iterator.h"
#include "memtable/memtable.h"
#include "mergedb/result.h"

namespace mergedb::compaction {

struct Flushed {
  format::FileMetaPtr table;                    // null if the memtable held nothing that a reader needs
  std::vector<format::BlobFilePtr> blob_files;  // that the table refers to
  // The key with the most versions that the flush dropped, and their number.
  std::string hot_key = {};
  uint64_t hot_key_versions = 0;

  uint64_t bytes() const {
    uint64_t sum = table == nullptr ? 0 : table->bytes;
    for (const auto& file : blob_files) sum += file->bytes;
    return sum;
  }
};

// `snapshots`: the sequences that live snapshots and readers of the newest state can see, ascending.
// `masked_bytes` as for Outputs, which says why it is a function. `sampled`, if not null, gets each entry.
Result<Flushed> Flush(const TableFactory& factory, memtable::Memtable& immutable, std::vector<kv::Sequence> snapshots,
                      Compression compression, iterator::CompactionIteratorCounts* counts,
                      std::function<uint64_t(const kv::RangeTombstones&)> masked_bytes = {},
                      LiveSample::Changes* sampled = nullptr);

}  // namespace mergedb::compaction
