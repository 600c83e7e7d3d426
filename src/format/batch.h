// FORMAT: the records of a WriteBatch, which are also the payload of a log frame (docs/formats/batch.md).
//
//   batch  := record*
//   record := kind u8 | [keyspace varint32, if kind & 0x80] | key length varint32 | value length varint32 | key | value
//             (a DELETE has no value length and no value; a RANGE_DELETE's key is the range's begin, its value the end)
//
// The n-th record of a batch has sequence (first + n). The flag stands in batches as callers make them; before one is logged
// src/db/keyspaces.cc turns each record into one of the tree, whose key says the keyspace (kv/key_map.h). Logs hold no flags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/key.h"
#include "mergedb/status.h"

namespace mergedb::format {

inline constexpr uint8_t kKeyspaceFlag = 0x80;
inline constexpr size_t kRecordHeaderBytesMax = 1 + 5 + 5;

// Exactly the bytes of a record.
size_t RecordBytes(kv::Kind kind, size_t key_bytes, size_t value_bytes);
// What stands before the key.
class RecordHeader {
 public:
  RecordHeader(kv::Kind kind, size_t key_bytes, size_t value_bytes);
  std::string_view view() const { return {bytes_, count_}; }

 private:
  char bytes_[24];  // WHY so many: lengths beyond varint32 are written as they are
  size_t count_;
};
void AppendRecord(std::string* out, kv::Kind kind, std::string_view key, std::string_view value);
// In a keyspace other than the default one.
void AppendRecord(std::string* out, uint32_t keyspace, kv::Kind kind, std::string_view key, std::string_view value);
// The same as without, up to the key, for who appends key and value itself.
inline void AppendRecordHeader(std::string* out, kv::Kind kind, size_t key_bytes, size_t value_bytes) {
  out->append(RecordHeader(kind, key_bytes, value_bytes).view());
}

// Walks a batch. `while (reader.Next())`; then status() says whether the end was clean.
class BatchReader {
 public:
  enum class Form : uint8_t { kTree, kCaller };  // a record with a keyspace flag is NotSupported in the former
  explicit BatchReader(std::string_view rep, Form form = Form::kTree) : rest_(rep), begin_(rep.data()), form_(form) {}
  bool Next();
  kv::Kind kind() const { return kind_; }
  uint32_t keyspace() const { return keyspace_; }  // 0 in the form of the tree
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  const Status& status() const { return status_; }  // Corruption: offset, expected, found

 private:
  std::string_view rest_;
  const char* begin_;
  const Form form_;
  kv::Kind kind_ = kv::Kind::kPut;
  uint32_t keyspace_ = 0;
  std::string_view key_, value_;
  Status status_;
};

}  // namespace mergedb::format
