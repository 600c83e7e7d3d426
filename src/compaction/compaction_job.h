// A CompactionPick being carried out, in steps that a scheduler may put between those of other jobs.
//
//   sources       [a . . . . . . . . . . z]        merged so far: [a, h)
//                 [a . . . . . . . . . . z]
//   target (old)  [a . . . . . . . . . . z]
//                  ------->h                       Release at h: cut [a, h) from every source, add the outputs to the target
//
// Each release is an VersionEdit that is right by itself: below the cursor only the outputs show, from it on only the inputs. So
// inputs are let go of as the job goes, and no reader, and no crash, ever meets an older version than before.
//
// A plan may name value files to clean. Values that lie there are then read where the merge meets their references, and handed
// on as if they had been put inline: the outputs put them in a new value file, in key order.
//
// THREADS: one step at a time; different jobs at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob/scanner.h"
#include "compaction/outputs.h"
#include "iterator/compaction_iterator.h"
#include "kv/iterator.h"
#include "picker/compaction_pick.h"
#include "table/cache.h"
#include "version/version.h"

namespace mergedb::compaction {

struct CompactionJobContext {
  const TableFactory& factory;
  table::Cache& tables;
  blob::Cache* values = nullptr;  // for plans that clean
  Clock* clock = nullptr;
  CompressionByTier compression;
  // What live snapshots and readers of the newest state can see, ascending; asked once the inputs are fixed.
  std::function<std::vector<kv::Sequence>()> snapshots;
  // Show the edit to readers.
  std::function<Status(const format::VersionEdit&)> install;
  // Estimates FileMeta::masked_bytes of an output that goes into the run at this position. Null: 0.
  std::function<uint64_t(kv::Position, const kv::RangeTombstones&)> masked_bytes = {};
  // In the newest Version; null if none. With `values`, for operands on large values; null: these stay as they are.
  std::function<format::BlobFilePtr(kv::FileNumber)> find_blob_file = {};
  uint64_t release_bytes = uint64_t{64} << 20;    // outputs between two releases
  uint64_t warm_bytes_max = uint64_t{256} << 20;  // of the page cache, for value files that are cleaned
  kv::Sequence flushed_sequence = 0;              // all changes up to this one are in the version's tables
};

class CompactionJob {
 public:
  CompactionJob(const CompactionJobContext& context, picker::CompactionPick pick, const version::VersionPtr& version);
  ~CompactionJob();

  const picker::CompactionPick& pick() const { return pick_; }
  // Work for about `nanos`. True: done. After an error the job is of no more use; what it released stays.
  Result<bool> Step(uint64_t nanos);

  struct Counts {
    uint64_t bytes_read = 0;
    uint64_t bytes_written = 0;
    uint64_t bytes_unread = 0;       // of tables that lay under range tombstones as a whole
    uint64_t value_bytes_moved = 0;  // from cleaned value files; part of both
    iterator::CompactionIteratorCounts collapse;
  };
  const Counts& counts() const { return counts_; }

 private:
  Status Start();
  std::deque<version::VirtualTable> TakeVirtualTables(const kv::Stripes& stripes, const version::Run& run);
  Status StartCleaning();
  Status Move();
  Status Add(const kv::Entry& entry);
  Status AddReference(const kv::Entry& entry);
  // All that lies below `cursor` (null: all) is in finished outputs: show them instead of the inputs.
  Status Release(const std::string* cursor);

  const CompactionJobContext context_;
  const picker::CompactionPick pick_;
  // The inputs, until the job starts. WHY not the Version: it would pin every table that other jobs replace meanwhile.
  std::vector<version::RunPtr> sources_;
  std::vector<format::CompactedRange> compacted_ranges_;  // what the outputs say
  Counts counts_;

  kv::RangeTombstones ranges_;                    // of the inputs
  std::unique_ptr<kv::ValueSource> base_values_;  // before the input, which asks it
  std::unique_ptr<Outputs> outputs_;
  std::unique_ptr<kv::Iterator> input_;
  format::Bounds rest_;                       // of the plan's bounds: not yet released
  kv::Sequence largest_sequence_ = 0;         // of the inputs, as the tree has it
  std::vector<format::BlobFilePtr> cleaned_;  // by number; held until the job ends
  std::unique_ptr<blob::Scanner> scanner_;
};

}  // namespace mergedb::compaction
