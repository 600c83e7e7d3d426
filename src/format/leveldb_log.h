// FORMAT: LevelDB's log (docs/formats/leveldb.md), of which both its write-ahead log and its MANIFEST are made.
//
//   file     := block*                      32 KiB each; the last one may be shorter
//   block    := fragment* | zeros           zeros where fewer than 7 bytes are left
//   fragment := masked crc u32 | length u16 | type u8 | payload     crc over type and payload
//   type     := 1 a whole record | 2 its first part | 3 a middle one | 4 the last
//
// A tail that was cut short is a clean end: the writer died. (Unless a whole fragment lies in it: then it is a length that is damaged.) Bytes that are whole but wrong are damage: the rest of their block is passed
// over, since nothing says where the next fragment begins, and the reader says so to whoever asks.
//
// Zeros from where a fragment should begin to the end of the file are space that a writer took beforehand: a clean
// end. Zeros before other bytes are damage.
//
// The writer makes bytes and the reader asks for bytes; neither knows a file.
// Tests: tests/unit/format/leveldb_log_test.cc, on logs that LevelDB wrote.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/status.h"

namespace mergedb::format::leveldb {

inline constexpr size_t kLogBlockBytes = 32 << 10;
inline constexpr size_t kFragmentHeaderBytes = 7;

// CRC-32C in the shape that LevelDB stores, so that checksums of bytes with checksums in them are no worse than others.
uint32_t MaskCrc(uint32_t crc);
uint32_t UnmaskCrc(uint32_t masked);

class LogWriter {
 public:
  // Goes on behind a log of `bytes` bytes.
  explicit LogWriter(uint64_t bytes = 0) : block_offset_(bytes % kLogBlockBytes) {}
  // Append the record's fragments to *out.
  void Append(std::string_view record, std::string* out);

 private:
  void AppendFragment(uint8_t type, std::string_view payload, std::string* out);

  size_t block_offset_;
};

class LogReader {
 public:
  // Fills out[0, bytes) from `offset`; *got < bytes only at the end.
  using ReadAt = std::function<Status(uint64_t offset, size_t bytes, char* out, size_t* got)>;
  // Told of `bytes` bytes from `offset` that were passed over, and why.
  using OnDamage = std::function<void(uint64_t offset, uint64_t bytes, std::string_view why)>;
  LogReader(ReadAt read, OnDamage on_damage) : read_(std::move(read)), on_damage_(std::move(on_damage)) {}

  // The next whole record, which lives until the next call. False at the end, or after an error of `read`.
  bool Next(std::string_view* record);
  const Status& status() const { return status_; }
  uint64_t record_offset() const { return record_offset_; }  // of the last record's first fragment
  // In OnDamage: there is a whole fragment among the bytes passed over, or behind them if they are zeros. A crash
  // leaves no such thing behind it.
  bool passed_over_whole() const { return passed_over_whole_; }
  bool is_cut_short() const { return is_cut_short_; }  // REQUIRES: at the end. It lies within a record

 private:
  struct Fragment {
    uint8_t type;
    std::string_view payload;
    uint64_t offset;
  };
  bool NextFragment(Fragment* fragment);
  bool ReadBlock();
  void SkipBlock(std::string_view why);
  void TellHole();                        // if zeros lie before the place where it is being read
  bool IsWholeFragment(size_t at) const;  // of the block in memory
  bool HasWholeFragmentBehind();          // the place where it is being read
  void DropPartial(std::string_view why);

  const ReadAt read_;
  const OnDamage on_damage_;
  std::string block_;
  uint64_t block_begin_ = 0;  // of the block in memory
  size_t at_ = 0;             // in it
  bool has_block_ = false;
  bool is_last_ = false;  // nothing comes after it
  std::string partial_;   // fragments of a record so far
  bool in_partial_ = false;
  std::optional<uint64_t> hole_begin_;  // zeros reach from here to the end of the block in memory
  uint64_t partial_offset_ = 0;
  uint64_t record_offset_ = 0;
  bool is_cut_short_ = false;
  bool passed_over_whole_ = false;
  int probes_left_ = 16;  // each costs some 30 ms: a file that is all damage must not cost hours
  Status status_;
};

}  // namespace mergedb::format::leveldb
