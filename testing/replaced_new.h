// Replaces operator new and operator delete of a test program. Before each allocation BeforeAllocation() runs, which
// the one source file that includes this header defines first; if it throws std::bad_alloc, the allocation fails.
//
//     namespace mergedb::testing { inline void BeforeAllocation() { if (IsDue()) throw std::bad_alloc(); } }
//     #include "testing/replaced_new.h"
//
// All forms are replaced, since a sanitizer would give memory of its own in the others.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace mergedb::testing {

[[gnu::noinline]] inline void* AllocateOrThrow(size_t bytes, size_t align) {
  BeforeAllocation();
  void* memory = align <= alignof(std::max_align_t) ? std::malloc(bytes)
                                                    : std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

inline void* AllocateOrNull(size_t bytes, size_t align) noexcept {
  try {
    return AllocateOrThrow(bytes, align);
  } catch (const std::bad_alloc&) { return nullptr; }
}

// WHY not inline: g++ would see free() take memory from an operator new, and warn of the mismatch.
[[gnu::noinline]] inline void Release(void* memory) { std::free(memory); }

}  // namespace mergedb::testing

void* operator new(size_t bytes) { return mergedb::testing::AllocateOrThrow(bytes, 1); }
void* operator new[](size_t bytes) { return mergedb::testing::AllocateOrThrow(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t align) {
  return mergedb::testing::AllocateOrThrow(bytes, static_cast<size_t>(align));
}
void* operator new[](size_t bytes, std::align_val_t align) {
  return mergedb::testing::AllocateOrThrow(bytes, static_cast<size_t>(align));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return mergedb::testing::AllocateOrNull(bytes, 1); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return mergedb::testing::AllocateOrNull(bytes, 1);
}
void* operator new(size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return mergedb::testing::AllocateOrNull(bytes, static_cast<size_t>(align));
}
void* operator new[](size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return mergedb::testing::AllocateOrNull(bytes, static_cast<size_t>(align));
}
void operator delete(void* memory) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory) noexcept { mergedb::testing::Release(memory); }
void operator delete(void* memory, size_t) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory, size_t) noexcept { mergedb::testing::Release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { mergedb::testing::Release(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { mergedb::testing::Release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { mergedb::testing::Release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  mergedb::testing::Release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  mergedb::testing::Release(memory);
}
