// A table's index: which block may hold a key. One entry a block, in memory while the table is open.
//
// FORMAT: index := count u32 | prefix bytes u32 | prefix | block bytes u32 * count | fence end u32 * count | fences
//
//   block bytes   size of the stored block, trailer included; blocks follow one another from offset 0
//   fences        separator keys without `prefix`, which all share; fence i lies between block i and block i + 1
//
// Bytewise order: each key of block i is below fence i. Each key of a later block is at or above fence i, except
// versions of one key that continue from block to block. The fence is the shortest such key: the first key of the
// next block, cut after the first byte in which it differs from the last key of block i. If the two keys are
// equal, or there is no next block, the fence is the last key + '\0'. Other comparators: fence i is the last key
// of block i.
//
//   block 3: ... "apple pie"   block 4: "apricot", ...     fence 3: "apr"
//
// A search compares the heads of fences: their first 8 bytes after the prefix, as numbers. The high bits of the head
// index a table of start positions. A branchless search among the few heads there follows. Whole fences decide ties.
//
// Tests: tests/unit/format/index_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kv/order.h"
#include "mergedb/status.h"

namespace mergedb::format {

class IndexBuilder {
 public:
  explicit IndexBuilder(bool is_bytewise) : is_bytewise_(is_bytewise) {}

  // Call AddBlock and AddFence once for each block in order. Call AddFence when the first key of the next block
  // is known (null: no next block).
  void AddBlock(uint32_t stored_bytes) { block_bytes_.push_back(stored_bytes); }
  void AddFence(std::string_view last_key, const std::string_view* next_first_key);

  size_t count() const { return block_bytes_.size(); }
  size_t bytes() const { return fences_.size() + 8 * block_bytes_.size(); }  // an estimate
  // REQUIRES: a fence for every block.
  std::string Finish(std::string_view smallest, std::string_view largest) const;

 private:
  bool is_bytewise_;
  std::vector<uint32_t> block_bytes_;
  std::vector<uint64_t> fence_ends_;
  std::string fences_;
};

class Index {
 public:
  // Returns Corruption unless the blocks fill [0, data_bytes) and the fences never descend.
  [[nodiscard]] Status Decode(std::string_view bytes, uint64_t data_bytes, const kv::Order& order);

  uint32_t count() const { return count_; }
  // The first block that may hold a version of `key` or a later key, or count() if there is no such block.
  uint32_t Find(const kv::Order& order, std::string_view key) const {
    return order.is_bytewise() ? FindBytewise(key) : FindWithComparator(order, key);
  }
  uint64_t offset(uint32_t block) const { return offsets_[block]; }  // offset(count()) is the end of the data
  size_t stored_bytes(uint32_t block) const { return static_cast<size_t>(offsets_[block + 1] - offsets_[block]); }
  std::string fence(uint32_t block) const { return prefix_ + std::string(FenceRest(block)); }
  size_t memory_bytes() const;

 private:
  std::string_view FenceRest(uint32_t i) const {
    const uint32_t begin = i == 0 ? 0 : fence_ends_[i - 1];
    return {fences_.data() + begin, fence_ends_[i] - begin};
  }
  uint32_t FindBytewise(std::string_view key) const;
  uint32_t FindWithComparator(const kv::Order& order, std::string_view key) const;
  [[nodiscard]] Status DecodeOffsets(const char* block_bytes, uint64_t data_bytes);
  [[nodiscard]] Status CheckFencesAscend(const kv::Order& order) const;
  void BuildHeads();

  uint32_t count_ = 0;
  std::string prefix_;
  std::vector<uint64_t> offsets_;  // count + 1
  std::vector<uint32_t> fence_ends_;
  std::string fences_;
  std::vector<uint64_t> heads_;   // bytewise only
  std::vector<uint32_t> starts_;  // starts_[b]: the first head with (head - heads_[0]) >> shift_ of at least b
  uint32_t shift_ = 0;
};

}  // namespace mergedb::format
