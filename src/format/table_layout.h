// Where things are in a table file, and how each of them is known to be whole.
//
// FORMAT: docs/formats/table.md
//
//   table   := block* | filter? | range tombstones? | index? | properties | zeros | footer    a multiple of 4096 bytes in all;
//              the zeros are longer than the multiple asks for where a table was written into a spare file (db/recycled_files.h)
//   block, filter, range tombstones, index, properties := payload | trailer
//   trailer := codec u8 | crc u32                          5 bytes; codec is a mergedb::Compression
//   footer  := unique id u64 | file bytes u64 | data bytes u64 | filter bytes u32x2 ... (see StoreFooter)   96 bytes
//
// Each crc is CRC-32C over payload and codec, then over the table's unique id and the payload's offset in the file: a part
// that is whole but stands in the wrong place, or in the wrong file, does not pass (rule W9). Sections follow each other
// without a gap, so the sizes say where they are.
//
// A file that ends on a multiple of 4096 is written past the page cache without a truncate at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/version_edit.h"
#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb::format {

inline constexpr size_t kTrailerBytes = 5;
inline constexpr size_t kFooterBytes = 96;
inline constexpr size_t kTableAlign = 4096;
inline constexpr uint32_t kTableVersion =
    2;  // the newest: 1 has no range tombstones, and is what a table without them says
inline constexpr std::string_view kTableMagic = "mergedb table\r\n\x1a";  // 16 bytes; text-mode copies damage it

// What a part's checksum knows of its place.
struct Place {
  uint64_t unique_id = 0;
  uint64_t offset = 0;
};

void StoreTrailer(char* out, std::string_view payload, Compression codec, const Place& place);

// A stored part, taken apart.
struct Part {
  Compression codec = Compression::kNone;
  std::string_view payload;
};
// Corruption, with expected and found, unless `stored` is whole and stands where it was written. Without `verify` the
// checksum is not computed.
[[nodiscard]] Status OpenPart(std::string_view stored, const Place& place, bool verify, Part* part);

struct Footer {
  uint64_t unique_id = 0;
  uint64_t file_bytes = 0;
  uint64_t data_bytes = 0;             // of all blocks: the filter begins here
  uint64_t filter_bytes = 0;           // 0: no filter
  uint64_t index_bytes = 0;            // 0: no blocks
  uint64_t properties_bytes = 0;       // trailers included in each
  uint64_t range_tombstone_bytes = 0;  // 0: none

  uint64_t range_tombstone_offset() const { return data_bytes + filter_bytes; }
  uint64_t index_offset() const { return range_tombstone_offset() + range_tombstone_bytes; }
  uint64_t properties_offset() const { return index_offset() + index_bytes; }
  uint64_t sections_end() const { return properties_offset() + properties_bytes; }
  friend bool operator==(const Footer&, const Footer&) = default;
};
std::string EncodeFooter(const Footer& footer);
// `bytes` are the last kFooterBytes of a file of `file_bytes`. Corruption; NotSupported if a newer version wrote it.
[[nodiscard]] Status DecodeFooter(std::string_view bytes, uint64_t file_bytes, Footer* footer);
// The size of the least file that these sections make.
uint64_t TableBytes(uint64_t sections_end);

// FORMAT: properties := (tag varint32, payload length varint32, payload)*    an unknown tag below 64 is NotSupported ("newer
//                       version"), an unknown tag from 64 up is skipped
//
// What a flush or a merge knows of its output, for whoever must do without a MANIFEST (docs/decisions/0015-repair.md): every version of
// a key in `bounds` with a sequence of at least `from` and up to `sequence`, wherever it may still lie, is settled: this table has it
// or outlived it.
struct CompactedRange {
  kv::Sequence from = 0;  // 0: nothing older was left below, as in a merge into the bottom
  kv::Sequence sequence = 0;
  Bounds bounds = {};
  friend bool operator==(const CompactedRange&, const CompactedRange&) = default;
};

struct Properties {
  FileMeta meta;  // but for `bytes`, which the footer has
  std::string comparator;
  std::string writer;                                 // "mergedb": which program wrote it, for people
  std::vector<CompactedRange> compacted_ranges = {};  // of key ranges that do not overlap
  std::string filter_policy = {};                     // of the program's own; empty: the filter is a bloom
  friend bool operator==(const Properties&, const Properties&) = default;
};
std::string EncodeProperties(const Properties& properties);
[[nodiscard]] Status DecodeProperties(std::string_view bytes, Properties* properties);

}  // namespace mergedb::format
