// An append-only file that stores each byte twice, far apart, so that no single damage loses a record.
//
// The file is a sequence of records. Each has a checksum chained to that of the record before it, and is appended
// and synced on its own. If the last record of a MANIFEST were lost silently, deleted files would reappear and
// replay would read the wrong part of the WAL. But a damaged last record looks exactly like a record that a crash
// cut short. So there are two copies:
//
//   file    := page pair* | zeros              zeros: less than a pair; a crash interrupted adding a pair
//   pair    := page A (32 KiB) | page B (32 KiB)         64 KiB
//   stream  := the A pages one after the other = the B pages one after the other
//   stream  := header | record* | zeros        at least 8 zeros: a stream that ends earlier was truncated
//   FORMAT: header (40 bytes)
//           "mergedb manifest" | format version u32 | file number u32 | database id u64 | crc32c u32 | 0 u32
//   FORMAT: record  crc u32 | length u32 | payload      crc = crc32c(chain: the predecessor's crc, length, payload)
//           bit 31 of the length: the payload continues in the next record (payloads above kPartBytesMax)
//
// A record is valid if either copy is whole. If both copies are torn, the record was never acknowledged, since
// the writer syncs each record before it acts on it. So at most one record is unfinished, and only zeros follow
// it. A whole record after a broken one therefore proves damage. Damage to both copies of the last record looks
// like a crash; MirrorEnd detects it: CURRENT stores a point that the file is known to have reached.
//
// Zeroed pages are written and synced before a record is written to them, so syncing a record writes no metadata.
//
// Format: docs/formats/manifest.md.
// Tests: tests/unit/manifest/mirror_file_test.cc flips each byte, zeroes each page, cuts each length.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key.h"
#include "mergedb/env.h"

namespace mergedb::manifest {

inline constexpr size_t kPageBytes = 32 << 10;
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint64_t kPartBytesMax = uint64_t{256} << 20;  // in one record

struct Identity {
  uint64_t database_id = 0;
  kv::FileNumber number{};

  friend bool operator==(const Identity&, const Identity&) = default;
};

// A point after a durable record: the length of the stream there, and that record's checksum. Since checksums are
// chained, it stands for all records before it.
struct MirrorEnd {
  uint64_t bytes = 0;
  uint32_t chain = 0;

  friend bool operator==(const MirrorEnd&, const MirrorEnd&) = default;
};

// THREADS: one at a time.
class MirrorWriter {
 public:
  // Creates the file with its header. The file is durable only after the first Append and a sync of its directory.
  static Result<std::unique_ptr<MirrorWriter>> Create(FileSystem* file_system, const std::string& path,
                                                      const Identity& identity,
                                                      uint64_t part_bytes_max = kPartBytesMax);
  // Writes a whole file with one payload from front to back, and syncs it. Returns its end.
  static Result<MirrorEnd> WriteWhole(FileSystem* file_system, const std::string& path, const Identity& identity,
                                      std::string_view payload, uint64_t part_bytes_max = kPartBytesMax);
  // Appends and syncs. After a failure the contents of the file are unknown: do not use the writer again.
  Status Append(std::string_view payload);
  uint64_t bytes() const { return end_; }  // of the stream
  MirrorEnd end() const { return {.bytes = end_, .chain = chain_}; }

 private:
  MirrorWriter(std::unique_ptr<File> file, uint64_t part_bytes_max)
      : file_(std::move(file)), part_bytes_max_(part_bytes_max) {}
  Status Extend(uint64_t stream_bytes);
  Status WriteStream(uint64_t offset, std::string_view bytes);
  Status AppendPart(std::string_view part, bool goes_on);

  std::unique_ptr<File> file_;
  const uint64_t part_bytes_max_;
  uint64_t end_ = 0;       // of the stream
  uint64_t capacity_ = 0;  // of the stream: page pairs written
  uint32_t chain_ = 0;
};

// Damaged bytes of the file. Either the other copy of them is whole, or they are part of the tail.
struct MirrorFlaw {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string what;

  friend bool operator==(const MirrorFlaw&, const MirrorFlaw&) = default;
};

struct MirrorContents {
  Identity identity;
  uint64_t records = 0;  // payloads passed to `apply`
  // Records of which one copy was damaged. Counts a damaged header only if its first copy is damaged.
  uint64_t repaired = 0;
  uint64_t dropped_bytes = 0;  // length of the tail
  std::vector<MirrorFlaw> flaws;
  // Bytes after the last record that are not zero: an unfinished record, if a crash interrupted the writer.
  std::vector<MirrorFlaw> tail;
};

// Calls `apply` for each payload in order. Uses memory for one payload.
//
// Corruption: a damaged header or first record; a wrong size; a whole record after a record of which both copies
// are damaged; the stream does not pass `reached`. NotSupported: a newer format version. Otherwise the stream
// ends at the first record without a whole copy. The bytes after it are dropped and counted, as after a crash.
Result<MirrorContents> ReadMirror(FileSystem* file_system, const std::string& path,
                                  const std::function<Status(std::string_view)>& apply,
                                  const std::optional<MirrorEnd>& reached = {});

}  // namespace mergedb::manifest
