// FORMAT: a LevelDB table (docs/formats/leveldb.md). Builds one from entries, and reads entries from one.
//
//   table     := stored block* | stored filter block, never compressed | stored metaindex | stored index | footer
//   index     := a block: for each data block, a key at or after its last and before the next one's first -> its handle
//   metaindex := a block: "filter." policy name -> the filter block's handle
//
// TableBuilder produces bytes and TableIterator asks for blocks. Neither opens a file or uses a cache.
// Tests: tests/unit/leveldb/format/table_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "format/filter_block.h"
#include "leveldb/format/block.h"
#include "leveldb/format/order.h"
#include "leveldb/format/sealed.h"
#include "mergedb/result.h"

namespace mergedb::leveldb_format {

struct TableOptions {
  size_t block_bytes = 4096;
  size_t restart_interval = 16;
  BlockCodec codec = {};
  const format::FilterPolicy* filter = nullptr;  // null: no filter
  bool keys_have_tags = true;                    // true: internal keys; the filter receives user keys
};

class TableBuilder {
 public:
  // Receives the table's bytes from front to back.
  using Append = std::function<Status(std::string_view bytes)>;
  // `order` and the filter must outlive the builder.
  TableBuilder(const KeyOrder& order, const TableOptions& options, Append append);

  // Applies to entries added from now on. The filter policy does not change.
  void ChangeOptions(const TableOptions& options);
  // REQUIRES: `key` is after the last key. After an error Add does nothing.
  void Add(std::string_view key, std::string_view value);
  // Ends the data block.
  void Flush();
  // Writes everything after the data blocks. REQUIRES: the last call, made once.
  Status Finish();

  const Status& status() const { return status_; }
  uint64_t entries() const { return entries_; }
  uint64_t bytes() const { return bytes_; }  // written so far
  std::string_view last_key() const { return last_key_; }

 private:
  void AddIndexEntry();  // of the data block `ended_`
  Handle Write(std::string_view block, const BlockCodec& codec);
  Handle WriteMetaindex(const Handle& filter);

  const KeyOrder& order_;
  TableOptions options_;
  const Append append_;
  Status status_;
  BlockBuilder data_, index_;
  std::optional<format::FilterBlockBuilder> filter_;
  std::string last_key_;
  std::optional<Handle> ended_;  // the data block without an index entry so far
  std::string stored_;
  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;
};

// An iterator over a whole table. THREADS: one.
class TableIterator {
 public:
  using Block = std::shared_ptr<const std::string>;  // its contents, uncompressed
  using ReadBlock = std::function<Result<Block>(const Handle& handle)>;
  // `order` must outlive the iterator.
  TableIterator(const KeyOrder& order, Block index, ReadBlock read);

  bool Valid() const { return data_ && data_->Valid(); }
  std::string_view key() const { return data_->key(); }
  std::string_view value() const { return data_->value(); }
  // The first error. A block that cannot be read makes the iterator invalid there. A new Seek clears the error.
  const Status& status() const { return status_; }

  void SeekToFirst();
  void SeekToLast();
  void Seek(std::string_view target);
  void Next();
  void Prev();
  // After an error: continues after the unreadable block, or before it if not `is_forward`, to salvage the other
  // blocks. Returns false, with status OK, if there are no more blocks in that direction.
  bool SkipBlock(bool is_forward = true);

 private:
  bool OpenBlock();  // the current index entry's block; false at the end of the index or on error
  void EnterBlock(bool is_forward);
  void PassEnds(bool is_forward);

  const KeyOrder& order_;
  const Block index_block_;
  const ReadBlock read_;
  BlockIterator index_;
  Block data_block_;
  std::optional<BlockIterator> data_;
  Status status_;
};

}  // namespace mergedb::leveldb_format
