// Entries in order -> tables, one after the other: a table is cut when it is full or at a border, never between two versions
// of a key. Each table takes the range tombstones between its cuts, clipped there; some tables hold nothing else.
//
//   entries          a b   d e f |           m n | p         cut keys: g, o
//   tombstones         [-----------g- - - k)     |
//   tables           [a . . . . . g)[g . . . k). n] [p]       the first one's largest key is not included
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/table_layout.h"
#include "format/version_edit.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "kv/program_operators.h"
#include "mergedb/env.h"
#include "table/writer.h"

namespace mergedb::compaction {

// What makes tables: shared by flushes and jobs.
struct TableFactory {
  FileSystem* file_system = nullptr;
  std::string directory;
  const kv::Order& order;
  int bloom_bits_per_key = 10;
  size_t block_bytes = 4096;
  std::function<kv::FileNumber()> allocate_number;
  std::function<uint64_t()> entropy;
  // Gives the name of table `number` to a spare file of about `bytes_expected`, to be written over. False, or null: there is none.
  std::function<Result<bool>(kv::FileNumber number, uint64_t bytes_expected)> reuse = {};
  // Makes a finished table one that is removed when nobody names it any more.
  std::function<format::FileMetaPtr(const format::FileMetaPtr&)> track;
  // True while readers are about: the table is then written through the page cache, where they will look for it. Null: never.
  std::function<bool()> has_readers = {};
  // For folding what goes into tables; null: none.
  const kv::ProgramOperators* operators = nullptr;
};

class Outputs {
 public:
  struct Options {
    Compression compression = Compression::kNone;
    uint64_t table_bytes_max = 0;        // 0: no limit
    uint64_t bytes_expected = 0;         // of one table
    std::vector<std::string> cut_keys = {};  // ascending: a new table begins at each
    // What goes into the tables beside the entries.
    kv::RangeTombstones range_tombstones = {};
    kv::Stripes stripes = {};
    // Estimates FileMeta::covered_bytes. Null: 0.
    std::function<uint64_t(const kv::RangeTombstones&)> covered_bytes = {};
    // Of a merge into the bottom: what its tables say together (format::Settled); each says it of its own share of the bounds.
    std::optional<format::Settled> settled = {};
  };
  Outputs(const TableFactory& factory, Options options) : factory_(factory), options_(std::move(options)) {
    if (options_.settled) settled_from_ = options_.settled->bounds.lower;
  }
  ~Outputs();  // removes the table that is not finished

  Status Add(const kv::Entry& entry);
  Status Finish();
  // Tables finished since the last call.
  std::vector<format::FileMetaPtr> Take() { return std::exchange(finished_, {}); }
  // True right after an Add that began a new table: all that lies below `cut_key` is in finished tables.
  bool is_at_cut() const { return is_at_cut_; }
  const std::string& cut_key() const { return *lower_; }  // REQUIRES: is_at_cut()
  uint64_t bytes() const { return bytes_; }  // of the tables finished so far

 private:
  // The table is full, and the entry is not another version of its last key.
  bool IsFullFor(const kv::Entry& entry) const;
  Status BeginTable(uint64_t bytes_expected);
  // All that lies below `upper` (null: all) goes into a table, unless there is nothing.
  Status FinishTable(const std::string_view* upper);

  const TableFactory& factory_;
  const Options options_;
  std::unique_ptr<table::Writer> writer_;
  kv::FileNumber number_{};
  std::vector<format::FileMetaPtr> finished_;
  std::optional<std::string> settled_from_;  // where the share of the table being written begins
  size_t next_cut_ = 0;
  std::optional<std::string> lower_;  // where the table began; none: the first
  bool is_at_cut_ = false;
  uint64_t bytes_ = 0;
};

}  // namespace mergedb::compaction
