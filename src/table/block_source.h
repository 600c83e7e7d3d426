// Where the blocks of one open table come from: the cache, or the file: read, verified, decompressed, checked.
//
//   BlockSource   one block at a time, pinned; random access
//   BlockWindow   block after block out of a large read; for scans
//
// What leaves here has passed CheckBlock and, unless the reader chose otherwise, its checksum; damage is Corruption naming
// file and offset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/block_cache.h"
#include "env/buffer_pool.h"
#include "env/read_around.h"
#include "format/index.h"
#include "kv/order.h"
#include "mergedb/env.h"
#include "table/reader.h"

namespace mergedb::table {

// THREADS: constant once the table is open; any thread.
struct BlockSource {
  FileSystem* file_system;
  std::string path;
  kv::Order order;
  base::BlockCache* cache;  // may be null
  std::unique_ptr<File> file = nullptr;  // buffered
  uint64_t number = 0;
  uint64_t unique_id = 0;
  format::Index index = {};
  env::ReadAround around = {};  // made when the index is known

  // An empty Pin if the cache does not have it.
  base::BlockCache::Pin FindCached(uint32_t block) const {
    return cache == nullptr ? base::BlockCache::Pin() : cache->Find(number, index.offset(block));
  }
  // The raw bytes of a block.
  [[nodiscard]] Status Read(uint32_t block, const ReadControl& control, base::BlockCache::Pin* pin) const;
  [[nodiscard]] Status Load(uint32_t block, const ReadControl& control, base::BlockCache::Pin* pin) const;
  // "path: block at offset: ..."
  Status InContext(uint32_t block, const Status& status) const;
};

class BlockWindow {
 public:
  // Reads double from `bytes_first` to `bytes_max`, both multiples of kDirectIoAlign. `file` may be direct.
  struct Shape {
    size_t bytes_first;
    size_t bytes_max;
    bool verify;
  };
  BlockWindow(const BlockSource& source, File* file, const Shape& shape)
      : source_(source), file_(file), shape_(shape), read_bytes_(shape.bytes_first) {}

  // Raw bytes of a block; they live until the next call.
  [[nodiscard]] Status Read(uint32_t block, std::string_view* raw);

 private:
  Status Refill(uint64_t begin, uint64_t end);
  Status Open(std::string_view stored, uint64_t offset, std::string_view* raw);
  char* Room(size_t bytes);

  const BlockSource& source_;
  File* file_;
  Shape shape_;
  size_t read_bytes_;
  env::AlignedBuffer buffer_;  // bytes [begin_, end_) of the file
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  std::unique_ptr<char[]> raw_;  // the block decompressed last
  size_t raw_room_ = 0;
};

}  // namespace mergedb::table
