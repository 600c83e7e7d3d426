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
//
// A record is there if either copy is whole. If both are torn it never was: the writer syncs before it acts on a record.
// Pages are written (zeros) and synced before records enter them, so that a record's sync carries no metadata.
// docs/formats/manifest.md; tests/unit/manifest/mirror_file_test.cc flips every byte, zeroes every page, cuts every length.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key.h"
#include "mergedb/env.h"

namespace mergedb::manifest {

inline constexpr size_t kPageBytes = 32 << 10;
inline constexpr uint32_t kFormatVersion = 1;

struct Identity {
  uint64_t database_id = 0;
  kv::FileNumber number{};
};

// THREADS: one at a time.
class MirrorWriter {
 public:
  // Creates the file with its header; durable only after the first Append (and its directory's sync).
  static Result<std::unique_ptr<MirrorWriter>> Create(FileSystem* file_system, const std::string& path,
                                                      const Identity& identity);
  // A whole file of one record, written from front to back, and synced.
  static Status WriteWhole(FileSystem* file_system, const std::string& path, const Identity& identity, std::string_view payload);
  // Append and sync. After a failure the file's content is unknown: use it no more.
  Status Append(std::string_view payload);
  uint64_t bytes() const { return end_; }  // of the stream

 private:
  MirrorWriter(std::unique_ptr<File> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Status Extend(uint64_t stream_bytes);
  Status WriteStream(uint64_t offset, std::string_view bytes);

  std::unique_ptr<File> file_;
  std::string path_;
  uint64_t end_ = 0;       // of the stream
  uint64_t capacity_ = 0;  // of the stream: page pairs written
  uint32_t chain_ = 0;
};

// Bytes of the file that are not as they should be; another copy of them is whole, or they are the tail.
struct MirrorFlaw {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string what;
};

struct MirrorContents {
  Identity identity;
  uint64_t records = 0;
  uint64_t repaired = 0;       // records of which one copy was damaged
  uint64_t dropped_bytes = 0;  // a torn tail
  std::vector<MirrorFlaw> flaws;
  std::vector<MirrorFlaw> tail;  // what is not zero behind the last record: an unfinished one, if a crash came between
};

// Calls `apply` for every record in order. Corruption: identity or size. NotSupported: a future format version. Where both copies
// of a record are damaged the stream ends: what follows is dropped and counted, as after a crash.
Result<MirrorContents> ReadMirror(FileSystem* file_system, const std::string& path,
                                  const std::function<Status(std::string_view)>& apply);

}  // namespace mergedb::manifest
