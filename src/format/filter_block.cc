#include "format/filter_block.h"

#include "base/coding.h"

namespace mergedb::format {
namespace {

constexpr uint32_t kShift = 11;  // one filter for each 2 KiB of the file

}  // namespace

void FilterBlockBuilder::StartBlock(uint64_t offset) {
  while (offsets_.size() < offset >> kShift) EndFilter();
}

void FilterBlockBuilder::AddKey(std::string_view key) {
  keys_.append(key);
  key_ends_.push_back(keys_.size());
}

void FilterBlockBuilder::EndFilter() {
  offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  if (key_ends_.empty()) return;
  std::vector<std::string_view> keys;
  keys.reserve(key_ends_.size());
  size_t begin = 0;
  for (const size_t end : key_ends_) {
    keys.push_back(std::string_view(keys_).substr(begin, end - begin));
    begin = end;
  }
  policy_.AppendFilter(keys, &bytes_);
  keys_.clear();
  key_ends_.clear();
}

std::string_view FilterBlockBuilder::Finish() {
  if (!key_ends_.empty()) EndFilter();
  const auto offsets_at = static_cast<uint32_t>(bytes_.size());
  for (const uint32_t offset : offsets_) base::AppendFixed32(&bytes_, offset);
  base::AppendFixed32(&bytes_, offsets_at);
  bytes_.push_back(static_cast<char>(kShift));
  return bytes_;
}

FilterBlock::FilterBlock(const FilterPolicy& policy, std::string_view block) : policy_(policy) {
  if (block.size() < 5) return;
  const size_t offsets_at = base::LoadFixed32(block.data() + block.size() - 5);
  if (offsets_at > block.size() - 5) return;
  filters_ = block;
  offsets_at_ = offsets_at;
  count_ = (block.size() - 5 - offsets_at) / 4;
  shift_ = static_cast<uint8_t>(block.back());
}

bool FilterBlock::MayContain(uint64_t block_offset, std::string_view key) const {
  if (shift_ >= 64 || block_offset >> shift_ >= count_) return true;
  const char* const at = filters_.data() + offsets_at_ + 4 * (block_offset >> shift_);
  // The offset of the offset array follows the last filter's offset. The last filter ends there.
  const size_t begin = base::LoadFixed32(at), end = base::LoadFixed32(at + 4);
  if (begin > end || end > offsets_at_) return true;
  if (begin == end) return false;
  return policy_.MayContain(key, filters_.substr(begin, end - begin));
}

}  // namespace mergedb::format
