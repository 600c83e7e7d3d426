// The cache of open tables: at most `tables_max`, evicted in LRU order. A table in use stays open until its
// last user releases it.
//
// At most sixteen shards, chosen by file number, each with its own lock and list. No lock is held while a
// file is read. If the process runs out of file descriptors at the open of any file, the cache closes its
// idle tables (env/descriptors.h).
//
// THREADS: all methods, any thread. MEASURED: bench/micro/table_bench, "table cache lookup", 37 ns.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/block_cache.h"
#include "format/version_edit.h"
#include "kv/order.h"
#include "mergedb/env.h"
#include "table/reader.h"

namespace mergedb::table {

class Cache {
 public:
  // `blocks` may be null (no block cache).
  static std::unique_ptr<Cache> New(FileSystem* file_system, std::string directory, const kv::Order& order,
                                    base::BlockCache* blocks, size_t tables_max, const ReaderOptions& options = {});
  virtual ~Cache();

  virtual Result<std::shared_ptr<Reader>> Open(const format::FileMetaPtr& meta) = 0;
  // Drops a table that is about to be deleted, and its blocks.
  virtual void Evict(kv::FileNumber number) = 0;
  virtual size_t open_tables() const = 0;
  virtual size_t memory_bytes() const = 0;
};

}  // namespace mergedb::table
