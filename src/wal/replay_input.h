// The input of replay: the stream bytes that the WAL segments hold, by position, and the WAL buffer.
//
//     generation 1   |=============== [0, 16M)
//     generation 2        |=============== [5M, 21M)       made when a write to 1 failed at 5M
//     result          11112222222222222222
//
// Read-only: plain reads, no mapping, so a damaged or read-only directory is no obstacle. The code here finds
// bytes; replay decides which of them count.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mergedb/env.h"
#include "wal/frame.h"

namespace mergedb::wal {

class SegmentBytes {
 public:
  [[nodiscard]] Status Add(kv::FileNumber number, const SegmentHead& head, std::unique_ptr<File> file);

  // The stream's bytes [position, position + bytes), as far as the files hold them without a gap. The result
  // is valid until the next call.
  Status Read(uint64_t position, size_t bytes, std::string_view* out);

  // The first position at or above `position` that a file holds; UINT64_MAX: none.
  uint64_t NextHeld(uint64_t position) const;
  // "000007.seg: offset 4128", or a message that no file holds the position.
  std::string Describe(uint64_t position) const;
  // The file that holds the byte, or should hold it, and the byte's offset there; empty if there is no such file.
  struct Place {
    kv::FileNumber number{};
    uint64_t offset = 0;
  };
  std::optional<Place> Locate(uint64_t position) const;

 private:
  struct Segment {
    kv::FileNumber number{};
    SegmentHead head;
    std::unique_ptr<File> file;
    uint64_t limit = 0;  // the end of the bytes in the file, which may be cut short
  };
  const Segment* Find(uint64_t position, uint64_t* piece_end) const;
  Status Fill(uint64_t position, size_t bytes);

  std::vector<Segment> segments_;  // ascending generations
  std::string window_;
  uint64_t window_position_ = 0;
};

class BufferBytes {
 public:
  // `expected_bytes`: the size of the file, if the MANIFEST says that the file exists.
  BufferBytes(FileSystem* file_system, std::string directory, std::optional<uint64_t> expected_bytes);

  uint64_t size() { return buffer_.size(); }
  // Reads STAGING, once. If the MANIFEST does not expect the file, a missing file or an impossible size means
  // an empty buffer; otherwise it is Corruption. The MANIFEST expects the file before any frame enters it, so
  // an unexpected size comes from a crash while the file was made.
  Status Load();
  // Empty if the buffer is empty. REQUIRES: bytes <= size()
  std::string_view Read(uint64_t position, size_t bytes);
  // The whole buffer from the byte at `position` on, without a copy: up to the end of the file, and from its beginning.
  std::pair<std::string_view, std::string_view> ReadAll(uint64_t position) const;

 private:
  FileSystem* const file_system_;
  const std::string directory_;
  const std::optional<uint64_t> expected_bytes_;
  bool is_loaded_ = false;
  std::string buffer_;
  std::string wrapped_;
};

}  // namespace mergedb::wal
