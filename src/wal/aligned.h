// Memory for direct I/O: aligned to kDirectIoAlign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "mergedb/env.h"

namespace mergedb::wal {

struct AlignedDelete {
  void operator()(char* bytes) const { ::operator delete[](bytes, std::align_val_t{kDirectIoAlign}); }
};
using AlignedBytes = std::unique_ptr<char[], AlignedDelete>;

// The bytes are zero: the memory is touched once, here, and then kept.
inline AlignedBytes AllocateAligned(size_t bytes) {
  auto* memory = static_cast<char*>(::operator new[](bytes, std::align_val_t{kDirectIoAlign}));
  std::memset(memory, 0, bytes);
  return AlignedBytes(memory);
}

// Much memory of zeros. The system provides a page when it is touched.
class ZeroedBytes {
 public:
  ZeroedBytes() = default;
  explicit ZeroedBytes(size_t bytes) : memory_(std::calloc(1, bytes + kDirectIoAlign)) {
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  char* data() const {
    const auto address = reinterpret_cast<uintptr_t>(memory_.get());
    return static_cast<char*>(memory_.get()) + (kDirectIoAlign - address % kDirectIoAlign) % kDirectIoAlign;
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
};

}  // namespace mergedb::wal
