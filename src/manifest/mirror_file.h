// A small append-only file in which every byte is stored twice, far apart, so that no single damage loses a record.
//
// The simple truth: records, each with a checksum chained to its predecessor's, appended and synced one at a time. A MANIFEST
// whose last record were silently lost would bring back deleted files and replay the wrong log; and a damaged last record
// looks exactly like one that a crash cut short. So there are two copies:
//
//   file    := page pair*                      always a multiple of 64 KiB: a shorter file was truncated
//   pair    := page A (32 KiB) | page B (32 KiB)
//   stream  := the A pages one after the other = the B pages one after the other
//   stream  := header | record*                then zeros
//   FORMAT: header (40 bytes)  "mergedb manifest" | format version u32 | file number u32 | database id u64 | crc32c u32 | 0 u32
//   FORMAT: record  crc u32 | length u32 | payload      crc = crc32c(chain: the predecessor's crc, length, payload)
//           bit 31 of the length: the payload goes on in the next record (payloads above kPartBytesMax)
//
// A record is there if either copy is whole. If both are torn it never was: the writer syncs before it acts on a record.
// Hence at most one record is unfinished, and nothing stands behind it: a whole record behind a broken one proves damage.
// Damage to both copies of the last record looks like a crash. MirrorEnd tells: CURRENT keeps how far the file reached for sure.
// Pages are written (zeros) and synced before records enter them, so that a record's sync carries no metadata.
// docs/formats/manifest.md; tests/unit/manifest/mirror_file_test.cc flips every byte, zeroes every page, cuts every length.
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
inline constexpr uint64_t kPartBytesMax = uint64_t{256} << 20;  // of a record's payload; a larger one goes on in the next record

struct Identity {
  uint64_t database_id = 0;
  kv::FileNumber number{};
};

// A point behind a record that was durable: the stream's length there, and that record's checksum, which stands for all before it.
struct MirrorEnd {
  uint64_t bytes = 0;
  uint32_t chain = 0;

  friend bool operator==(const MirrorEnd&, const MirrorEnd&) = default;
};

// THREADS: one at a time.
class MirrorWriter {
 public:
  // Creates the file with its header; durable only after the first Append (and its directory's sync).
  static Result<std::unique_ptr<MirrorWriter>> Create(FileSystem* file_system, const std::string& path, const Identity& identity,
                                                      uint64_t part_bytes_max = kPartBytesMax);
  // A whole file of one payload, written from front to back, and synced. Returns its end.
  static Result<MirrorEnd> WriteWhole(FileSystem* file_system, const std::string& path, const Identity& identity,
                                      std::string_view payload, uint64_t part_bytes_max = kPartBytesMax);
  // Append and sync. After a failure the file's content is unknown: use it no more.
  Status Append(std::string_view payload);
  uint64_t bytes() const { return end_; }  // of the stream
  MirrorEnd end() const { return {.bytes = end_, .chain = chain_}; }

 private:
  MirrorWriter(std::unique_ptr<File> file, uint64_t part_bytes_max) : file_(std::move(file)), part_bytes_max_(part_bytes_max) {}
  Status Extend(uint64_t stream_bytes);
  Status WriteStream(uint64_t offset, std::string_view bytes);
  Status AppendPart(std::string_view part, bool goes_on);

  std::unique_ptr<File> file_;
  const uint64_t part_bytes_max_;
  uint64_t end_ = 0;       // of the stream
  uint64_t capacity_ = 0;  // of the stream: page pairs written
  uint32_t chain_ = 0;
};

// Bytes of the file that are not as they should be; another copy of them is whole, or they are the tail.
struct MirrorFlaw {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string what;

  friend bool operator==(const MirrorFlaw&, const MirrorFlaw&) = default;
};

struct MirrorContents {
  Identity identity;
  uint64_t records = 0;        // payloads given to the caller
  uint64_t repaired = 0;       // records of which one copy was damaged
  uint64_t dropped_bytes = 0;  // a torn tail
  std::vector<MirrorFlaw> flaws;
  std::vector<MirrorFlaw> tail;  // what is not zero behind the last record: an unfinished one, if a crash came between
};

// Calls `apply` for every payload in order. Corruption: identity or size; a whole record behind one of which both copies are damaged; the
// stream does not pass `reached`. NotSupported: a future format version. Else, where neither copy of a record is whole the stream ends:
// what follows is dropped and counted, as after a crash. Memory: one payload, whatever the file's size.
Result<MirrorContents> ReadMirror(FileSystem* file_system, const std::string& path,
                                  const std::function<Status(std::string_view)>& apply,
                                  const std::optional<MirrorEnd>& reached = {});

}  // namespace mergedb::manifest
