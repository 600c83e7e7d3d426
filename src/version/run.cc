#include "version/run.h"

#include <algorithm>

namespace mergedb::version {

std::optional<VirtualTable> Clip(const kv::Order& order, format::FileMetaPtr file, format::Bounds bounds) {
  const bool is_open = file->largest_is_open;
  if (bounds.lower) {
    const int beyond = order.CompareKeys(*bounds.lower, file->largest);
    if (beyond > 0 || (is_open && beyond == 0)) return std::nullopt;
    if (order.CompareKeys(*bounds.lower, file->smallest) <= 0) bounds.lower.reset();
  }
  if (bounds.upper) {
    const std::string_view smallest = bounds.lower ? *bounds.lower : file->smallest;
    if (order.CompareKeys(*bounds.upper, smallest) <= 0) return std::nullopt;
    const int beyond = order.CompareKeys(*bounds.upper, file->largest);
    if (beyond > 0 || (is_open && beyond == 0)) bounds.upper.reset();
  }
  return VirtualTable{std::move(file), std::move(bounds)};
}

namespace {

bool EndsBefore(const kv::Order& order, const format::Bounds& a, const format::Bounds& b) {
  return a.upper && b.lower && order.CompareKeys(*a.upper, *b.lower) <= 0;
}

}  // namespace

bool Intersect(const kv::Order& order, const format::Bounds& a, const format::Bounds& b) {
  return !EndsBefore(order, a, b) && !EndsBefore(order, b, a);
}

format::Bounds Intersection(const kv::Order& order, const format::Bounds& a, const format::Bounds& b) {
  format::Bounds both = a;
  if (b.lower && (!a.lower || order.CompareKeys(*a.lower, *b.lower) < 0)) both.lower = b.lower;
  if (b.upper && (!a.upper || order.CompareKeys(*b.upper, *a.upper) < 0)) both.upper = b.upper;
  return both;
}

void AddShares(const std::vector<format::BlobShare>& more, std::vector<format::BlobShare>* sums) {
  if (more.empty()) return;
  // Fast path: tables in key order often refer to ever newer blob files. Then the new shares go to the end.
  if (sums->empty() || sums->back().file < more.front().file) {
    sums->insert(sums->end(), more.begin(), more.end());
    return;
  }
  std::vector<format::BlobShare> both;
  both.reserve(more.size() + sums->size());
  auto a = sums->begin();
  auto b = more.begin();
  while (a != sums->end() && b != more.end()) {
    if (a->file == b->file) {
      both.push_back({.file = a->file, .bytes = (a++)->bytes + (b++)->bytes});
    } else {
      both.push_back(a->file < b->file ? *a++ : *b++);
    }
  }
  both.insert(both.end(), a, sums->end());
  both.insert(both.end(), b, more.end());
  *sums = std::move(both);
}

Run::Run(kv::Position position, format::Level level, std::vector<VirtualTable> virtual_tables)
    : position_(position), level_(level), virtual_tables_(std::move(virtual_tables)) {
  for (const VirtualTable& virtual_table : virtual_tables_) {
    if (virtual_table.file->range_tombstones != 0)
      virtual_tables_with_ranges_.push_back(static_cast<uint32_t>(&virtual_table - virtual_tables_.data()));
    if (virtual_table.is_whole()) {
      whole_weight_.Add(*virtual_table.file);
      AddShares(virtual_table.file->values, &whole_values_);
    } else {
      partial_files_.push_back(virtual_table.file);
    }
  }
  const auto number = [](const format::FileMetaPtr& file) { return file->number; };
  std::ranges::sort(partial_files_, {}, number);
  const auto is_same = [&](const auto& a, const auto& b) { return number(a) == number(b); };
  // WHY not ranges::unique: clang 14 cannot compile it.
  partial_files_.erase(std::unique(partial_files_.begin(), partial_files_.end(), is_same), partial_files_.end());
  weight_ = whole_weight_;
  for (const auto& file : partial_files_) weight_.Add(*file);
}

size_t Run::FindIndex(const kv::Order& order, std::string_view key) const {
  const auto it =
      std::partition_point(virtual_tables_.begin(), virtual_tables_.end(),
                           [&](const VirtualTable& virtual_table) { return virtual_table.IsBefore(order, key); });
  return static_cast<size_t>(it - virtual_tables_.begin());
}

const VirtualTable* Run::Find(const kv::Order& order, std::string_view key) const {
  const size_t index = FindIndex(order, key);
  if (index == virtual_tables_.size() || order.CompareKeys(virtual_tables_[index].smallest(), key) > 0) return nullptr;
  return &virtual_tables_[index];
}

std::pair<size_t, size_t> Run::Overlap(const kv::Order& order, const format::Bounds& bounds) const {
  const size_t first = bounds.lower ? FindIndex(order, *bounds.lower) : 0;
  if (!bounds.upper) return {first, virtual_tables_.size()};
  const auto it = std::partition_point(virtual_tables_.begin() + static_cast<ptrdiff_t>(first), virtual_tables_.end(),
                                       [&](const VirtualTable& virtual_table) {
                                         return order.CompareKeys(virtual_table.smallest(), *bounds.upper) < 0;
                                       });
  return {first, static_cast<size_t>(it - virtual_tables_.begin())};
}

}  // namespace mergedb::version
