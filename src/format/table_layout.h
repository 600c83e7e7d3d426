// The layout of a table file, and the checksums of its parts.
//
// FORMAT: docs/formats/table.md
//
//   table   := block* | filter? | range tombstones? | index? | properties | zeros | footer    a multiple of 4096 bytes;
//              a table that overwrote a recycled file may have more zeros than the multiple needs
//              (db/state/recycled_files.h)
//   block, filter, range tombstones, index, properties := payload | trailer
//   trailer := codec u8 | crc u32                          5 bytes; codec is a mergedb::Compression
//   footer  := unique id u64 | file bytes u64 | data bytes u64 | filter bytes u64 ... (see EncodeFooter)   96 bytes
//
// Each crc is CRC-32C over payload and codec, then over the table's unique id and the payload's offset in the
// file. So a whole part at a wrong offset or in a wrong file fails the check. The sections follow one another
// without gaps, so their sizes give their offsets.
//
// WHY a multiple of 4096: direct I/O can write the file without a truncate at its end.
#pragma once

#include <cstddef>
#include <cstdint>
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
// The newest version. A table without range tombstones has version 1.
inline constexpr uint32_t kTableVersion = 2;
inline constexpr std::string_view kTableMagic = "mergedb table\r\n\x1a";  // 16 bytes; a copy in text mode damages it

// The place of a part, which its checksum includes.
struct Place {
  uint64_t unique_id = 0;
  uint64_t offset = 0;
};

// `crc`, extended over the place.
uint32_t Salted(uint32_t crc, const Place& place);
void StoreTrailer(char* out, std::string_view payload, Compression codec, const Place& place);

struct Part {
  Compression codec = Compression::kNone;
  std::string_view payload;
};
// Returns Corruption, with expected and found, unless `stored` is whole and was written at `place`. If `verify`
// is false, the checksum is not compared. An unknown codec is NotSupported.
[[nodiscard]] Status OpenPart(std::string_view stored, const Place& place, bool verify, Part* part);

// FORMAT: a footer of a table or of a blob file := fields | crc u32 of all other bytes | version u32 | magic, 16 bytes
// All versions keep crc, version and magic at this distance from the end.
inline constexpr size_t kFooterEndBytes = 24;
struct FooterFormat {
  std::string_view name;  // for messages
  std::string_view magic;
  size_t bytes = 0;
  uint32_t version_max = 0;
};
void StoreFooterEnd(const FooterFormat& format, uint32_t version, std::string* footer);
// NotSupported if a version above `version_max` wrote the footer.
[[nodiscard]] Status CheckFooterEnd(const FooterFormat& format, std::string_view footer, uint32_t* version);

struct Footer {
  uint64_t unique_id = 0;
  uint64_t file_bytes = 0;
  uint64_t data_bytes = 0;             // of all blocks; the filter follows
  uint64_t filter_bytes = 0;           // 0: no filter
  uint64_t index_bytes = 0;            // 0: no blocks
  uint64_t properties_bytes = 0;       // each size includes the trailers
  uint64_t range_tombstone_bytes = 0;  // 0: none

  uint64_t range_tombstone_offset() const { return data_bytes + filter_bytes; }
  uint64_t index_offset() const { return range_tombstone_offset() + range_tombstone_bytes; }
  uint64_t properties_offset() const { return index_offset() + index_bytes; }
  uint64_t sections_end() const { return properties_offset() + properties_bytes; }
  friend bool operator==(const Footer&, const Footer&) = default;
};
std::string EncodeFooter(const Footer& footer);
// `bytes` are the last kFooterBytes of a file of `file_bytes`. NotSupported if a newer version wrote them.
[[nodiscard]] Status DecodeFooter(std::string_view bytes, uint64_t file_bytes, Footer* footer);
// The smallest file size for sections that end at `sections_end`.
uint64_t TableBytes(uint64_t sections_end);

// FORMAT: properties := (tag varint32, payload length varint32, payload)*
//         an unknown tag below 64 is NotSupported ("newer version"), an unknown tag from 64 up is skipped
//
// A range that a flush or a compaction has compacted. Repair uses it if there is no MANIFEST
// (docs/decisions/0015-repair.md). Each version of a key in `bounds` with a sequence in [from, sequence] has gone
// through this flush or compaction. So its copies in the WAL and in older tables are obsolete.
struct CompactedRange {
  kv::Sequence from = 0;  // 0: the inputs include the oldest run
  kv::Sequence sequence = 0;
  Bounds bounds = {};
  friend bool operator==(const CompactedRange&, const CompactedRange&) = default;
};

struct Properties {
  FileMeta meta;  // except `bytes`, which the footer stores
  std::string comparator;
  std::string writer;                                 // name of the program that wrote the table, for people: "mergedb"
  std::vector<CompactedRange> compacted_ranges = {};  // their bounds do not overlap
  std::string filter_policy = {};                     // the program's own policy; empty: a bloom filter
  friend bool operator==(const Properties&, const Properties&) = default;
};
std::string EncodeProperties(const Properties& properties);
[[nodiscard]] Status DecodeProperties(std::string_view bytes, Properties* properties);

}  // namespace mergedb::format
