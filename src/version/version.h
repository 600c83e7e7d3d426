// The tables that form the tree: immutable runs, newest first; and the blob files that the tables refer to. The
// constructor computes all sums.
//
//   runs          000012[a..m] 000015[n..z]            000012 refers to 3,000 bytes of 000009 and all of 000011
//                 000008[a..z]                         000008 refers to 1,000 bytes of 000009
//   blob files    000009: 4,000 of 10,000 bytes live   000011: all live
//
// Garbage is derived, not counted: it is the bytes of a blob file less the bytes that tables refer to. So a
// compaction, a crash or a lagging MANIFEST cannot make it wrong. A blob file that no table refers to is not part
// of the Version. If a table is shown in part, all of its references count as live: the live bytes may be too
// large for a while, but never too small.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "format/table_layout.h"
#include "version/run.h"

namespace mergedb::version {

struct BlobFile {
  format::BlobFilePtr file;
  uint64_t live_bytes = 0;  // of records that tables refer to; at most all records of the file

  uint64_t garbage_bytes() const { return file->record_bytes - live_bytes; }
};

class Version {
 public:
  Version() = default;
  // `blob_files` is sorted by number. The Version keeps those that the runs refer to.
  explicit Version(std::vector<RunPtr> runs, const std::vector<format::BlobFilePtr>& blob_files = {});

  const std::vector<RunPtr>& runs() const { return runs_; }  // newest first
  RunPtr FindRun(kv::Position position) const;               // null if there is none
  uint64_t file_count() const { return weight_.files; }      // number of tables, each counted once
  uint64_t bytes() const { return weight_.bytes; }           // of all these tables
  uint64_t entries() const { return weight_.entries; }
  uint64_t tombstones() const { return weight_.tombstones; }
  uint64_t range_tombstones() const { return weight_.range_tombstones; }
  uint64_t masked_bytes() const { return weight_.masked_bytes; }
  const std::vector<BlobFile>& blob_files() const { return blob_files_; }  // by number
  const format::BlobFilePtr& FindBlobFile(kv::FileNumber number) const;    // null if none; lives as long as the Version
  uint64_t blob_file_bytes() const { return blob_file_bytes_; }            // sizes of the blob files
  uint64_t record_bytes() const { return record_bytes_; }                  // of all records in the blob files
  uint64_t value_bytes() const { return live_bytes_; }                     // of the records that tables refer to
  uint64_t garbage_bytes() const { return record_bytes_ - live_bytes_; }
  // A blob file that a table refers to but that the constructor did not receive, or 0. See invariant I7.
  kv::FileNumber missing_blob_file() const { return missing_; }
  // Sizes of tables and blob files together.
  uint64_t bytes_on_disk() const { return weight_.bytes + blob_file_bytes_; }
  std::set<kv::FileNumber> files() const;  // numbers of the tables
  // The tables, sorted by number, each once.
  std::vector<format::FileMetaPtr> file_metas() const;
  // Prints "position 9 level 0: 000012[a..f) 000015[f..m]", one line a run, for people and tests.
  std::string ToString() const;

 private:
  void TakeBlobFiles(const std::vector<format::BlobShare>& shares, const std::vector<format::BlobFilePtr>& blob_files);

  std::vector<RunPtr> runs_;
  Weight weight_;
  std::vector<BlobFile> blob_files_;
  std::vector<kv::FileNumber> value_numbers_;  // of blob_files_; makes the lookup of a blob index fast
  uint64_t blob_file_bytes_ = 0;
  uint64_t record_bytes_ = 0;
  uint64_t live_bytes_ = 0;
  kv::FileNumber missing_{};
};
using VersionPtr = std::shared_ptr<const Version>;

// The ranges that a compaction of the runs from `newest` to `oldest` compacts in `bounds` (see CompactedRange):
// it reads all versions of keys in a range that have one of the range's sequences. Other runs and the memtables
// contain no such version.
//
// The bounds are cut into pieces where other runs' tables begin and end. A range begins at sequence 0 only if
// `oldest` is the oldest run. A piece where the sequences of older and newer runs overlap gives no range.
//
// REQUIRES: all changes up to `flushed` are in tables.
std::vector<format::CompactedRange> CompactedRangesBy(const kv::Order& order, const Version& version,
                                                      kv::Position newest, kv::Position oldest,
                                                      const format::Bounds& bounds, kv::Sequence flushed);

}  // namespace mergedb::version
