// The bytes of a file in 4 KiB chunks. Copies share a chunk until one of them writes to it. A copy of 1 MB costs
// microseconds, so a test can take a crash image before every operation. A chunk that was never written is a hole:
// it reads as zeros and occupies no space.
// THREADS: a value. Threads may use copies that share chunks, each copy in one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mergedb::testing {

inline constexpr size_t kSectorBytes = 512;  // a disk writes a sector as a whole or not at all
inline constexpr size_t kChunkBytes = 4096;

class CowBytes {
 public:
  uint64_t size() const { return size_; }
  uint64_t allocated_bytes() const { return allocated_bytes_; }

  size_t Read(uint64_t offset, size_t bytes, char* out) const;  // returns the number of bytes read
  void Write(uint64_t offset, std::string_view bytes);          // grows the file if necessary
  void Resize(uint64_t size);                                   // growth makes a hole
  std::string ToString() const;
  // Fills the holes of a range with zeros, as far as `room` bytes reach. Returns false if they do not reach.
  // REQUIRES: the range lies within the file; offset and bytes are multiples of kChunkBytes. The same holds for
  // Deallocate, which makes the range a hole.
  bool Allocate(uint64_t offset, uint64_t bytes, uint64_t room);
  void Deallocate(uint64_t offset, uint64_t bytes);

  // How many of the `bytes` bytes of a write at `offset` fit if the file may allocate at most `room` more bytes.
  size_t BytesThatFit(uint64_t offset, size_t bytes, uint64_t room) const;
  // Takes over the content of `memory`, and keeps sharing the chunks that are equal. Returns false if all are equal.
  bool Follow(std::string_view memory);
  // Equal contents have equal fingerprints. Each chunk caches its own fingerprint.
  uint64_t Fingerprint() const;

 private:
  struct Chunk {
    char bytes[kChunkBytes] = {};
    uint64_t Fingerprint();
    uint64_t fingerprint = 0;  // 0: not computed yet
  };
  char* MutableChunk(size_t index);

  uint64_t size_ = 0;
  uint64_t allocated_bytes_ = 0;
  std::vector<std::shared_ptr<Chunk>> chunks_;  // null: a hole. The bytes after size_ are zero.
};

}  // namespace mergedb::testing
