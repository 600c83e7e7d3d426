// The set of blocks of a mapped table that passed their checks: one bit each, set once and never cleared.
//
// WHY relaxed: the bytes of a block never change and exist before its bit. A thread that does not see a bit
// yet checks the block again.
// THREADS: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mergedb::table {

class CheckedBlocks {
 public:
  CheckedBlocks() = default;
  explicit CheckedBlocks(uint32_t blocks) : words_(new std::atomic<uint64_t>[blocks / 64 + 1]()) {}

  bool Has(uint32_t block) const { return words_[block / 64].load(std::memory_order_relaxed) >> (block % 64) & 1; }
  void Add(uint32_t block) const {
    words_[block / 64].fetch_or(uint64_t{1} << (block % 64), std::memory_order_relaxed);
  }
  static size_t BytesFor(uint32_t blocks) { return (blocks / 64 + 1) * sizeof(uint64_t); }

 private:
  std::unique_ptr<std::atomic<uint64_t>[]> words_;
};

}  // namespace mergedb::table
