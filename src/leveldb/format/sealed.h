// FORMAT: how the blocks of a LevelDB table are stored, and where they are (docs/formats/leveldb.md).
//
//   stored block := contents, maybe compressed | codec u8 | masked crc u32 of both      codec: 0 none, 1 snappy, 2 zstd
//   handle       := offset varint64 | bytes varint64                                    bytes: without the trailer of 5
//   footer       := metaindex handle | index handle | zeros | magic u64                 48 bytes
//
// A block is stored compressed if that saves more than an eighth.
//
// Tests: tests/unit/leveldb/format/table_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mergedb/options.h"
#include "mergedb/result.h"

namespace mergedb::leveldb_format {

inline constexpr size_t kBlockTrailerBytes = 5;
inline constexpr size_t kTableFooterBytes = 48;
// Larger blocks are NotSupported. WHY a limit: otherwise a few damaged bytes could ask for any amount of memory.
// No value in mergedb is larger.
inline constexpr uint64_t kBlockBytesMax = (uint64_t{1} << 30) + (uint64_t{16} << 20);

struct Handle {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // without the trailer
  friend bool operator==(const Handle&, const Handle&) = default;
};
void AppendHandle(std::string* out, const Handle& handle);
// Ignores bytes after the handle. Corruption if there is no handle.
Result<Handle> DecodeHandle(std::string_view bytes);
// Corruption unless the stored block lies before the footer of the file. NotSupported if the block is too large.
Status CheckHandle(const Handle& handle, uint64_t file_bytes);

struct TableFooter {
  Handle metaindex;
  Handle index;
};
std::string EncodeTableFooter(const TableFooter& footer);
// `bytes` are the file's last kTableFooterBytes, or the whole of a shorter file. Corruption if there is no footer.
Result<TableFooter> DecodeTableFooter(std::string_view bytes);

// How table blocks are compressed: kNone, kSnappy, or kZstd with a level. Stock LevelDB 1.23 cannot read zstd.
struct BlockCodec {
  Compression compression = Compression::kSnappy;
  int zstd_level = 1;
};
// Appends `block` as stored. Returns the size of its contents, without the trailer.
size_t SealBlock(std::string_view block, const BlockCodec& codec, std::string* out);
// Returns the block in `stored`, which ends with the trailer. Corruption if it is damaged.
Result<std::string> OpenBlock(std::string stored, bool verify_checksum);

}  // namespace mergedb::leveldb_format
