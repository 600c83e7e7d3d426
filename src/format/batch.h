// FORMAT: the records of a WriteBatch. They are also the payload of a WAL frame (docs/formats/batch.md).
//
//   batch  := record*
//   record := kind u8 | [keyspace varint32, if kind & 0x80] | key length varint32 | value length varint32 | key | value
//             (a DELETE has no value length and no value; a RANGE_DELETE's key is the range's begin, its value the end)
//
// Record n of a batch, from 0, has sequence (first + n). The flag 0x80 appears only in batches made by callers:
// src/db/access/keyspace_access.cc rewrites each key to a tree key that contains the keyspace (kv/key_map.h) before the
// batch goes to the WAL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/key.h"
#include "mergedb/status.h"

namespace mergedb::format {

inline constexpr uint8_t kKeyspaceFlag = 0x80;
inline constexpr size_t kRecordHeaderBytesMax = 1 + 5 + 5;

size_t RecordBytes(kv::Kind kind, size_t key_bytes, size_t value_bytes);
// The bytes of a record before its key.
class RecordHeader {
 public:
  RecordHeader(kv::Kind kind, size_t key_bytes, size_t value_bytes);
  std::string_view view() const { return {bytes_, count_}; }

 private:
  char bytes_[24];  // 24, since lengths above 32 bits are stored in full
  size_t count_;
};
void AppendRecord(std::string* out, kv::Kind kind, std::string_view key, std::string_view value);
// The same, in a keyspace other than the default one.
void AppendRecord(std::string* out, uint32_t keyspace, kv::Kind kind, std::string_view key, std::string_view value);
// Appends only the record's header. The caller then appends the key and the value.
inline void AppendRecordHeader(std::string* out, kv::Kind kind, size_t key_bytes, size_t value_bytes) {
  out->append(RecordHeader(kind, key_bytes, value_bytes).view());
}

// Iterates over a batch with `while (reader.Next())`. Then status() tells whether the batch ended cleanly.
class BatchReader {
 public:
  enum class Form : uint8_t { kTree, kCaller };  // kTree: a record with the keyspace flag is NotSupported
  explicit BatchReader(std::string_view rep, Form form = Form::kTree) : rest_(rep), begin_(rep.data()), form_(form) {}
  bool Next();
  kv::Kind kind() const { return kind_; }
  uint32_t keyspace() const { return keyspace_; }  // 0 in Form::kTree
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  const Status& status() const { return status_; }  // Corruption names offset, expected and found

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
