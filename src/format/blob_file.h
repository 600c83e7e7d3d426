// FORMAT: blob files (docs/formats/blob.md). A blob file stores large values, each once, together with its key.
//
//   blob file  := record* | zeros | footer                                           size: a multiple of 4096 bytes
//   record     := crc u32 | codec u8 | key bytes varint32 | stored bytes varint32 | key | stored
//   footer     := see EncodeBlobFooter; 64 bytes
//   blob index := file number varint64 | offset varint64 | record bytes varint32     the value of an entry in a table
//
// A record's crc is computed over the bytes of the record after the crc, the unique id of the file, and the
// offset of the record in the file. So a blob index with a wrong file, offset or length fails the check. A blob
// index that points to the record of another key is detected by comparing keys.
//
// WHY the record contains the key: a reader can check a blob file sequentially, without the tables, and repair
// can tell which keys the records belong to. The cost is 1.6 % of the size at values of 1 KB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "format/table_layout.h"
#include "format/version_edit.h"
#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb::format {

// ---- blob indexes ---------------------------------------------------------------------------------------------------

struct BlobIndex {
  kv::FileNumber file{};
  uint64_t offset = 0;  // of the record in its file
  uint32_t bytes = 0;   // of the record
  friend bool operator==(const BlobIndex&, const BlobIndex&) = default;
};
inline constexpr size_t kBlobIndexBytesMax = 25;
// Writes to `out`, which has room for kBlobIndexBytesMax bytes. Returns the size of the blob index.
size_t EncodeBlobIndex(char* out, const BlobIndex& reference);
[[nodiscard]] Status DecodeBlobIndex(std::string_view bytes, BlobIndex* reference);

// ---- records --------------------------------------------------------------------------------------------------------

inline constexpr size_t kRecordHeadBytesMax = 15;
// The size of the smallest record: an empty key and an empty value.
inline constexpr size_t kRecordBytesMin = 7;
// Writes the part of a record before its key. Returns the size of that part.
size_t StoreRecordHead(char* out, std::string_view key, std::string_view stored, Compression codec, const Place& place);
// The same with codec kNone and checksum 0, for a record that stays in memory and whose checksum is never read.
size_t StoreUncheckedHead(char* out, size_t key_bytes, size_t value_bytes);

struct BlobRecord {
  Compression codec = Compression::kNone;
  std::string_view key;
  std::string_view stored;  // the value if the codec is kNone, else see format/compression.h
};
// Returns Corruption, with expected and found, unless `bytes` is exactly one record that was written at `place`.
// If `verify` is false, the checksum is not compared. An unknown codec is NotSupported.
[[nodiscard]] Status OpenRecord(std::string_view bytes, const Place& place, bool verify, BlobRecord* record);
// The size of the record that begins with `bytes` (kRecordHeadBytesMax of them, or all up to the end of the file).
[[nodiscard]] Status ReadRecordBytes(std::string_view bytes, uint64_t* record_bytes);

// ---- footer ---------------------------------------------------------------------------------------------------------

inline constexpr size_t kBlobFooterBytes = 64;
inline constexpr uint32_t kBlobFileVersion = 1;
inline constexpr std::string_view kBlobFileMagic = "mergedb value\r\n\x1a";  // 16 bytes; a copy in text mode damages it

std::string EncodeBlobFooter(const BlobFileMeta& file);
// `bytes` are the last kBlobFooterBytes of a file of `file_bytes`. NotSupported if a newer version wrote them.
[[nodiscard]] Status DecodeBlobFooter(std::string_view bytes, uint64_t file_bytes, BlobFileMeta* file);
uint64_t BlobFileBytes(uint64_t record_bytes);

}  // namespace mergedb::format
