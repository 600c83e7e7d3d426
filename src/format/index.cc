#include "format/index.h"

#include <bit>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/coding.h"
#include "format/block.h"
#include "format/table_layout.h"

namespace mergedb::format {
namespace {

constexpr uint32_t kLeastBlockBytes = kBlockTailBytes + kTrailerBytes;

Status Damaged(const char* what, uint64_t expected, uint64_t found) {
  return Status::Corruption(std::string("index's ") + what + ": expected " + std::to_string(expected) + ", found " +
                            std::to_string(found));
}

// First i in [first, last) with heads[i] >= head, or last if there is no such i.
uint32_t LowerBound(const uint64_t* heads, uint32_t first, uint32_t last, uint64_t head) {
  while (first < last) {
    const uint32_t half = (last - first + 1) / 2;
    const bool is_before = heads[first + half - 1] < head;
    last = is_before ? last : first + half - 1;
    first = is_before ? first + half : first;
  }
  return first;
}

}  // namespace

void IndexBuilder::AddFence(std::string_view last_key, const std::string_view* next_first_key) {
  if (!is_bytewise_) {
    fences_ += last_key;
  } else if (next_first_key == nullptr || *next_first_key == last_key) {
    fences_ += last_key;
    fences_ += '\0';
  } else {
    fences_ += next_first_key->substr(0, base::CommonPrefixBytes(last_key, *next_first_key) + 1);
  }
  fence_ends_.push_back(fences_.size());
}

std::string IndexBuilder::Finish(std::string_view smallest, std::string_view largest) const {
  ASSERT(fence_ends_.size() == block_bytes_.size(), "one fence for each block");
  const size_t count = block_bytes_.size();
  const size_t prefix_bytes = is_bytewise_ ? base::CommonPrefixBytes(smallest, largest) : 0;
  std::string out;
  out.reserve(8 + prefix_bytes + 8 * count + fences_.size());
  base::AppendFixed32(&out, static_cast<uint32_t>(count));
  base::AppendFixed32(&out, static_cast<uint32_t>(prefix_bytes));
  out += smallest.substr(0, prefix_bytes);
  for (const uint32_t bytes : block_bytes_) base::AppendFixed32(&out, bytes);
  for (size_t i = 0; i < count; ++i) {
    base::AppendFixed32(&out, static_cast<uint32_t>(fence_ends_[i] - (i + 1) * prefix_bytes));
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i == 0 ? 0 : fence_ends_[i - 1];
    out.append(fences_, begin + prefix_bytes, fence_ends_[i] - begin - prefix_bytes);
  }
  return out;
}

Status Index::Decode(std::string_view bytes, uint64_t data_bytes, const kv::Order& order) {
  const size_t size = bytes.size();
  uint32_t prefix_bytes = 0;
  if (!base::TakeFixed32(&bytes, &count_) || !base::TakeFixed32(&bytes, &prefix_bytes)) {
    return Damaged("minimum size", 8, size);
  }
  if (count_ == 0) return Damaged("minimum count", 1, 0);
  const uint64_t fixed_bytes = uint64_t{prefix_bytes} + uint64_t{count_} * 8;
  if (fixed_bytes > bytes.size()) return Damaged("minimum size", 8 + fixed_bytes, size);
  if (!order.is_bytewise() && prefix_bytes != 0) return Damaged("prefix bytes", 0, prefix_bytes);
  prefix_ = bytes.substr(0, prefix_bytes);
  const char* block_bytes = bytes.data() + prefix_bytes;
  const char* ends = block_bytes + size_t{count_} * 4;
  RETURN_IF_ERROR(DecodeOffsets(block_bytes, data_bytes));

  fence_ends_.resize(count_);
  std::memcpy(fence_ends_.data(), ends, size_t{count_} * 4);
  for (uint32_t i = 1; i < count_; ++i) {
    if (fence_ends_[i] < fence_ends_[i - 1]) return Damaged("minimum fence end", fence_ends_[i - 1], fence_ends_[i]);
  }
  fences_ = bytes.substr(fixed_bytes);
  if (fence_ends_.back() != fences_.size()) return Damaged("last fence end", fences_.size(), fence_ends_.back());
  RETURN_IF_ERROR(CheckFencesAscend(order));
  if (order.is_bytewise()) BuildHeads();
  return {};
}

Status Index::DecodeOffsets(const char* block_bytes, uint64_t data_bytes) {
  offsets_.resize(size_t{count_} + 1);
  offsets_[0] = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    const uint32_t bytes = base::LoadFixed32(block_bytes + size_t{i} * 4);
    if (bytes < kLeastBlockBytes) return Damaged("minimum block size", kLeastBlockBytes, bytes);
    offsets_[i + 1] = offsets_[i] + bytes;  // no overflow: count and bytes are below 2^32
  }
  if (offsets_[count_] != data_bytes) return Damaged("sum of block sizes", data_bytes, offsets_[count_]);
  return {};
}

