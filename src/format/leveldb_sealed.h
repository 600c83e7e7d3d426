// FORMAT: how the blocks of a LevelDB table are stored, and where (docs/formats/leveldb.md).
//
//   stored block := contents, perhaps compressed | codec u8 | masked crc u32 of both     codec: 0 none, 1 snappy, 2 zstd
//   handle       := offset varint64 | bytes varint64                                     without the 5 bytes behind
//   footer       := metaindex handle | index handle | zeros | magic u64                  48 bytes
//
// A block is compressed if that saves more than an eighth.
//
// Tests: tests/unit/format/leveldb_table_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mergedb/options.h"
#include "mergedb/result.h"

namespace mergedb::format::leveldb {

inline constexpr size_t kBlockTrailerBytes = 5;
inline constexpr size_t kTableFooterBytes = 48;
// Larger blocks are NotSupported. WHY: a few hostile bytes could else ask for any memory; and no value of mergedb is larger.
inline constexpr uint64_t kBlockBytesMax = (uint64_t{1} << 30) + (uint64_t{16} << 20);

struct Handle {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // without the trailer
  friend bool operator==(const Handle&, const Handle&) = default;
};
void AppendHandle(std::string* out, const Handle& handle);
// What follows the handle is not looked at. Corruption.
Result<Handle> DecodeHandle(std::string_view bytes);
// The whole stored block lies in a file of so many bytes, before its footer. Corruption; NotSupported if it is too large.
Status CheckHandle(const Handle& handle, uint64_t file_bytes);

struct TableFooter {
  Handle metaindex;
  Handle index;
};
std::string EncodeTableFooter(const TableFooter& footer);
// `bytes` are the file's last kTableFooterBytes, or all of a shorter file. Corruption.
Result<TableFooter> DecodeTableFooter(std::string_view bytes);

// How table blocks are compressed: kNone, kSnappy, or kZstd with a level (stock LevelDB 1.23 reads the first two).
struct BlockCodec {
  Compression compression = Compression::kSnappy;
  int zstd_level = 1;
};
// Append `block` as it is stored; returns its bytes without the trailer.
size_t SealBlock(std::string_view block, const BlockCodec& codec, std::string* out);
// The block in `stored`, which ends with the trailer. Corruption.
Result<std::string> OpenBlock(std::string stored, bool verify_checksum);

}  // namespace mergedb::format::leveldb
