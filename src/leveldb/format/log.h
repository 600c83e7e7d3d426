// FORMAT: LevelDB's log (docs/formats/leveldb.md): the format of its WAL and of its MANIFEST.
//
//   file     := block*                      32 KiB each; the last one may be shorter
//   block    := fragment* | zeros           zeros where fewer than 7 bytes are left
//   fragment := masked crc u32 | length u16 | type u8 | payload     crc over type and payload
//   type     := 1 a whole record | 2 its first part | 3 a middle one | 4 the last
//
// A fragment that is cut short by the end of the file is a clean end: the writer crashed. But if a whole fragment
// follows within the block, the length is damaged. A fragment with a wrong checksum or length is damage. The
// reader skips the rest of its block, since it cannot know where the next fragment begins, and calls OnDamage.
//
// Zeros instead of a fragment, up to the end of the file, are preallocated space: a clean end. Zeros before other
// bytes are damage.
//
// LogWriter produces bytes and LogReader asks for bytes. Neither opens a file.
// Tests: tests/unit/leveldb/format/log_test.cc, on logs that LevelDB wrote.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/status.h"

namespace mergedb::leveldb_format {

inline constexpr size_t kLogBlockBytes = 32 << 10;
inline constexpr size_t kFragmentHeaderBytes = 7;

// CRC-32C as LevelDB stores it.
uint32_t MaskCrc(uint32_t crc);
uint32_t UnmaskCrc(uint32_t masked);

class LogWriter {
 public:
  // Continues a log that has `bytes` bytes.
  explicit LogWriter(uint64_t bytes = 0) : block_offset_(bytes % kLogBlockBytes) {}
  void Append(std::string_view record, std::string* out);

 private:
  void AppendFragment(uint8_t type, std::string_view payload, std::string* out);

  size_t block_offset_;
};

class LogReader {
 public:
  // Fills out[0, bytes) from `offset`. *got is less than `bytes` only at the end of the file.
  using ReadAt = std::function<Status(uint64_t offset, size_t bytes, char* out, size_t* got)>;
  // Called when the reader skips `bytes` bytes from `offset`.
  using OnDamage = std::function<void(uint64_t offset, uint64_t bytes, std::string_view why)>;
  LogReader(ReadAt read, OnDamage on_damage) : read_(std::move(read)), on_damage_(std::move(on_damage)) {}

  // The next whole record, which lives until the next call. False at the end of the log, or if `read` failed.
  bool Next(std::string_view* record);
  const Status& status() const { return status_; }
  uint64_t record_offset() const { return record_offset_; }  // of the last record's first fragment
  // Valid during OnDamage. True if a whole fragment lies in the skipped bytes, or behind them if they are zeros.
  // A crash does not leave such bytes. Also true after 16 searches for such fragments.
  bool passed_over_whole() const { return passed_over_whole_; }
  bool is_cut_short() const { return is_cut_short_; }  // the log ends within a record. REQUIRES: Next() returned false

 private:
  struct Fragment {
    uint8_t type;
    std::string_view payload;
    uint64_t offset;
  };
  bool NextFragment(Fragment* fragment);
  bool ReadBlock();
  void SkipBlock(std::string_view why);
  void TellHole();                        // reports zeros before `at_`, if there are any
  bool IsWholeFragment(size_t at) const;  // at an offset in the block in memory
  bool HasWholeFragmentBehind();          // at any offset after `at_` in the block in memory
  void DropPartial(std::string_view why);

  const ReadAt read_;
  const OnDamage on_damage_;
  std::string block_;
  uint64_t block_begin_ = 0;  // of the block in memory
  size_t at_ = 0;             // read position in the block
  bool has_block_ = false;
  bool is_last_ = false;  // the block in memory is the last one
  std::string partial_;   // the current record's fragments
  bool in_partial_ = false;
  std::optional<uint64_t> hole_begin_;  // the bytes from here to the end of the block in memory are zeros
  uint64_t partial_offset_ = 0;
  uint64_t record_offset_ = 0;
  bool is_cut_short_ = false;
  bool passed_over_whole_ = false;
  int probes_left_ = 16;  // a search takes about 30 ms; the limit bounds the time for a damaged file
  Status status_;
};

}  // namespace mergedb::leveldb_format
