// Aligned memory for direct I/O, used again and again: the first touch of a fresh page costs 1.6-3.4 us (facts/performance.md),
// several times what it costs to fill it.
//
// THREADS: any thread takes and gives back.
#pragma once

#include <cstddef>

namespace mergedb::env {

// Buffers of this size are kept for the next user, up to kBuffersKept of them; others come and go.
inline constexpr size_t kPooledBytes = (size_t{1} << 20) + (size_t{64} << 10);
inline constexpr size_t kBuffersKept = 24;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // At least `bytes_least`, aligned to kDirectIoAlign.
  explicit AlignedBuffer(size_t bytes_least);
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace mergedb::env
