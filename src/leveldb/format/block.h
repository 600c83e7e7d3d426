// FORMAT: a block of a LevelDB table (docs/formats/leveldb.md). Entries are in order. Each key is stored without
// the bytes that it shares with the key before it.
//
//   block := entry* | restart offset u32 * count | count u32
//   entry := shared bytes varint32 | rest bytes varint32 | value bytes varint32 | rest of key | value
//
// At a restart the entry shares no bytes. BlockBuilder makes a restart every `restart_interval` entries, the
// first at offset 0. A seek is a binary search among the restarts.
//
// BlockIterator reads any bytes safely. At an invalid entry it ends with Corruption.
// Tests: tests/unit/leveldb/format/table_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leveldb/format/order.h"
#include "mergedb/status.h"

namespace mergedb::leveldb_format {

class BlockBuilder {
 public:
  explicit BlockBuilder(size_t restart_interval) : restart_interval_(restart_interval) {}

  // REQUIRES: `key` is at or after the last key in the order of the block.
  void Add(std::string_view key, std::string_view value);
  bool empty() const { return bytes_.empty(); }
  size_t bytes() const { return bytes_.size() + 4 * (restarts_.size() + 1); }  // the size that Finish would return now
  // The view lives until Reset, which begins the next block.
  std::string_view Finish();
  void Reset();
  void set_restart_interval(size_t interval) { restart_interval_ = interval; }

 private:
  size_t restart_interval_;
  std::string bytes_;
  std::vector<uint32_t> restarts_{0};
  size_t since_restart_ = 0;
  std::string last_key_;
};

// An iterator over the entries of a block. THREADS: one.
class BlockIterator {
 public:
  // `block` and `order` must outlive the iterator.
  BlockIterator(const KeyOrder& order, std::string_view block);

  bool Valid() const { return at_ < restarts_at_; }
  std::string_view key() const { return key_; }      // REQUIRES: Valid()
  std::string_view value() const { return value_; }  // REQUIRES: Valid()
  const Status& status() const { return status_; }   // Corruption is permanent

  void SeekToFirst();
  void SeekToLast();
  void Seek(std::string_view target);  // the first key at or after `target`
  void Next();
  void Prev();

 private:
  size_t Restart(size_t index) const;
  bool KeyAtRestart(size_t index, std::string_view* key);
  void GoToRestart(size_t index);
  bool Read(size_t offset);  // makes the entry at `offset` the current one
  void End() { at_ = restarts_at_; }
  bool Fail(std::string_view why);

  const KeyOrder& order_;
  const std::string_view block_;
  size_t restarts_at_ = 0;
  size_t restart_count_ = 0;
  size_t at_ = 0;    // offset of the current entry; restarts_at_: not valid
  size_t next_ = 0;  // offset of the entry after it
  std::string key_;
  std::string_view value_;
  Status status_;
};

}  // namespace mergedb::leveldb_format
