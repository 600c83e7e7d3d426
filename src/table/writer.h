// Entries in order -> a table file. Blocks are packed into an aligned buffer of 1 MiB that goes past the page cache
// (buffered, a merge step costs four times as much: facts/performance.md).
//
// Add() in kv::Order, then Finish() and Sync(). A writer that dies before is given up: the file is for its owner to remove.
//
// Each entry goes into the block being built; a full block is compressed, sealed with a checksum that knows its place
// (docs/formats/table.md) and copied to the buffer. What the end of the file needs gathers meanwhile: a fence for each
// block, 8 bytes of hash for each key.
//
// MEASURED: bench/micro/table_bench.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "format/leveldb_filter.h"
#include "format/table_layout.h"
#include "format/version_edit.h"
#include "kv/key.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "mergedb/env.h"
#include "mergedb/options.h"

namespace mergedb::table {

struct WriterOptions {
  Compression compression = Compression::kNone;
  int bloom_bits_per_key = 10;
  // The program's own filters, in place of the bloom filter, under any comparator. Null: none. Must outlive the writer.
  const format::leveldb::FilterPolicy* filter_policy = nullptr;
  size_t block_bytes = 4096;
  // Blocks share no prefix of their keys, for readers that show keys where they lie.
  bool keeps_keys_whole = false;
  // Expected size; small tables (below 256 KiB) are written through the page cache in one call.
  uint64_t bytes_expected = 0;
  bool is_direct = true;
  // The file is there already, with no meaning left: write over it. What it has too much is filled with zeros before the footer,
  // or cut off if that is more than a sixteenth of it.
  bool is_reuse = false;
};

class Writer {
 public:
  // Creates `path`, or writes over it (is_reuse). `unique_id` is random.
  static Result<std::unique_ptr<Writer>> Create(FileSystem* file_system, const std::string& path, kv::FileNumber number,
                                                uint64_t unique_id, const kv::Order& order,
                                                const WriterOptions& options);
  virtual ~Writer();

  // REQUIRES: after the entry before in kv::Order. A comparator that contradicts itself shows here: the table then
  // fails with Corruption ("comparator ... not a total order") at Finish.
  virtual Status Add(const kv::Entry& entry) = 0;
  // The table's range tombstones, all at once; before, between or after the entries. Their keys are copied.
  virtual void SetRangeTombstones(const kv::RangeTombstones& tombstones) = 0;
  virtual uint64_t bytes_written() const = 0;  // an estimate of the file's size so far
  virtual uint64_t entries() const = 0;
  virtual std::string_view last_key() const = 0;

  // What the table says of older versions of its keys (docs/formats/table.md). Before Finish.
  virtual void SetCompactedRanges(std::vector<format::CompactedRange> compacted_ranges) = 0;
  // Write index, filter, properties and footer; does not sync. The file stays open until Sync or the destructor.
  // REQUIRES: at least one Add, or a range tombstone.
  virtual Result<format::FileMetaPtr> Finish() = 0;
  // The file's bytes are durable once this returned OK; its name is when the directory is synced. Never called again
  // after a failure. REQUIRES: Finish() was OK.
  virtual Status Sync() = 0;
};

}  // namespace mergedb::table
