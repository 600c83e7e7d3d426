// FORMAT: LevelDB's batch, which is the record of its WAL (docs/formats/leveldb.md).
//
//   batch     := sequence u64 | count u32 | operation*                      operation i has sequence + i
//   operation := 1 | key length varint32 | key | value length varint32 | value          a put
//              | 0 | key length varint32 | key                                          a delete
//
// Tests: tests/unit/leveldb/format/log_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/key.h"
#include "mergedb/status.h"

namespace mergedb::leveldb_format {

inline constexpr size_t kBatchHeaderBytes = 12;

// Iterates over a batch with while (reader.Next()). Then status() tells whether end and count are right.
class BatchReader {
 public:
  explicit BatchReader(std::string_view batch);

  bool Next();
  kv::Sequence first_sequence() const { return first_; }
  uint32_t count() const { return count_; }                     // the count in the header
  kv::Sequence sequence() const { return first_ + done_ - 1; }  // of the current operation
  kv::Kind kind() const { return kind_; }                       // kPut or kDelete
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  const Status& status() const { return status_; }

 private:
  std::string_view rest_;
  kv::Sequence first_ = 0;
  uint32_t count_ = 0;
  uint32_t done_ = 0;
  kv::Kind kind_ = kv::Kind::kPut;
  std::string_view key_, value_;
  Status status_;
};

void AppendBatchHeader(std::string* out, kv::Sequence first, uint32_t count);
// `kind` is kPut or kDelete.
void AppendOperation(std::string* out, kv::Kind kind, std::string_view key, std::string_view value);

}  // namespace mergedb::leveldb_format
