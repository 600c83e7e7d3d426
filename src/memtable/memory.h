// One block of memory that serves one memtable after another. Its pages are touched once and stay with the
// process until the Memory is destroyed.
//
// The memtable divides it: index slots in front, the arena of records behind them. Offsets into the arena
// count units of 8 bytes, so 32 bits reach 32 GiB.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mergedb::memtable {

inline constexpr size_t kUnitBytes = 8;
inline constexpr uint64_t kMemoryBytesMax = uint64_t{32} << 30;

constexpr size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

class Memory {
 public:
  explicit Memory(size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  char* begin_;
};

}  // namespace mergedb::memtable
