// FORMAT: value files (docs/formats/values.md): large values, each written once, with the key that it was put under.
//
//   value file := record* | zeros | footer                                           a multiple of 4096 bytes in all
//   record     := crc u32 | codec u8 | key bytes varint32 | stored bytes varint32 | key | stored
//   footer     := see EncodeValueFooter; 64 bytes
//   reference  := file number varint64 | offset varint64 | record bytes varint32     the value of a PUT_REF in a table
//
// A record's crc covers all of the record behind it, then the file's unique id and the record's offset in the file. So a
// reference that leads to another file, another place or another length does not pass; one that leads to another key's
// record meets another key there.
//
// WHY the key is in the record: beside that check, it makes a value file readable by itself, from front to back. Checking
// one is a sequential read, and what a damaged tree no longer reaches can be told from it. It costs 1.6 % at 1 KB.
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

// ---- references ------------------------------------------------------------------------------------------------------

struct ValueReference {
  kv::FileNumber file{};
  uint64_t offset = 0;  // of the record in its file
  uint32_t bytes = 0;   // of the record
  friend bool operator==(const ValueReference&, const ValueReference&) = default;
};
inline constexpr size_t kReferenceBytesMax = 25;
// Into `out`, which has room for kReferenceBytesMax; returns the reference's size.
size_t StoreReference(char* out, const ValueReference& reference);
[[nodiscard]] Status ParseReference(std::string_view bytes, ValueReference* reference);

// ---- records ---------------------------------------------------------------------------------------------------------

inline constexpr size_t kRecordHeadBytesMax = 15;
// The least a record has: an empty key and nothing stored.
inline constexpr size_t kRecordBytesMin = 7;
// What stands before key and stored bytes. Returns its size.
size_t StoreRecordHead(char* out, std::string_view key, std::string_view stored, Compression codec, const Place& place);
// The same without a codec, for a record that stays in memory, where nobody looks at its checksum.
size_t StoreUncheckedHead(char* out, size_t key_bytes, size_t value_bytes);

struct ValueRecord {
  Compression codec = Compression::kNone;
  std::string_view key;
  std::string_view stored;  // the value itself if there is no codec, else as format/compression.h says
};
// Corruption, with expected and found, unless `bytes` is one whole record that was written at `place`. Without `verify` the
// checksum is not computed.
[[nodiscard]] Status OpenRecord(std::string_view bytes, const Place& place, bool verify, ValueRecord* record);
// The size of the record that begins with `bytes` (kRecordHeadBytesMax of them, or all that are left).
[[nodiscard]] Status ReadRecordBytes(std::string_view bytes, uint64_t* record_bytes);

// ---- footer ----------------------------------------------------------------------------------------------------------

inline constexpr size_t kValueFooterBytes = 64;
inline constexpr uint32_t kBlobFileVersion = 1;
inline constexpr std::string_view kBlobFileMagic = "mergedb value\r\n\x1a";  // 16 bytes; text-mode copies damage it

// The footer's fields are those of the file's description.
std::string EncodeValueFooter(const BlobFileMeta& file);
// `bytes` are the last kValueFooterBytes of a file of `file_bytes`. Corruption; NotSupported if a newer version wrote it.
[[nodiscard]] Status DecodeValueFooter(std::string_view bytes, uint64_t file_bytes, BlobFileMeta* file);
// The size of a file with so many bytes of records.
uint64_t BlobFileBytes(uint64_t record_bytes);

}  // namespace mergedb::format
