// The source of an open table's blocks: the block cache, or the file. A block from the file is read,
// verified, decompressed and checked.
//
//  BlockSource   one block at a time, pinned; random access. In a mapped table an uncompressed block is read in place.
//  BlockWindow   block after block, in either direction, out of a large read; for scans
//
// A mapped block is checked before its first use, and never again: if the kernel drops a page and reads it
// again, the reader trusts the new bytes (docs/decisions/0027-mapped-tables.md).
//
// Every block that leaves this file has passed CheckBlock, and its checksum unless the reader chose
// otherwise. Damage is Corruption with file and offset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/block_cache.h"
#include "base/perf.h"
#include "env/buffer_pool.h"
#include "env/deferral.h"
#include "env/latencies.h"
#include "env/mapped_files.h"
#include "env/read_around.h"
#include "format/block.h"
#include "format/index.h"
#include "format/table_layout.h"
#include "kv/order.h"
#include "kv/skipped_errors.h"
#include "mergedb/env.h"
#include "mergedb/result.h"
#include "table/checked_blocks.h"

namespace mergedb::table {

struct ReadControl {
  bool verify_checksums = true;
  bool fill_cache = true;
  // Iterators skip blocks that cannot be read and add the errors here; it must outlive them. Null: an
  // iterator ends at the error.
  kv::SkippedErrors* skipped = nullptr;
  // Blocks of a mapped table are used in place: the caller looks at the MappedFaults afterwards (base/mapped_faults.h).
  bool in_place = true;
};

// THREADS: constant after the table is open; any thread.
struct BlockSource {
  FileSystem* file_system;
  std::string path;
  kv::Order order;
  base::BlockCache* cache;               // may be null
  env::Latencies* latencies = nullptr;   // may be null
  std::unique_ptr<File> file = nullptr;  // buffered
  uint64_t number = 0;
  uint64_t unique_id = 0;
  format::Index index = {};
  env::ReadAround around = {};                         // set after the index is loaded
  std::unique_ptr<env::MappedFile> mapping = nullptr;  // of all blocks; null: the table is not mapped
  CheckedBlocks checked = {};                          // blocks of the mapping that passed their checks

  // False also after a fault of the mapping: the blocks are then read by calls.
  bool is_mapped() const { return mapping != nullptr && !mapping->has_failed(); }
  // A block in the mapping, if it has passed its checks and is there still; else an empty view.
  std::string_view FindMapped(uint32_t block) const {
    if (!is_mapped() || !checked.Has(block)) return {};
    const std::string_view raw(mapping->data() + index.offset(block),
                               index.stored_bytes(block) - format::kTrailerBytes);
    return StaysWhole(block, raw) ? raw : std::string_view();
  }
  // Call it after a read of a mapped block, too. False: another program has cut the file, and a fault is counted. The
  // zeros that follow the end of a file in its last page reach to the end of the block, unless a later page is missing.
  bool StaysWhole(uint32_t block, std::string_view raw) const {
    if (format::EndsAsBlock(raw)) [[likely]]
      return true;
    mapping->Fail(index.offset(block));
    return false;
  }
  // An empty Pin if the cache does not hold the block. `counts_miss` as in BlockCache::Find.
  base::BlockCache::Pin FindCached(uint32_t block, bool counts_miss = true) const {
    if (cache == nullptr) return {};
    base::BlockCache::Pin pin = cache->Find(number, index.offset(block), counts_miss);
    if (PerfContext* const perf = base::thread_perf; perf != nullptr && (pin || counts_miss)) [[unlikely]]
      ++(pin ? perf->block_cache_hits : perf->block_cache_misses);
    return pin;
  }
  // The raw bytes of a block. They are valid as long as *pin, or, if *pin is empty, as long as this object.
  // Find looks into the mapping and the cache alone, Load not into the cache. ReadOrWait may wait before it reads from
  // the file; a null `deferral` never waits.
  bool Find(uint32_t block, bool counts_miss, base::BlockCache::Pin* pin, std::string_view* raw) const;
  [[nodiscard]] Status Read(uint32_t block, const ReadControl& control, base::BlockCache::Pin* pin,
                            std::string_view* raw) const;
  [[nodiscard]] env::ReadResult ReadOrWait(uint32_t block, const ReadControl& control, env::Deferral* deferral,
                                           base::BlockCache::Pin* pin, std::string_view* raw) const;
  [[nodiscard]] Status Load(uint32_t block, const ReadControl& control, base::BlockCache::Pin* pin,
                            std::string_view* raw) const;
  Status LoadMapped(uint32_t block, const ReadControl& control, base::BlockCache::Pin* pin,
                    std::string_view* raw) const;
  bool Defers(uint32_t block, env::Deferral* deferral) const;
  bool MayCache(std::string_view stored, uint64_t offset, const ReadControl& control) const;
  // "path: block at offset: ..."
  Status InContext(uint32_t block, const Status& status) const;
};

class BlockWindow {
 public:
  enum class Direction { kForward, kBackward };
  // The read size doubles from `bytes_first` to `bytes_max`, both multiples of kDirectIoAlign. `file` may be direct.
  struct Shape {
    size_t bytes_first;
    size_t bytes_max;
    bool verify;
  };
  BlockWindow(const BlockSource& source, File* file, const Shape& shape)
      : source_(source), file_(file), shape_(shape), read_bytes_(shape.bytes_first) {}

  // The raw bytes of a block, valid until the next call. If the window does not hold the block, one read takes it and
  // the blocks that follow in this direction.
  [[nodiscard]] Status Read(uint32_t block, std::string_view* raw, Direction direction = Direction::kForward);

 private:
  Status Refill(uint64_t begin, uint64_t end, Direction direction);
  Status Open(std::string_view stored, uint64_t offset, std::string_view* raw);
  char* Room(size_t bytes);

  const BlockSource& source_;
  File* file_;
  Shape shape_;
  size_t read_bytes_;
  env::AlignedBuffer buffer_;  // bytes [begin_, end_) of the file
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  std::unique_ptr<char[]> raw_;  // the last decompressed block
  size_t raw_room_ = 0;
};

}  // namespace mergedb::table
