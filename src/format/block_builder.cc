#include "format/block_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/coding.h"
#include "format/block.h"

namespace mergedb::format {
namespace {

constexpr size_t kCopyBytes = 16;
constexpr size_t kBufferBytesFirst = 8 << 10;
constexpr size_t kBufferBytesKept = 1 << 20;

// Copies a short piece with a fixed length, without a call. REQUIRES: both sides have kCopyBytes of room.
void CopyShort(char* target, const char* source, size_t count) {
  if (count <= kCopyBytes) [[likely]] {
    std::memcpy(target, source, kCopyBytes);
  } else {
    std::memcpy(target, source, count);
  }
}

template <typename Number, typename EndOf>
char* StoreOffsets(char* out, size_t count, EndOf end_of) {
  const Number zero = 0;
  std::memcpy(out, &zero, sizeof zero);
  for (size_t i = 0; i < count; ++i) {
    const Number end = static_cast<Number>(end_of(i));
    std::memcpy(out + (i + 1) * sizeof end, &end, sizeof end);
  }
  return out + (count + 1) * sizeof(Number);
}

}  // namespace

void BlockBuilder::Buffer::Grow(size_t room_least) {
  const size_t wanted = std::max({room_least, room * 2, kBufferBytesFirst});
  std::unique_ptr<char[]> grown(new char[wanted]);
  if (used > 0) std::memcpy(grown.get(), memory.get(), used);
  memory = std::move(grown);
  room = wanted;
}

void BlockBuilder::Buffer::Reset() {
  used = 0;
  if (room <= kBufferBytesKept) return;
  memory.reset();  // frees the memory of one very large value before the table is finished
  room = 0;
}

void BlockBuilder::Add(std::string_view key, kv::Tag tag, std::string_view value) {
  char* key_target = keys_.Reserve(key.size() + kCopyBytes);
  if (!key.empty()) std::memcpy(key_target, key.data(), key.size());
  keys_.used += key.size();
  char* value_target = block_.Reserve(value.size());
  if (!value.empty()) std::memcpy(value_target, value.data(), value.size());
  block_.used += value.size();
  value_bytes_ += value.size();
  marks_.push_back(
      {.tag = tag, .key_end = static_cast<uint32_t>(keys_.used), .value_end = static_cast<uint32_t>(value_bytes_)});
}

std::string_view BlockBuilder::last_key() const {
  const size_t begin = marks_.size() < 2 ? 0 : marks_[marks_.size() - 2].key_end;
  return {keys_.bytes() + begin, marks_.back().key_end - begin};
}

bool BlockBuilder::IsFullFor(size_t key_bytes, size_t value_bytes, size_t target) const {
  const size_t entry_bytes = key_bytes + value_bytes + kEntryBytes;
  if (2 * bytes() + entry_bytes <= 2 * target || empty()) [[likely]]
    return false;
  if (!shares_prefix_) return true;
  // Close to the target: compute how much the shared prefix saves.
  const size_t saved = base::CommonPrefixBytes(first_key(), last_key()) * marks_.size();
  return 2 * (bytes() - saved) + entry_bytes > 2 * target;
}

char* BlockBuilder::StoreSuffixes(char* out, size_t prefix_bytes) const {
  size_t begin = 0;
  for (const Mark& mark : marks_) {
    CopyShort(out, keys_.bytes() + begin + prefix_bytes, mark.key_end - begin - prefix_bytes);
    out += mark.key_end - begin - prefix_bytes;
    begin = mark.key_end;
  }
  return out;
}

char* BlockBuilder::StoreTags(char* out, kv::Tag base, uint32_t width) const {
  for (const Mark& mark : marks_) {
    base::StoreFixed64(out, mark.tag - base);  // the next tag overwrites the extra bytes
    out += width;
  }
  return out;
}

std::string_view BlockBuilder::Finish() {
  ASSERT(!marks_.empty(), "a block has entries");
  const size_t count = marks_.size();
  const size_t prefix_bytes = shares_prefix_ ? base::CommonPrefixBytes(first_key(), last_key()) : 0;
  kv::Tag smallest = marks_[0].tag, largest = marks_[0].tag;
  for (const Mark& mark : marks_) {
    smallest = std::min(smallest, mark.tag);
    largest = std::max(largest, mark.tag);
  }
  const kv::Tag base = smallest & ~kv::Tag{0xff};
  const uint32_t tag_width = std::max(1u, static_cast<uint32_t>(std::bit_width(largest - base) + 7) / 8);
  const size_t suffix_bytes = keys_.used - count * prefix_bytes;
  const uint32_t offset_width = std::max(suffix_bytes, value_bytes_) <= 0xffff ? 2 : 4;

  const size_t rest =
      prefix_bytes + suffix_bytes + count * tag_width + 2 * (count + 1) * offset_width + kBlockTailBytes;
  ASSERT(value_bytes_ + rest <= UINT32_MAX, "a block is below 4 GiB");
  char* out = block_.Reserve(rest + kCopyBytes);
  std::memcpy(out, keys_.bytes(), prefix_bytes);
  out = StoreSuffixes(out + prefix_bytes, prefix_bytes);
  out = StoreTags(out, base, tag_width);
  const auto suffix_end = [&](size_t i) { return marks_[i].key_end - (i + 1) * prefix_bytes; };
  const auto value_end = [&](size_t i) { return marks_[i].value_end; };
  if (offset_width == 2) {
    out = StoreOffsets<uint16_t>(out, count, suffix_end);
    out = StoreOffsets<uint16_t>(out, count, value_end);
  } else {
    out = StoreOffsets<uint32_t>(out, count, suffix_end);
    out = StoreOffsets<uint32_t>(out, count, value_end);
  }
  base::StoreFixed32(out, static_cast<uint32_t>(count));
  base::StoreFixed32(out + 4, static_cast<uint32_t>(prefix_bytes));
  base::StoreFixed64(out + 8, kv::SequenceOf(base) | uint64_t{tag_width << 4 | offset_width} << 56);
  block_.used += rest;
  ASSERT(out + kBlockTailBytes == block_.bytes() + block_.used, "the columns fill the block");
  return {block_.bytes(), block_.used};
}

void BlockBuilder::Reset() {
  block_.Reset();
  keys_.Reset();
  marks_.clear();
  value_bytes_ = 0;
}

}  // namespace mergedb::format
