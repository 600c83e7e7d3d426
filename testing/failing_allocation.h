// Makes one allocation of the calling thread fail: the n-th one from now on throws std::bad_alloc.
//
//     FailAllocation(3);
//     try { act(); } catch (const std::bad_alloc&) {}
//     const bool has_failed = StopFailing();      // false: act made fewer than three allocations
//
// Other threads of the process are not concerned. So background work goes on, and a test decides which call meets the
// failure.
//
// This header replaces operator new and operator delete. Include it in the one source file of a test program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace mergedb::testing {

inline constinit thread_local int64_t allocations_left = 0;  // until the one that fails; 0: none fails

inline void FailAllocation(int64_t n) { allocations_left = n; }

// True if the allocation was reached.
inline bool StopFailing() {
  const bool has_failed = allocations_left == 0;
  allocations_left = 0;
  return has_failed;
}

[[gnu::noinline]] inline void* AllocateOrFail(size_t bytes, size_t align) {
  if (allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
  void* memory = align <= alignof(std::max_align_t) ? std::malloc(bytes)
                                                    : std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// WHY not inline: g++ would see free() take memory from an operator new, and warn of the mismatch.
[[gnu::noinline]] inline void Release(void* memory) { std::free(memory); }

}  // namespace mergedb::testing

void* operator new(size_t bytes) { return mergedb::testing::AllocateOrFail(bytes, 1); }
void* operator new[](size_t bytes) { return mergedb::testing::AllocateOrFail(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t align) {
  return mergedb::testing::AllocateOrFail(bytes, static_cast<size_t>(align));
}
void* operator new[](size_t bytes, std::align_val_t align) {
  return mergedb::testing::AllocateOrFail(bytes, static_cast<size_t>(align));
}
void operator delete(void* memory) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory) noexcept { mergedb::testing::Release(memory); }
void operator delete(void* memory, size_t) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory, size_t) noexcept { mergedb::testing::Release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { mergedb::testing::Release(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { mergedb::testing::Release(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { mergedb::testing::Release(memory); }
