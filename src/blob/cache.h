// The cache of open blob files; as table::Cache, for blob files.
// THREADS: all methods, any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/block_cache.h"
#include "base/open_files.h"
#include "blob/reader.h"
#include "env/descriptors.h"
#include "format/version_edit.h"
#include "mergedb/env.h"

namespace mergedb::blob {

using OpenBlobFiles = base::OpenFiles<Reader>;

class Cache {
 public:
  // `blocks` may be null: values are not cached. `latencies` and `memory` as in Reader::Open. At most `files_max` files
  // are open.
  Cache(FileSystem* file_system, std::string directory, const kv::Order& order, base::BlockCache* blocks,
        size_t files_max, env::Latencies* latencies = nullptr, env::FileMemory* memory = nullptr)
      : file_system_(file_system),
        directory_(std::move(directory)),
        order_(order),
        blocks_(blocks),
        latencies_(latencies),
        memory_(memory),
        files_(files_max) {}

  Result<std::shared_ptr<Reader>> Open(const format::BlobFileMeta& meta);
  // As table::Cache::now_open.
  const OpenBlobFiles& now_open() const { return files_; }
  // Drops a file that is about to be deleted, and its values.
  void Evict(kv::FileNumber number);
  size_t open_files() const { return files_.count(); }

 private:
  // Constant after construction.
  FileSystem* const file_system_;
  const std::string directory_;
  const kv::Order order_;
  base::BlockCache* const blocks_;
  env::Latencies* const latencies_;
  env::FileMemory* const memory_;

  OpenBlobFiles files_;                                        // has its own locks
  const env::IdleFiles idle_{[this] { files_.CloseIdle(); }};  // the last member, so it is destroyed first
};

}  // namespace mergedb::blob
