// A file's bytes in 4 KiB chunks that copies share until one of them writes: a copy of 1 MB costs microseconds, which
// is what makes a crash image for every operation of a test affordable. A chunk that was never written is a hole: it
// reads as zeros and occupies nothing.
// THREADS: a value; copies may live on different threads as long as each is used by one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mergedb::testing {

inline constexpr size_t kSectorBytes = 512;  // what a disk writes whole or not at all
inline constexpr size_t kChunkBytes = 4096;

class CowBytes {
 public:
  uint64_t size() const { return size_; }
  uint64_t allocated_bytes() const { return allocated_bytes_; }

  size_t Read(uint64_t offset, size_t bytes, char* out) const;  // how many there were
  void Write(uint64_t offset, std::string_view bytes);          // grows as needed
  void Resize(uint64_t size);                                   // growth is a hole
  std::string ToString() const;

  // The first bytes of a write to `offset` that fit if at most `room` more bytes may be allocated.
  size_t BytesThatFit(uint64_t offset, size_t bytes, uint64_t room) const;
  // Become `memory`, sharing the chunks that are equal already. False if all were.
  bool Follow(std::string_view memory);
  // Equal contents have equal fingerprints. Each chunk's part is remembered.
  uint64_t Fingerprint() const;

 private:
  struct Chunk {
    char bytes[kChunkBytes] = {};
    uint64_t Fingerprint();
    uint64_t fingerprint = 0;  // 0: not known
  };
  char* MutableChunk(size_t index);

  uint64_t size_ = 0;
  uint64_t allocated_bytes_ = 0;
  std::vector<std::shared_ptr<Chunk>> chunks_;  // null: hole. Bytes behind size_ are zero.
};

}  // namespace mergedb::testing
