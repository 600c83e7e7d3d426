// Memory for direct I/O: aligned to kDirectIoAlign.
#pragma once

#include <cstddef>
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

}  // namespace mergedb::wal
