// A program's key order and filters, in the form that the codecs of LevelDB's formats use (src/leveldb/format/).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/filter_block.h"
#include "leveldb/filter_policy.h"
#include "leveldb/format/order.h"
#include "leveldb/interface/adapters.h"

namespace leveldb {

class OrderAdapter final : public mergedb::leveldb_format::KeyOrder {
 public:
  explicit OrderAdapter(const Comparator* target) : target_(*target) {}
  int Compare(std::string_view a, std::string_view b) const override { return target_.Compare(ToSlice(a), ToSlice(b)); }
  void ShortenTowards(std::string_view limit, std::string* key) const override {
    target_.FindShortestSeparator(key, ToSlice(limit));
  }
  void ShortenUpwards(std::string* key) const override { target_.FindShortSuccessor(key); }

 private:
  const Comparator& target_;
};

class FilterAdapter final : public mergedb::format::FilterPolicy {
 public:
  explicit FilterAdapter(const leveldb::FilterPolicy* target) : target_(*target) {}
  std::string_view Name() const override { return target_.Name(); }
  void AppendFilter(const std::vector<std::string_view>& keys, std::string* out) const override {
    std::vector<Slice> slices;
    slices.reserve(keys.size());
    for (const std::string_view key : keys) slices.push_back(ToSlice(key));
    target_.CreateFilter(slices.data(), static_cast<int>(slices.size()), out);
  }
  bool MayContain(std::string_view key, std::string_view filter) const override {
    return target_.KeyMayMatch(ToSlice(key), ToSlice(filter));
  }

 private:
  const leveldb::FilterPolicy& target_;
};

}  // namespace leveldb
