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
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "env/file_sink.h"
#include "format/block_builder.h"
#include "format/compression.h"
#include "format/filter_block.h"
#include "format/index.h"
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
  ~Writer();

  // REQUIRES: each entry is after the previous one in kv::Order. If a comparator contradicts itself, Add and
  // Finish return Corruption ("comparator ... not a total order").
  Status Add(const kv::Entry& entry);
  // Sets all range tombstones of the table at once; before, between or after the entries. Their keys are copied.
  void SetRangeTombstones(const kv::RangeTombstones& tombstones);
  // Estimated size of the file so far.
  uint64_t bytes_written() const { return sink_.offset() + block_.bytes() + index_.bytes() + FilterBytes(); }
  uint64_t entries() const { return meta_.entries; }
  std::string_view last_key() const { return block_.empty() ? std::string_view(border_) : block_.last_key(); }

  // The compacted ranges that the table records (docs/formats/table.md). Call before Finish.
  void SetCompactedRanges(std::vector<format::CompactedRange> compacted_ranges) {
    compacted_ranges_ = std::move(compacted_ranges);
  }
  // Writes filter, range tombstones, index, properties and footer; does not sync. The file stays open until
  // Sync or the destructor.
  // REQUIRES: at least one Add, or a range tombstone.
  Result<format::FileMetaPtr> Finish();
  // After OK the bytes of the file are durable. Its name is durable after a sync of the directory. Never call
  // Sync again after a failure. REQUIRES: Finish() returned OK.
  Status Sync();

 private:
  Writer(std::string path, env::SinkFile file, kv::FileNumber number, uint64_t unique_id, const kv::Order& order,
         const WriterOptions& options);
  bool HasFilter() const { return bits_per_key_ > 0; }
  uint64_t FilterBytes() const { return hashes_.size() * static_cast<uint64_t>(bits_per_key_) / 8; }
  bool IsAfterLast(const kv::Entry& entry);
  Status OutOfOrder(const kv::Entry& entry) const;
  void Count(const kv::Entry& entry);
  Status FinishBlock();
  Status AppendPart(std::string_view payload, Compression codec, uint64_t* stored_bytes);
  Status AppendSections();

  // Constant after construction.
  const std::string path_;
  const kv::Order order_;
  const size_t block_bytes_;
  const int bits_per_key_;

  env::FileSink sink_;
  format::Compressor compressor_;
  format::BlockBuilder block_;
  format::IndexBuilder index_;
  std::vector<uint64_t> hashes_;
  const format::FilterPolicy* const filter_policy_;  // null: bloom
  std::optional<format::FilterBlockBuilder> own_filter_;
  uint64_t last_prefix_ = 0;
  kv::Tag last_tag_ = 0;
  bool is_older_version_ = false;  // the previous entry hides this one
  std::string border_;             // the last key of the last finished block
  std::string first_key_;
  std::string range_tombstones_;  // empty: no range tombstones
  std::string ranges_begin_;      // begin of the first and end of the last one
  std::string ranges_end_;
  format::FileMeta meta_;
  std::vector<format::CompactedRange> compacted_ranges_;
  Status status_;  // the first failure; the table is unusable after it
  bool is_finished_ = false;
};

}  // namespace mergedb::table
