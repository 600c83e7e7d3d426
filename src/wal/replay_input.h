// What a run of the program left of the stream, for replay: the bytes that segment files hold by position, and the ring.
//
//     generation 1   |=============== [0, 16M)
//     generation 2        |=============== [5M, 21M)       made when a write to 1 failed at 5M
//     believed        11112222222222222222
//
// Read-only: plain reads, no mapping, so a damaged or read-only directory is no obstacle. Nothing here judges; replay does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/env.h"
#include "wal/frame.h"

namespace mergedb::wal {

class SegmentBytes {
 public:
  [[nodiscard]] Status Add(kv::FileNumber number, const SegmentHead& head, std::unique_ptr<File> file);

  // The stream's bytes [position, position + bytes) as far as the files hold them without a gap. The view lives until
  // the next call.
  Status Read(uint64_t position, size_t bytes, std::string_view* out);

  // The first position at or above `position` that some file holds; UINT64_MAX: none.
  uint64_t NextHeld(uint64_t position) const;
  // "000007.seg: offset 4128"; or that no file holds it.
  std::string Describe(uint64_t position) const;
  // The file that holds the byte, or should, and the byte's offset there; nothing if no file does.
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
    uint64_t limit = 0;  // of what the file really holds: it may have been cut short
  };
  const Segment* Find(uint64_t position, uint64_t* piece_end) const;
  Status Fill(uint64_t position, size_t bytes);

  std::vector<Segment> segments_;  // ascending generations
  std::string window_;
  uint64_t window_position_ = 0;
};

class BufferBytes {
 public:
  // `expected_bytes`: the MANIFEST says that the file is there, of this size.
  BufferBytes(FileSystem* file_system, std::string directory, std::optional<uint64_t> expected_bytes);

  uint64_t size() { return buffer_.size(); }
  // Read STAGING, once. A missing file, or one of an impossible size, is empty, unless it is expected: then it is Corruption. The
  // MANIFEST expects it before a frame enters it, so a size that is not expected is that of a crash while the file was made.
  Status Load();
  // Empty if the ring is. REQUIRES: bytes <= size()
  std::string_view Read(uint64_t position, size_t bytes);

 private:
  FileSystem* const file_system_;
  const std::string directory_;
  const std::optional<uint64_t> expected_bytes_;
  bool is_loaded_ = false;
  std::string buffer_;
  std::string wrapped_;
};

}  // namespace mergedb::wal
