// FORMAT: a LevelDB table (docs/formats/leveldb.md), from entries to bytes and back.
//
//   table     := stored block* | stored filter block, never compressed | stored metaindex | stored index | footer
//   index     := a block of (a key at or after all of data block i and before all of i + 1, its handle)
//   metaindex := a block of ("filter." policy name, the filter block's handle)
//
// TableBuilder makes bytes and hands them on; TableIterator asks for blocks: neither knows a file nor a cache.
// Tests: tests/unit/format/leveldb_table_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "format/leveldb_block.h"
#include "format/leveldb_filter.h"
#include "format/leveldb_order.h"
#include "format/leveldb_sealed.h"
#include "mergedb/result.h"

namespace mergedb::format::leveldb {

struct TableOptions {
  size_t block_bytes = 4096;
  size_t restart_interval = 16;
  BlockCodec codec = {};
  const FilterPolicy* filter = nullptr;  // null: none
  bool keys_have_tags = true;            // internal keys: the filter is given user keys
};

class TableBuilder {
 public:
  // Takes the table's bytes, front to back.
  using Append = std::function<Status(std::string_view bytes)>;
  // `order` and the filter must outlive it.
  TableBuilder(const KeyOrder& order, const TableOptions& options, Append append);

  // For what is added from now on; the filter stays as it was.
  void ChangeOptions(const TableOptions& options);
  // REQUIRES: the key comes after the one before. After an error nothing is done.
  void Add(std::string_view key, std::string_view value);
  // Ends the data block.
  void Flush();
  // Everything but the data blocks. REQUIRES: once; nothing comes after it.
  Status Finish();

  const Status& status() const { return status_; }
  uint64_t entries() const { return entries_; }
  uint64_t bytes() const { return bytes_; }  // handed on so far
  std::string_view last_key() const { return last_key_; }

 private:
  Handle Write(std::string_view block, const BlockCodec& codec);
  Handle WriteMetaindex(const Handle& filter);

  const KeyOrder& order_;
  TableOptions options_;
  const Append append_;
  Status status_;
  BlockBuilder data_, index_;
  std::optional<FilterBlockBuilder> filter_;
  std::string last_key_;
  std::optional<Handle> ended_;  // the data block that the index has no key for yet
  std::string stored_;
  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;
};

// Where a table's parts are, from the contents of its metaindex.
std::optional<Handle> FindFilter(std::string_view metaindex, std::string_view policy_name);

// A cursor over a whole table. THREADS: one.
class TableIterator {
 public:
  using Block = std::shared_ptr<const std::string>;  // opened
  using ReadBlock = std::function<Result<Block>(const Handle& handle)>;
  // `order` must outlive it.
  TableIterator(const KeyOrder& order, Block index, ReadBlock read);

  bool Valid() const { return data_ && data_->Valid(); }
  std::string_view key() const { return data_->key(); }
  std::string_view value() const { return data_->value(); }
  // The first error met: a block that cannot be read ends a walk there. A new Seek begins afresh.
  const Status& status() const { return status_; }

  void SeekToFirst();
  void SeekToLast();
  void Seek(std::string_view target);
  void Next();
  void Prev();
  // After an error: go on behind the block that could not be read, or before it, for saving what is whole. False, and no
  // error any more: there is nothing more that way.
  bool SkipBlock(bool is_forward = true);

 private:
  bool OpenBlock();  // that the index shows; false at the index's end, or if it cannot be read
  void Forward();
  void Backward();

  const KeyOrder& order_;
  const Block index_block_;
  const ReadBlock read_;
  BlockIterator index_;
  Block data_block_;
  std::optional<BlockIterator> data_;
  Status status_;
};

}  // namespace mergedb::format::leveldb
