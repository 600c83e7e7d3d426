// Writes entries, in order, to tables. A table ends when it is full or at a border, never between two versions
// of a key. Each table gets the range tombstones between its cuts, clipped there; some tables hold nothing else.
//
//   entries          a b   d e f |           m n | p         cut keys: g, o
//   tombstones         [-----------g- - - k)     |
//   tables           [a . . . . . g)[g . . . k). n] [p]       the first table's largest key is not included
//
// Large values go to a blob file, and their blob indexes to the tables:
//
//   a=small  b=LARGE  c=small | d=LARGE          table 12: a=small  b->14:0  c=small     table 13: d->14:1040
//                                                blob file 14: LARGE LARGE
//
// One blob file serves several tables, so a table is complete only when its blob file is finished, too: at a
// publication.
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
#include "format/data_file.h"
#include "format/table_layout.h"
#include "format/version_edit.h"
#include "kv/order.h"
#include "kv/program_operators.h"
#include "kv/range_tombstones.h"
#include "mergedb/env.h"
#include "table/writer.h"

namespace mergedb::compaction {

// Where new tables and blob files come from, and who owns the finished ones. WHY an interface: Tree (db/state) is on a
// higher floor, and a checkpoint or a repair has no Tree. THREADS: any.
class FileOwner {
 public:
  virtual ~FileOwner() = default;
  virtual kv::FileNumber AllocateNumber() = 0;
  // Renames a recycled file of about file.bytes to the name of `file`; the writer then overwrites it. False: there is
  // none.
  virtual Result<bool> Reuse(const format::DataFile& /*file*/) { return false; }
  // Registers a finished table or blob file: the file is removed when no version and no reader holds it.
  virtual format::FileMetaPtr Track(const format::FileMetaPtr& table) { return table; }
  virtual format::BlobFilePtr Track(const format::BlobFilePtr& blob_file) { return blob_file; }
  // True while readers are active: a new table is then written through the page cache, where they find its blocks.
  virtual bool HasReaders() { return false; }
  // True if a new blob file of about `bytes` is written through the page cache, readers or not.
  virtual bool FitsInPageCache(uint64_t /*bytes*/) { return false; }
};

// The settings for new tables; flushes and compactions share them.
struct TableFactory {
  FileSystem* file_system = nullptr;
  std::string directory;
  const kv::Order& order;
  int bloom_bits_per_key = 10;
  const format::FilterPolicy* filter_policy = nullptr;  // see table::WriterOptions
  size_t block_bytes = 4096;
  bool keeps_keys_whole = false;  // see table::WriterOptions
  FileOwner& owner;
  std::function<uint64_t()> entropy;  // WHY a function: it is Env::entropy, of the public interface
  // Values of at least this size go to blob files; 0: no value does.
  size_t blob_value_bytes_min = 0;
  // Operators that fold merge operands; null: none.
  const kv::ProgramOperators* operators = nullptr;
  // Counts the time of writes; null: it is not counted.
  env::WriteTimes* write_times = nullptr;
};

// True if the large values among `entries` entries of `bytes` bytes are worth a blob file: there are enough
// of them, and they are not a small share of many small values. Otherwise they stay in the tables: a file for
// a few values costs more than rewriting them.
bool AreWorthABlobFile(const TableFactory& factory, uint64_t entries, uint64_t bytes);

class Outputs {
 public:
  struct Options {
    Compression compression = Compression::kNone;
    uint64_t table_bytes_max = 0;            // 0: no limit
    uint64_t bytes_expected = 0;             // of one table
    uint64_t value_bytes_expected = 0;       // of one blob file
    std::vector<std::string> cut_keys = {};  // ascending: a new table begins at each
    // Range tombstones to write to the tables.
    kv::RangeTombstones range_tombstones = {};
    kv::Stripes stripes = {};
    // Estimates FileMeta::masked_bytes. Null: 0. WHY a function: it looks at the tree when a table ends.
    std::function<uint64_t(const kv::RangeTombstones&)> masked_bytes = {};
    // The ranges that the tables record (format::CompactedRange); each table records its own part of the bounds.
    std::vector<format::CompactedRange> compacted_ranges = {};
    bool separates_values = false;   // large values go to blob files; large moved values do in any case
    uint64_t publication_bytes = 0;  // of outputs between two publications; 0: none before Finish
  };
  Outputs(const TableFactory& factory, Options options) : factory_(factory), options_(std::move(options)) {}
  // Removes the table and the blob file that are not finished. Finished files go when their last owner releases them.
  ~Outputs();

  Status Add(const kv::Entry& entry);
  // A PUT whose value moves from one blob file to another.
  Status AddMoved(const kv::Entry& entry);
  Status Finish();
  // The tables, and the blob files, that were finished since the last call.
  std::vector<format::FileMetaPtr> Take() { return std::exchange(finished_, {}); }
  std::vector<format::BlobFilePtr> TakeBlobFiles() { return std::exchange(finished_values_, {}); }
  // Of files since the last publication, finished or not.
  uint64_t unpublished_bytes() const;
  // True right after an Add that began a new table while a publication was due. Finished files then hold all
  // entries and range tombstones below `cut_key`, and no key from `cut_key` on.
  bool is_at_publication() const { return is_at_publication_; }
  const std::string& cut_key() const { return *lower_; }  // REQUIRES: is_at_publication()
  // The key of the last Add; "" if it is in a finished table.
  std::string_view last_key() const { return writer_ == nullptr ? std::string_view() : writer_->last_key(); }

 private:
  Status Add(const kv::Entry& entry, bool separates);
  // Ends the table before the entry if a cut key or the size demands it; ends the blob file if a publication is due.
  Status CutBefore(const kv::Entry& entry);
  // The table is full, and the entry is not another version of its last key.
  bool IsFullFor(const kv::Entry& entry) const;
  Status BeginTable(uint64_t bytes_expected);
  Status BeginValues();
  // Writes all entries and range tombstones below `upper` (null: all) to a table; no table if there are none.
  Status FinishTable(const std::string_view* upper);
  Status FinishValues();
  Status Separate(const kv::Entry& entry, kv::Entry* separated);
  Status CountBlobIndex(std::string_view reference);
  std::vector<format::CompactedRange> TakeShare(const std::string_view* upper);

  const TableFactory& factory_;
  const Options options_;
  std::unique_ptr<table::Writer> writer_;
  kv::FileNumber number_{};
  std::vector<format::FileMetaPtr> finished_;
  std::optional<std::string> share_begin_;  // of compacted_ranges, for the current table; empty: from the start
  size_t next_cut_ = 0;
  std::optional<std::string> lower_;  // where the table began; empty: at the first key
  bool is_at_publication_ = false;
  bool is_direct_ = true;
  uint64_t bytes_ = 0;
  uint64_t published_bytes_ = 0;

  std::unique_ptr<blob::Writer> values_;
  kv::FileNumber values_number_{};
  std::vector<format::BlobFilePtr> finished_values_;
  std::unordered_map<kv::FileNumber, uint64_t> references_;  // of the current table: bytes by blob file
  uint64_t table_value_bytes_ = 0;                           // written to blob files since the table began
  char reference_[format::kBlobIndexBytesMax];
};

}  // namespace mergedb::compaction
