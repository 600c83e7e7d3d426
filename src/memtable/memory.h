// One block of memory that serves one memtable after another. Its pages are touched once and stay with the
// process until the Memory is destroyed. The pages of an untouched memory come as its only memtable fills it. GiveBack
// makes an untouched memory of a touched one.
//
// The memtable divides it: index slots in front, the arena of records behind them. Offsets into the arena
// count units of 8 bytes, so 32 bits reach 32 GiB.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mergedb::memtable {

inline constexpr size_t kUnitBytes = 8;
inline constexpr size_t kPageBytes = 4096;
inline constexpr uint64_t kMemoryBytesMax = uint64_t{32} << 30;

constexpr size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

class Memory {
 public:
  enum class Pages { kTouched, kUntouched };
  Memory(size_t bytes, Pages pages);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }
  bool is_untouched() const { return pages_ == Pages::kUntouched; }

  // Gives the pages that lie wholly in [begin, end) back to the system: they read as zeros and come again with the next
  // store. Afterwards the memory is untouched. REQUIRES: nothing needs these bytes, or they are zeros.
  void GiveBack(size_t begin, size_t end);

 private:
  const size_t bytes_;
  Pages pages_;
  char* begin_;
};

}  // namespace mergedb::memtable