// Compares whole fences, not only heads: if fences descend, a search can miss a key that exists.
Status Index::CheckFencesAscend(const kv::Order& order) const {
  for (uint32_t i = 1; i < count_; ++i) {
    if (order.CompareKeys(FenceRest(i - 1), FenceRest(i)) > 0) return Damaged("ascending fences, except fence", i, i);
  }
  return {};
}

void Index::BuildHeads() {
  heads_.resize(count_);
  for (uint32_t i = 0; i < count_; ++i) heads_[i] = base::Prefix8(FenceRest(i));
  // Chooses the buckets so that evenly spread heads would put about one head into each.
  const uint64_t range = heads_.back() - heads_.front();
  const uint32_t bits = static_cast<uint32_t>(std::bit_width(count_));
  const uint32_t range_bits = static_cast<uint32_t>(std::bit_width(range));
  shift_ = range_bits > bits ? range_bits - bits : 0;
  const size_t buckets = static_cast<size_t>(range >> shift_) + 1;
  starts_.resize(buckets + 1);
  uint32_t i = 0;
  for (size_t bucket = 0; bucket <= buckets; ++bucket) {
    while (i < count_ && (heads_[i] - heads_[0]) >> shift_ < bucket) ++i;
    starts_[bucket] = i;
  }
}

uint32_t Index::FindBytewise(std::string_view key) const {
  const int by_prefix = base::CompareBytes(key.substr(0, prefix_.size()), prefix_);
  if (by_prefix != 0) return by_prefix < 0 ? 0 : count_;
  const std::string_view rest = key.substr(prefix_.size());
  const uint64_t head = base::Prefix8(rest);
  if (head < heads_.front()) return 0;
  if (head > heads_.back()) return count_;
  const size_t bucket = static_cast<size_t>((head - heads_.front()) >> shift_);
  uint32_t first = LowerBound(heads_.data(), starts_[bucket], starts_[bucket + 1], head);
  if (first == count_ || heads_[first] != head || rest < FenceRest(first)) return first;
  // The key's head equals that of one or more fences. Find the first fence above the key.
  for (uint32_t left = count_ - ++first; left > 0;) {
    const uint32_t half = left / 2;
    if (rest < FenceRest(first + half)) {
      left = half;
    } else {
      first += half + 1;
      left -= half + 1;
    }
  }
  return first;
}

uint32_t Index::FindWithComparator(const kv::Order& order, std::string_view key) const {
  uint32_t first = 0;
  for (uint32_t left = count_; left > 0;) {
    const uint32_t half = left / 2;
    if (order.CompareKeys(FenceRest(first + half), key) < 0) {
      first += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  return first;
}

size_t Index::memory_bytes() const {
  return offsets_.size() * 8 + fence_ends_.size() * 4 + heads_.size() * 8 + starts_.size() * 4 + fences_.size() +
         prefix_.size();
}

}  // namespace mergedb::format
