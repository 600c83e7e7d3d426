// A table's block, opened for reading: sorted entries, found by binary search or read by index.
//
// FORMAT: columns. A search touches only keys, and an iterator decodes no varint.
//
//   block  := values | prefix | suffixes | tags | suffix offsets | value offsets | tail
//   tail   := count u32 | prefix bytes u32 | base sequence u56 | widths u8            16 bytes, little-endian
//   widths := tag width (1..8) << 4 | offset width (2 or 4)
//
//   values, suffixes   the values of the entries, and their keys without `prefix`, which all keys of the block share
//   tags               count numbers of `tag width` bytes: the entry's tag minus (base sequence << 8)
//   offsets            two columns of count + 1 numbers of `offset width` bytes, from 0 to the region's length, never
//                      descending: entry i is [offset i, offset i+1)
//
//   16 B keys, 100 B values:  | 34 x 100 | 9 | 34 x 7 | 34 x 4 | 70 | 70 | 16 |     tags have 1 byte at the bottom
//
// WHY not rows (tag, varint lengths, key, value): rows take the same space, but each probe of a search would
// touch another cache line, and each step would have to check the lengths. CheckBlock checks the columns once,
// when the block is read from disk. It is a bug to construct a Block from unchecked bytes.
//
// The bytes of a checked block in a mapped file may still change (base/mapped_faults.h). So a Block reads no bytes
// outside of the block whatever its columns hold: it keeps the sizes of the regions and cuts offsets to them. What it
// then shows is wrong, and the reader drops it.
//
// Tests: tests/unit/format/block_test.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/coding.h"
#include "kv/key.h"
#include "kv/order.h"
#include "mergedb/status.h"

namespace mergedb::format {

inline constexpr size_t kBlockTailBytes = 16;
// At least this many bytes follow a suffix (tag, offsets, tail), so a short suffix is copied with a fixed length.
inline constexpr size_t kSuffixSlackBytes = 16;

// Corruption unless each index i < count shows what was stored. REQUIRES of all other code here: it returned OK.
[[nodiscard]] Status CheckBlock(std::string_view raw);

// False if the end of a checked block is now zeros: its last byte has the widths of its columns.
inline bool EndsAsBlock(std::string_view raw) { return *static_cast<const volatile char*>(&raw.back()) != 0; }

class Block {
 public:
  Block() = default;
  explicit Block(std::string_view raw);  // does not copy `raw`

  // Prefetches the end of the block, which a search touches: tail, offsets, tags and suffixes.
  // MEASURED: bench/micro/table_bench, "get, block cache", 58 MB of blocks: 1,250 -> 720 ns.
  static void Prefetch(std::string_view raw) {
    const char* const end = raw.data() + raw.size();
    for (size_t back = 1; back < kSearchedBytes && back < raw.size(); back += 64) __builtin_prefetch(end - back);
  }

  uint32_t count() const { return count_; }
  std::string_view prefix() const { return {suffixes_ - prefix_bytes_, prefix_bytes_}; }
  uint32_t suffix_bytes() const { return suffix_bytes_; }  // of all suffixes together

  std::string_view suffix(uint32_t i) const { return Slice(suffixes_, suffix_bytes_, suffix_offsets_, i); }
  std::string_view value(uint32_t i) const { return Slice(values_, value_bytes_, value_offsets_, i); }
  kv::Tag tag(uint32_t i) const {
    uint64_t delta;
    std::memcpy(&delta, tags_ + size_t{i} * tag_width_, sizeof delta);
    return base_tag_ + (delta & tag_mask_);
  }

  // Index of the first entry at or after (key, tag), or count() if there is no such entry.
  uint32_t Seek(const kv::Order& order, std::string_view key, kv::Tag tag) const;
  bool HasKey(const kv::Order& order, uint32_t i, std::string_view key) const;
  std::string Key(uint32_t i) const;

 private:
  static constexpr size_t kSearchedBytes = 768;  // enough for a block of 4 KiB with values of 100 bytes

  uint32_t Offset(const char* column, uint32_t i) const {
    return is_wide_ ? base::LoadFixed32(column + size_t{i} * 4) : base::LoadFixed16(column + size_t{i} * 2);
  }
  std::string_view Slice(const char* region, uint32_t region_bytes, const char* column, uint32_t i) const {
    const uint32_t begin = std::min(Offset(column, i), region_bytes);
    const uint32_t end = std::min(Offset(column, i + 1), region_bytes);
    return {region + begin, std::max(begin, end) - begin};
  }
  bool Open(std::string_view raw);
  uint64_t Head(uint32_t i) const;
  bool IsBefore(uint32_t i, std::string_view rest, kv::Tag tag) const;
  uint32_t SeekSuffix(std::string_view rest, kv::Tag tag) const;
  uint32_t SeekWithComparator(const kv::Order& order, std::string_view key, kv::Tag tag) const;

  const char* values_ = nullptr;
  const char* suffixes_ = nullptr;
  const char* tags_ = nullptr;
  const char* suffix_offsets_ = nullptr;
  const char* value_offsets_ = nullptr;
  uint32_t count_ = 0;
  uint32_t prefix_bytes_ = 0;
  uint32_t suffix_bytes_ = 0;
  uint32_t value_bytes_ = 0;
  kv::Tag base_tag_ = 0;
  uint64_t tag_mask_ = 0;
  uint32_t tag_width_ = 0;
  bool is_wide_ = false;
};

// Returns entries of blocks, one block after another, as kv::Entry: joins prefix and suffix.
class BlockCursor {
 public:
  explicit BlockCursor(const kv::Order& order) : order_(order) {}

  void Open(const Block& block);
  const Block& block() const { return block_; }
  // Stores entry i in *entry. Its views live until the next call.
  void Show(uint32_t i, kv::Entry* entry);
  // Fills `entries` from entry i on. Their views live until the next call of ShowMany or Open.
  // REQUIRES: i + entries.size() <= count().
  void ShowMany(uint32_t i, std::span<kv::Entry> entries);

 private:
  // `key` is the buffer in which prefix and suffix are joined. It already begins with the prefix.
  void ShowIn(char* key, std::string_view suffix, uint32_t i, kv::Entry* entry) const;

  kv::Order order_;
  Block block_;
  std::string key_;           // prefix, then the last suffix; has room for the longest suffix
  std::string keys_;          // the keys of ShowMany
  uint64_t prefix_head_ = 0;  // the first 8 bytes of the prefix
};

inline void BlockCursor::Show(uint32_t i, kv::Entry* entry) { ShowIn(key_.data(), block_.suffix(i), i, entry); }

inline void BlockCursor::ShowIn(char* key, std::string_view suffix, uint32_t i, kv::Entry* entry) const {
  const size_t prefix_bytes = block_.prefix().size();
  if (prefix_bytes == 0) {
    entry->key = suffix;
    entry->prefix = order_.Prefix(suffix);
  } else {
    char* target = key + prefix_bytes;
    if (suffix.size() <= kSuffixSlackBytes) [[likely]] {
      std::memcpy(target, suffix.data(), kSuffixSlackBytes);
    } else {
      std::memcpy(target, suffix.data(), suffix.size());
    }
    entry->key = {key, prefix_bytes + suffix.size()};
    // WHY not Prefix8(entry->key): a load that spans the two stores just made stalls.
    entry->prefix = prefix_head_;
    if (prefix_bytes < 8 && order_.is_bytewise()) entry->prefix |= base::Prefix8(suffix) >> (8 * prefix_bytes);
  }
  entry->tag = block_.tag(i);
  entry->value = block_.value(i);
}

}  // namespace mergedb::format
