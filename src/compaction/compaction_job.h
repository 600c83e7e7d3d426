// A compaction, run in steps. A scheduler may run steps of other jobs in between.
//
//   sources       [a . . . . . . . . . . z]        compacted so far: [a, h)
//                 [a . . . . . . . . . . z]
//   target (old)  [a . . . . . . . . . . z]
//                  ------->h                       Publish at h: cut [a, h) from every source,
//                                                  add the outputs to the target
//
// Each publication installs a VersionEdit that is correct by itself: below the cursor only the outputs show, from
// the cursor on only the inputs. So the job lets go of its inputs as it goes, and no reader and no crash ever meets
// an older version of a key than before.
//
// A compaction pick may name blob files to collect. The job then reads their values where it meets the blob
// indexes: the outputs write them to a new blob file, in key order, or into tables if they are not large any more.
//
// THREADS: one thread at a time calls Step; different jobs run at the same time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob/scanner.h"
#include "compaction/failed_input.h"
#include "compaction/outputs.h"
#include "iterator/compaction_iterator.h"
#include "kv/iterator.h"
#include "picker/compaction_pick.h"
#include "table/cache.h"
#include "version/version.h"

namespace mergedb::compaction {

// The tree that a job compacts. WHY an interface: what makes it (db/state) is on a higher floor.
class CompactedTree {
 public:
  virtual ~CompactedTree() = default;
  // The sequences that live snapshots and readers of the newest state can see, ascending. Called once the inputs are
  // fixed.
  virtual std::vector<kv::Sequence> LiveSequences() = 0;
  // Readers see the edit from then on.
  virtual Status Install(const format::VersionEdit& edit) = 0;
  // Estimates FileMeta::masked_bytes of an output for the run at `target`.
  virtual uint64_t MaskedBytes(kv::Position /*target*/, const kv::RangeTombstones& /*ranges*/) { return 0; }
  // A blob file of the newest version; null if there is none. Called only if the job has blob files.
  virtual format::BlobFilePtr FindBlobFile(kv::FileNumber number) = 0;
};

struct CompactionJobContext {
  const TableFactory& factory;
  CompactedTree& tree;
  table::Cache& tables;
  blob::Cache* values = nullptr;  // for picks that collect blob files, and for operands on large values
  Clock* clock = nullptr;
  CompressionByTier compression;
  uint64_t publication_bytes = uint64_t{64} << 20;  // of outputs between two publications
  kv::Sequence flushed_sequence = 0;                // the tables of the version hold all changes up to this one
};

class CompactionJob {
 public:
  CompactionJob(const CompactionJobContext& context, picker::CompactionPick pick, const version::VersionPtr& version);
  ~CompactionJob();

  const picker::CompactionPick& pick() const { return pick_; }
  // Works for about `nanos`. True: the job is done. After an error the job is unusable; what it published stays valid.
  Result<bool> Step(uint64_t nanos);

  // After an error: the input that could not be read. Nothing if the error has another cause.
  const std::optional<FailedInput>& failed_input() const { return failed_input_; }

  struct Counts {
    uint64_t bytes_read = 0;
    uint64_t bytes_written = 0;
    uint64_t bytes_unread = 0;      // of tables that range tombstones mask as a whole
    uint64_t blob_bytes_moved = 0;  // from collected blob files; part of bytes_read and bytes_written
    iterator::CompactionIteratorCounts input;
  };
  const Counts& counts() const { return counts_; }
  uint64_t entries_expected() const { return entries_expected_; }  // of the inputs; 0 before the first step
  // Of outputs on disk that no version shows yet. REQUIRES: no step runs.
  uint64_t unpublished_bytes() const { return outputs_ == nullptr ? 0 : outputs_->unpublished_bytes(); }

 private:
  Status Start();
  std::deque<version::VirtualTable> TakeVirtualTables(const kv::Stripes& stripes, const version::Run& run);
  Status Move();
  Status Add(const kv::Entry& entry);
  Status AddBlobIndex(const kv::Entry& entry);
  // Finished outputs hold all keys below `cursor` (null: all keys): show them instead of the inputs.
  Status Publish(const std::string* cursor);

  const CompactionJobContext context_;
  const picker::CompactionPick pick_;
  // The inputs, until the job starts: of each source the tables within the bounds of the pick. WHY not the version or
  // its runs: they would pin every table that other jobs replace meanwhile.
  std::vector<version::RunPtr> sources_;
  std::vector<format::CompactedRange> compacted_ranges_;  // recorded in the outputs
  Counts counts_;
  uint64_t entries_expected_ = 0;
  std::optional<FailedInput> failed_input_;  // declared before input_, which writes it

  kv::RangeTombstones ranges_;                    // of the inputs
  std::unique_ptr<kv::ValueSource> base_values_;  // declared before input_, which uses it
  std::unique_ptr<Outputs> outputs_;
  std::unique_ptr<kv::ForwardIterator> input_;
  format::Bounds rest_;                         // the part of the pick's bounds that is not published
  kv::Sequence largest_sequence_ = 0;           // of the inputs, as the version knows it
  std::vector<format::BlobFilePtr> collected_;  // by number; held until the job ends
  std::unique_ptr<blob::Scanner> scanner_;
};

}  // namespace mergedb::compaction
