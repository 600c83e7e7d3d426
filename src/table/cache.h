// The cache of open tables: at most `tables_max` (base/open_files.h). If the process runs out of file descriptors at
// the open of any file, the cache closes its idle tables (env/descriptors.h).
// THREADS: all methods, any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/block_cache.h"
#include "base/open_files.h"
#include "env/descriptors.h"
#include "format/version_edit.h"
#include "kv/order.h"
#include "mergedb/env.h"
#include "table/reader.h"

namespace mergedb::table {

using OpenTables = base::OpenFiles<Reader>;

class Cache {
 public:
  // `blocks` may be null (no block cache).
  static std::unique_ptr<Cache> New(FileSystem* file_system, std::string directory, const kv::Order& order,
                                    base::BlockCache* blocks, size_t tables_max, const ReaderOptions& options = {}) {
    return std::unique_ptr<Cache>(new Cache(file_system, std::move(directory), order, blocks, tables_max, options));
  }

  Result<std::shared_ptr<Reader>> Open(const format::FileMetaPtr& meta);
  // The tables that are open now: a lookup finds them with an OpenTables::Finder, and opens the others with Open.
  const OpenTables& now_open() const { return tables_; }
  // Drops a table that is about to be deleted, and its blocks.
  void Evict(kv::FileNumber number);
  size_t open_tables() const { return tables_.count(); }
  size_t memory_bytes() const;

 private:
  Cache(FileSystem* file_system, std::string directory, const kv::Order& order, base::BlockCache* blocks,
        size_t tables_max, const ReaderOptions& options)
      : file_system_(file_system),
        directory_(std::move(directory)),
        order_(order),
        blocks_(blocks),
        options_(options),
        tables_(tables_max) {}

  // Constant after construction.
  FileSystem* const file_system_;
  const std::string directory_;
  const kv::Order order_;
  base::BlockCache* const blocks_;
  const ReaderOptions options_;

  OpenTables tables_;                                           // has its own locks
  const env::IdleFiles idle_{[this] { tables_.CloseIdle(); }};  // the last member, so it is destroyed first
};

}  // namespace mergedb::table
