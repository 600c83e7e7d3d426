// FORMAT: the records of a WriteBatch, which are also the payload of a log frame (docs/formats/batch.md).
//
//   batch  := record*
//   record := kind u8 | [keyspace varint32, if kind & 0x80] | key length varint32 | value length varint32 | key | value
//             (a DELETE has no value length and no value; a RANGE_DELETE's key is the range's begin, its value the end)
//
// The n-th record of a batch has sequence (first + n). A keyspace flag is NotSupported until keyspaces arrive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/key.h"
#include "mergedb/status.h"

namespace mergedb::format {

inline constexpr uint8_t kKeyspaceFlag = 0x80;
inline constexpr size_t kRecordHeaderBytesMax = 1 + 5 + 5;

// Exactly the bytes that StoreRecord writes.
size_t RecordBytes(kv::Kind kind, size_t key_bytes, size_t value_bytes);
// Write one record at `out`; returns its end.
char* StoreRecord(char* out, kv::Kind kind, std::string_view key, std::string_view value);
void AppendRecord(std::string* out, kv::Kind kind, std::string_view key, std::string_view value);
// The same up to the key, for who appends key and value itself.
void AppendRecordHeader(std::string* out, kv::Kind kind, size_t key_bytes, size_t value_bytes);

// Walks a batch. `while (reader.Next())`; then status() says whether the end was clean.
class BatchReader {
 public:
  explicit BatchReader(std::string_view rep) : rest_(rep), begin_(rep.data()) {}
  bool Next();
  kv::Kind kind() const { return kind_; }
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  const Status& status() const { return status_; }  // Corruption: offset, expected, found

 private:
  std::string_view rest_;
  const char* begin_;
  kv::Kind kind_ = kv::Kind::kPut;
  std::string_view key_, value_;
  Status status_;
};

}  // namespace mergedb::format
