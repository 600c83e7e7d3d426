// Which tables form the tree: immutable runs, newest first; and the value files that the tables refer to. All sums are taken
// once, when the Version is made.
//
//   runs          000012[a..m] 000015[n..z]            000012 refers to 3,000 bytes of 000009 and all of 000011
//                 000008[a..z]                         000008 refers to 1,000 bytes of 000009
//   value files   000009: 4,000 of 10,000 bytes live   000011: all live
//
// Garbage is not counted, it follows: what a value file holds, less what tables refer to. So no merge, crash or lagging
// MANIFEST can get it wrong, and a value file that no table refers to is not part of the Version. While a table is shown in
// part, the other part's references are not told apart and count as live: too much for a while, never too little.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "format/table_layout.h"
#include "version/run.h"

namespace mergedb::version {

struct BlobFile {
  format::BlobFilePtr file;
  uint64_t live_bytes = 0;  // of records that tables refer to, at most the file's

  uint64_t garbage_bytes() const { return file->record_bytes - live_bytes; }
};

class Version {
 public:
  Version() = default;
  // `blob_files`: by number; of those, the ones that the runs refer to are kept.
  explicit Version(std::vector<RunPtr> runs, const std::vector<format::BlobFilePtr>& blob_files = {});

  const std::vector<RunPtr>& runs() const { return runs_; }  // newest first
  RunPtr FindRun(kv::Position position) const;               // null if none
  uint64_t file_count() const { return weight_.files; }      // of files shown, each once
  uint64_t bytes() const { return weight_.bytes; }           // of all of them
  uint64_t entries() const { return weight_.entries; }
  uint64_t tombstones() const { return weight_.tombstones; }
  uint64_t range_tombstones() const { return weight_.range_tombstones; }
  uint64_t masked_bytes() const { return weight_.masked_bytes; }
  const std::vector<BlobFile>& blob_files() const { return blob_files_; }  // by number
  const format::BlobFilePtr& FindBlobFile(kv::FileNumber number) const;    // null if none; lives as long as this does
  uint64_t blob_file_bytes() const { return blob_file_bytes_; }            // of those files on disk
  uint64_t record_bytes() const { return record_bytes_; }                  // of all records in them
  uint64_t value_bytes() const { return live_bytes_; }                     // of records that tables refer to
  uint64_t garbage_bytes() const { return record_bytes_ - live_bytes_; }
  // A value file that a table refers to and that was not given; 0 if there is none. See invariant I7.
  kv::FileNumber missing_blob_file() const { return missing_; }
  // Tables and value files.
  uint64_t bytes_on_disk() const { return weight_.bytes + blob_file_bytes_; }
  std::set<kv::FileNumber> files() const;  // tables
  // Files by number, each once.
  std::vector<format::FileMetaPtr> file_metas() const;
  // "position 9 level 0: 000012[a..f) 000015[f..m]", one line a run; for people and tests.
  std::string ToString() const;

 private:
  void TakeBlobFiles(const std::vector<format::ValueShare>& shares, const std::vector<format::BlobFilePtr>& blob_files);

  std::vector<RunPtr> runs_;
  Weight weight_;
  std::vector<BlobFile> blob_files_;
  std::vector<kv::FileNumber> value_numbers_;  // theirs: every reference that is followed is looked up here
  uint64_t blob_file_bytes_ = 0;
  uint64_t record_bytes_ = 0;
  uint64_t live_bytes_ = 0;
  kv::FileNumber missing_{};
};
using VersionPtr = std::shared_ptr<const Version>;

// A merge of the runs from `newest` to `oldest`, in `bounds`, sees every version there with these sequences: other runs, and what is
// not in tables yet, have none of them. Piece by piece, as other runs have tables there; from 0 on only if `oldest` is the oldest run;
// nothing where the sequences of runs above and below mix. All changes up to `flushed` are in tables.
std::vector<format::CompactedRange> CompactedRangesBy(const kv::Order& order, const Version& version,
                                                      kv::Position newest, kv::Position oldest,
                                                      const format::Bounds& bounds, kv::Sequence flushed);

}  // namespace mergedb::version
