// Aligned buffers for direct I/O, which a pool keeps for reuse. WHY: the first touch of a fresh page costs
// 1.6-3.4 us, several times the cost of filling it.
//
// THREADS: any thread takes a buffer and gives it back.
#pragma once

#include <cstddef>

namespace mergedb::env {

// The pool keeps up to kBuffersKept buffers of kPooledBytes. Buffers of other sizes are freed.
inline constexpr size_t kPooledBytes = (size_t{1} << 20) + (size_t{64} << 10);
inline constexpr size_t kBuffersKept = 24;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // A buffer of at least `bytes_least` bytes, aligned to kDirectIoAlign.
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
