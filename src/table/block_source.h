// Where the blocks of one open table come from: the cache, or the file: read, verified, decompressed, checked.
//
//   BlockSource   one block at a time, pinned; random access. Of a mapped table, where it lies in the file, unless it is compressed
//   BlockWindow   block after block out of a large read; for scans
//
// A mapped block is checked before it is shown for the first time, and then never again: what the kernel drops and reads from the disk once
// more is believed (docs/decisions/0027-mapped-tables.md).
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
#include "format/table_layout.h"
#include "kv/order.h"
#include "mergedb/env.h"
#include "table/checked_blocks.h"
#include "table/reader.h"

namespace mergedb::table {

// THREADS: constant once the table is open; any thread.
struct BlockSource {
  FileSystem* file_system;
  std::string path;
  kv::Order order;
  base::BlockCache* cache;               // may be null
  std::unique_ptr<File> file = nullptr;  // buffered
  uint64_t number = 0;
  uint64_t unique_id = 0;
  format::Index index = {};
  env::ReadAround around = {};                     // made when the index is known
  std::unique_ptr<ReadMapping> mapping = nullptr;  // of all blocks, or null
  CheckedBlocks checked = {};                      // of the mapping

  // A block as it lies in the mapping, if it was found whole before; else an empty view.
  std::string_view FindMapped(uint32_t block) const {
    if (mapping == nullptr || !checked.Has(block)) return {};
    return {mapping->data() + index.offset(block), index.stored_bytes(block) - format::kTrailerBytes};
  }
  // An empty Pin if the cache does not have it.
  base::BlockCache::Pin FindCached(uint32_t block) const {
    return cache == nullptr ? base::BlockCache::Pin() : cache->Find(number, index.offset(block));
  }
  // The raw bytes of a block, which live as long as *pin, or, if that is empty, as long as this. Load does not look into the cache.
  [[nodiscard]] Status Read(uint32_t block, const ReadControl& control, base::BlockCache::Pin* pin,
                            std::string_view* raw) const;
  [[nodiscard]] Status Load(uint32_t block, const ReadControl& control, base::BlockCache::Pin* pin,
                            std::string_view* raw) const;
  Status LoadMapped(uint32_t block, const ReadControl& control, base::BlockCache::Pin* pin,
                    std::string_view* raw) const;
  bool MayCache(std::string_view stored, uint64_t offset, const ReadControl& control) const;
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
