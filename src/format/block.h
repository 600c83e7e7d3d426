// A table's block, opened for reading: some entries in order, found by binary search or walked by index.
//
// FORMAT: columns, so that a search touches keys only and a walk decodes without a single varint.
//
//   block  := values | prefix | suffixes | tags | suffix offsets | value offsets | tail
//   tail   := count u32 | prefix bytes u32 | base sequence u56 | widths u8            16 bytes, little-endian
//   widths := tag width (1..8) << 4 | offset width (2 or 4)
//
//   values, suffixes   the entries' values and the rest of their keys after `prefix`, which all keys of the block share
//   tags               count numbers of `tag width` bytes: the entry's tag minus (base sequence << 8)
//   offsets            two columns of count + 1 numbers of `offset width` bytes, from 0 up to the region's length, never
//                      descending: entry i is [offset i, offset i+1)
//
//   16 B keys, 100 B values:  | 34 x 100 | 9 | 34 x 7 | 34 x 4 | 70 | 70 | 16 |     tags shrink to 1 byte at the bottom
//
// WHY not rows: rows (tag, varint lengths, key, value) would take the same space, but each probe of a search would then
// sit on a cache line of its own, and hostile lengths would have to be checked at each step; columns are checked once, in a
// straight loop, when a block comes from the disk (CheckBlock). A Block made of unchecked bytes is a bug.
//
// Tests: tests/unit/format/block_test.cc.
#pragma once

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
// A suffix is followed by at least this many bytes: one tag, two offsets and the tail. Short ones are copied with a fixed length.
inline constexpr size_t kSuffixSlackBytes = 16;

// Corruption unless every index i < count can be read safely. REQUIRES of all other code here: this was OK.
[[nodiscard]] Status CheckBlock(std::string_view raw);

class Block {
 public:
  Block() = default;
  explicit Block(std::string_view raw);  // a view

  // Start loading what a search will touch, before it stumbles from one cold line to the next: the end of the block, where
  // tail, offsets, tags and suffixes lie.
  // MEASURED: bench/micro/table_bench, "get, block cache", 58 MB of blocks: 1,250 -> 720 ns.
  static void Prefetch(std::string_view raw) {
    const char* const end = raw.data() + raw.size();
    for (size_t back = 1; back < kSearchedBytes && back < raw.size(); back += 64) __builtin_prefetch(end - back);
  }

  uint32_t count() const { return count_; }
  std::string_view prefix() const { return {suffixes_ - prefix_bytes_, prefix_bytes_}; }
  uint32_t suffix_bytes() const { return Offset(suffix_offsets_, count_); }  // of all

  std::string_view suffix(uint32_t i) const { return Slice(suffixes_, suffix_offsets_, i); }
  std::string_view value(uint32_t i) const { return Slice(values_, value_offsets_, i); }
  kv::Tag tag(uint32_t i) const {
    uint64_t delta;
    std::memcpy(&delta, tags_ + size_t{i} * tag_width_, sizeof delta);
    return base_tag_ + (delta & tag_mask_);
  }

  // Index of the first entry at or after (key, tag); count() if there is none.
  uint32_t Seek(const kv::Order& order, std::string_view key, kv::Tag tag) const;
  bool HasKey(const kv::Order& order, uint32_t i, std::string_view key) const;
  std::string Key(uint32_t i) const;

 private:
  static constexpr size_t kSearchedBytes = 768;  // of a block of 4 KiB and values of 100 bytes

  uint32_t Offset(const char* column, uint32_t i) const {
    return is_wide_ ? base::LoadFixed32(column + size_t{i} * 4) : base::LoadFixed16(column + size_t{i} * 2);
  }
  std::string_view Slice(const char* region, const char* column, uint32_t i) const {
    const uint32_t begin = Offset(column, i);
    return {region + begin, Offset(column, i + 1) - begin};
  }
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
  kv::Tag base_tag_ = 0;
  uint64_t tag_mask_ = 0;
  uint32_t tag_width_ = 0;
  bool is_wide_ = false;
};

// Shows entries of one block after another as kv::Entry: puts prefix and suffix together.
class BlockCursor {
 public:
  explicit BlockCursor(const kv::Order& order) : order_(order) {}

  void Open(const Block& block);
  const Block& block() const { return block_; }
  // Entry i in *entry; its views live until the next call.
  void Show(uint32_t i, kv::Entry* entry);
  // As many entries as there are places, from i on; their views live until the next call of this or of Open.
  // REQUIRES: the block has them.
  void ShowMany(uint32_t i, std::span<kv::Entry> entries);

 private:
  // `key` is where prefix and suffix are put together; the prefix is there already.
  void ShowIn(char* key, uint32_t i, kv::Entry* entry) const;

  kv::Order order_;
  Block block_;
  std::string key_;           // prefix, then the suffix shown last, with room for the longest
  std::string keys_;          // of ShowMany
  uint64_t prefix_head_ = 0;  // the first 8 bytes of the prefix
};

inline void BlockCursor::Show(uint32_t i, kv::Entry* entry) { ShowIn(key_.data(), i, entry); }

inline void BlockCursor::ShowIn(char* key, uint32_t i, kv::Entry* entry) const {
  const std::string_view suffix = block_.suffix(i);
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
    // WHY not Prefix8(entry->key): reading what two stores just wrote stalls.
    entry->prefix = prefix_head_;
    if (prefix_bytes < 8 && order_.is_bytewise()) entry->prefix |= base::Prefix8(suffix) >> (8 * prefix_bytes);
  }
  entry->tag = block_.tag(i);
  entry->value = block_.value(i);
}

}  // namespace mergedb::format
