// Entries in order -> tables, one after the other: a table is cut when it is full or at a border, never between two versions
// of a key.
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
};

class Outputs {
 public:
  struct Options {
    Compression compression = Compression::kNone;
    uint64_t table_bytes_max = 0;        // 0: no limit
    uint64_t bytes_expected = 0;         // of one table
    std::vector<std::string> cut_keys = {};  // ascending: a new table begins at each
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
  // True right after an Add that began a new table: what came before is in finished tables.
  bool is_at_cut() const { return is_at_cut_; }
  uint64_t bytes() const { return bytes_; }  // of the tables finished so far

 private:
  bool MustCut(const kv::Entry& entry) const;
  Status BeginTable();
  // `next_key`: where the next table begins; null: there is none.
  Status FinishTable(const std::string_view* next_key);

  const TableFactory& factory_;
  const Options options_;
  std::unique_ptr<table::Writer> writer_;
  kv::FileNumber number_{};
  std::vector<format::FileMetaPtr> finished_;
  std::optional<std::string> settled_from_;  // where the share of the table being written begins
  size_t next_cut_ = 0;
  bool is_at_cut_ = false;
  uint64_t bytes_ = 0;
};

}  // namespace mergedb::compaction
