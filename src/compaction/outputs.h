// Entries in order -> tables, one after the other: a table is cut when it is full or at a border, never between two versions
// of a key. Each table takes the range tombstones between its cuts, clipped there; some tables hold nothing else.
//
//   entries          a b   d e f |           m n | p         cut keys: g, o
//   tombstones         [-----------g- - - k)     |
//   tables           [a . . . . . g)[g . . . k). n] [p]       the first one's largest key is not included
//
// Large values go to a value file on the way, and references to the tables:
//
//   a=small  b=LARGE  c=small | d=LARGE          table 12: a=small  b->14:0  c=small     table 13: d->14:1040
//                                                value file 14: LARGE LARGE
//
// A value file goes on from one table to the next, so tables are of use only when it is finished, too: at a release.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blob/writer.h"
#include "format/file_name.h"
#include "format/table_layout.h"
#include "format/version_edit.h"
#include "kv/order.h"
#include "kv/program_operators.h"
#include "kv/range_tombstones.h"
#include "mergedb/env.h"
#include "table/writer.h"

namespace mergedb::compaction {

// What makes tables: shared by flushes and jobs.
struct TableFactory {
  FileSystem* file_system = nullptr;
  std::string directory;
  const kv::Order& order;
  int bloom_bits_per_key = 10;
  const format::leveldb::FilterPolicy* filter_policy = nullptr;  // as table::WriterOptions
  size_t block_bytes = 4096;
  bool keeps_keys_whole = false;  // as table::WriterOptions
  std::function<kv::FileNumber()> allocate_number;
  std::function<uint64_t()> entropy;
  // Gives the name of the table or value file `number` to a spare file of about `bytes_expected`, to be written over. False, or
  // null: there is none.
  std::function<Result<bool>(format::FileKind kind, kv::FileNumber number, uint64_t bytes_expected)> reuse = {};
  // Make a finished table, or value file, one that is removed when nobody names it any more.
  std::function<format::FileMetaPtr(const format::FileMetaPtr&)> track;
  std::function<format::BlobFilePtr(const format::BlobFilePtr&)> track_values = {};
  // Values of so many bytes and more go to value files; 0: none does.
  size_t separated_value_bytes_min = 0;
  // True while readers are about: the table is then written through the page cache, where they will look for it. Null: never.
  std::function<bool()> has_readers = {};
  // For folding what goes into tables; null: none.
  const kv::ProgramOperators* operators = nullptr;
};

// Are large values among `entries` entries of `bytes` in all worth a value file: so many that they fill one, and not a few among
// many small ones? Else they stay in the tables: a file for a handful of values weighs more than rewriting them.
bool AreWorthABlobFile(const TableFactory& factory, uint64_t entries, uint64_t bytes);

class Outputs {
 public:
  struct Options {
    Compression compression = Compression::kNone;
    uint64_t table_bytes_max = 0;            // 0: no limit
    uint64_t bytes_expected = 0;             // of one table
    uint64_t value_bytes_expected = 0;       // of one value file
    std::vector<std::string> cut_keys = {};  // ascending: a new table begins at each
    // What goes into the tables beside the entries.
    kv::RangeTombstones range_tombstones = {};
    kv::Stripes stripes = {};
    // Estimates FileMeta::masked_bytes. Null: 0.
    std::function<uint64_t(const kv::RangeTombstones&)> masked_bytes = {};
    // What the tables say together (format::CompactedRange); each says it of its own share of the bounds.
    std::vector<format::CompactedRange> compacted_ranges = {};
    bool separates_values = false;  // large values go to value files; those that came from one do in any case
    uint64_t release_bytes = 0;     // outputs between two releases; 0: there is none before Finish
  };
  Outputs(const TableFactory& factory, Options options) : factory_(factory), options_(std::move(options)) {}
  ~Outputs();  // removes the table and the value file that are not finished; those that are go when nobody names them

  Status Add(const kv::Entry& entry);
  // A PUT whose value is moved from one value file to another.
  Status AddMoved(const kv::Entry& entry);
  Status Finish();
  // Tables finished since the last call, and the value files.
  std::vector<format::FileMetaPtr> Take() { return std::exchange(finished_, {}); }
  std::vector<format::BlobFilePtr> TakeBlobFiles() { return std::exchange(finished_values_, {}); }
  // True right after an Add that began a new table when a release was due: all that lies below `cut_key`, range tombstones
  // too, is in finished files, and nothing in those belongs to what comes.
  bool is_at_release() const { return is_at_release_; }
  const std::string& cut_key() const { return *lower_; }  // REQUIRES: is_at_release()
  uint64_t bytes() const { return bytes_; }               // of the files finished so far

 private:
  Status Add(const kv::Entry& entry, bool separates);
  // Ends tables where the entry demands it, and value files where a release is due.
  Status CutBefore(const kv::Entry& entry);
  // The table is full, and the entry is not another version of its last key.
  bool IsFullFor(const kv::Entry& entry) const;
  Status BeginTable(uint64_t bytes_expected);
  Status BeginValues();
  // All that lies below `upper` (null: all) goes into a table, unless there is nothing.
  Status FinishTable(const std::string_view* upper);
  Status FinishValues();
  Status Separate(const kv::Entry& entry, kv::Entry* separated);
  Status CountReference(std::string_view reference);
  std::vector<format::CompactedRange> TakeShare(const std::string_view* upper);

  const TableFactory& factory_;
  const Options options_;
  std::unique_ptr<table::Writer> writer_;
  kv::FileNumber number_{};
  std::vector<format::FileMetaPtr> finished_;
  std::optional<std::string> share_begin_;  // of what is settled, for the table being written; none: the first
  size_t next_cut_ = 0;
  std::optional<std::string> lower_;  // where the table began; none: the first
  bool is_at_release_ = false;
  bool is_direct_ = true;
  uint64_t bytes_ = 0;
  uint64_t released_bytes_ = 0;

  std::unique_ptr<blob::Writer> values_;
  kv::FileNumber values_number_{};
  std::vector<format::BlobFilePtr> finished_values_;
  std::unordered_map<kv::FileNumber, uint64_t> references_;  // of the table being written: bytes by value file
  uint64_t table_value_bytes_ = 0;                           // written to value files since it began
  char reference_[format::kReferenceBytesMax];
};

}  // namespace mergedb::compaction
