// Writes entries, in order, into a table file. The writer packs blocks into an aligned buffer of 1 MiB and
// writes it with direct I/O (buffered, a compaction step costs four times as much).
//
// Call Add() in kv::Order, then Finish() and Sync(). If the writer is destroyed before Finish, the table is
// unusable; the owner of the file removes it.
//
// Each entry goes into the current block. A full block is compressed, gets a checksum that includes its
// offset (docs/formats/table.md), and is copied to the buffer. Meanwhile the writer collects the data for the
// end of the file: a fence for each block, and an 8-byte hash for each key.
//
// MEASURED: bench/micro/table_bench.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "format/filter_block.h"
#include "format/table_layout.h"
#include "format/version_edit.h"
#include "kv/key.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "mergedb/env.h"
#include "mergedb/options.h"

namespace mergedb::env {
struct WriteTimes;
}

namespace mergedb::table {

struct WriterOptions {
  Compression compression = Compression::kNone;
  int bloom_bits_per_key = 10;
  // The program's own filter policy, used instead of the bloom filter, with any comparator. Null: bloom
  // filter. Must outlive the writer.
  const format::FilterPolicy* filter_policy = nullptr;
  size_t block_bytes = 4096;
  // No prefix compression of keys, for readers that show keys in place.
  bool keeps_keys_whole = false;
  // Expected size in bytes. Tables below 256 KiB are written through the page cache in one call.
  uint64_t bytes_expected = 0;
  bool is_direct = true;
  // The file is a recycled file: overwrite it. Its excess bytes become zeros before the footer; if they are
  // more than a sixteenth of the file, they are cut off.
  bool is_reuse = false;
  env::WriteTimes* times = nullptr;  // as env::SinkFile has them
};

class Writer {
 public:
  // Creates `path`, or overwrites it (is_reuse). `unique_id` is random.
  static Result<std::unique_ptr<Writer>> Create(FileSystem* file_system, const std::string& path, kv::FileNumber number,
                                                uint64_t unique_id, const kv::Order& order,
                                                const WriterOptions& options);
  virtual ~Writer();

  // REQUIRES: each entry is after the previous one in kv::Order. If a comparator contradicts itself, Add and
  // Finish return Corruption ("comparator ... not a total order").
  virtual Status Add(const kv::Entry& entry) = 0;
  // Sets all range tombstones of the table at once; before, between or after the entries. Their keys are copied.
  virtual void SetRangeTombstones(const kv::RangeTombstones& tombstones) = 0;
  virtual uint64_t bytes_written() const = 0;  // estimated size of the file so far
  virtual uint64_t entries() const = 0;
  virtual std::string_view last_key() const = 0;

  // The compacted ranges that the table records (docs/formats/table.md). Call before Finish.
  virtual void SetCompactedRanges(std::vector<format::CompactedRange> compacted_ranges) = 0;
  // Writes filter, range tombstones, index, properties and footer; does not sync. The file stays open until
  // Sync or the destructor.
  // REQUIRES: at least one Add, or a range tombstone.
  virtual Result<format::FileMetaPtr> Finish() = 0;
  // After OK the bytes of the file are durable. Its name is durable after a sync of the directory. Never call
  // Sync again after a failure. REQUIRES: Finish() returned OK.
  virtual Status Sync() = 0;
};

}  // namespace mergedb::table
