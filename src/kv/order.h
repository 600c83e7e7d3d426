// The order of keys and versions. The bytewise comparator is a special case without a virtual call.
//
// Prefix: under the bytewise order, a key's first 8 bytes as a big-endian number decide most comparisons, without
// access to the key. Under any other comparator every prefix is 0, so comparing prefixes first is always right.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "kv/key.h"
#include "mergedb/comparator.h"

namespace mergedb::kv {

class Order {
 public:
  explicit Order(const Comparator* comparator)
      : comparator_(comparator), is_bytewise_(comparator == BytewiseComparator()) {}

  const Comparator* comparator() const { return comparator_; }
  bool is_bytewise() const { return is_bytewise_; }

  uint64_t Prefix(std::string_view key) const { return is_bytewise_ ? base::Prefix8(key) : 0; }

  int CompareKeys(std::string_view a, std::string_view b) const {
    return is_bytewise_ ? base::CompareBytes(a, b) : comparator_->Compare(a, b);
  }
  bool SameKey(std::string_view a, std::string_view b) const {
    return is_bytewise_ ? a == b : comparator_->Compare(a, b) == 0;
  }

  // < 0 if a comes before b: by key, then newest first.
  int Compare(const Entry& a, const Entry& b) const {
    if (a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
    const int order = CompareKeys(a.key, b.key);
    if (order != 0) return order;
    return a.tag > b.tag ? -1 : a.tag < b.tag ? 1 : 0;
  }

 private:
  const Comparator* comparator_;
  bool is_bytewise_;
};

}  // namespace mergedb::kv
