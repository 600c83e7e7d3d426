#include "memtable/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "memtable/memtable.h"

namespace mergedb::memtable {
namespace {

constexpr size_t kMemoryBytesMin = 4096;

}  // namespace

Memory::Memory(size_t bytes, Pages pages)
    : bytes_(RoundUp(std::max(bytes, kMemoryBytesMin), kPageBytes)), pages_(pages) {
  ASSERT(bytes_ <= kMemoryBytesMax, "a memtable's offsets reach 32 GiB");
  void* block = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<char*>(block);
#ifdef MADV_NOHUGEPAGE
  if (is_untouched()) (void)madvise(block, bytes_, MADV_NOHUGEPAGE);  // a huge page for each first touch would waste it
#endif
  if (is_untouched()) return;
#ifdef MADV_HUGEPAGE
  // Only advice: fewer page faults now, and fewer TLB misses in every later put and get.
  if (bytes_ >= size_t{4} << 20) (void)madvise(block, bytes_, MADV_HUGEPAGE);
#endif
  for (size_t offset = 0; offset < bytes_; offset += kPageBytes) { static_cast<volatile char*>(begin_)[offset] = 0; }
}

void Memory::GiveBack(size_t begin, size_t end) {
#ifdef MADV_NOHUGEPAGE
  // WHY the whole block: otherwise the kernel may make a huge page of a few touched ones.
  if (!is_untouched()) (void)madvise(begin_, bytes_, MADV_NOHUGEPAGE);
#endif
  pages_ = Pages::kUntouched;
  begin = RoundUp(begin, kPageBytes);
  end = std::min(end, bytes_) / kPageBytes * kPageBytes;
  if (begin < end) (void)madvise(begin_ + begin, end - begin, MADV_DONTNEED);
}

Memory::~Memory() { munmap(begin_, bytes_); }

std::shared_ptr<Memory> NewMemory(size_t bytes) { return std::make_shared<Memory>(bytes, Memory::Pages::kTouched); }
std::shared_ptr<Memory> NewUntouchedMemory(size_t bytes) {
  return std::make_shared<Memory>(bytes, Memory::Pages::kUntouched);
}

}  // namespace mergedb::memtable
