#include "leveldb/comparator.h"

#include <algorithm>
#include <cstdint>

#include "leveldb/slice.h"

namespace leveldb {
namespace {

class ByBytes final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }
  const char* Name() const override { return "leveldb.BytewiseComparator"; }

  // "abc1...", "abc9..." -> "abc2": the first differing byte plus one, if the result stays below the limit.
  void FindShortestSeparator(std::string* start, const Slice& limit) const override {
    const size_t shared_max = std::min(start->size(), limit.size());
    size_t at = 0;
    while (at < shared_max && (*start)[at] == limit[at]) ++at;
    if (at == shared_max) return;  // one is a prefix of the other
    const auto byte = static_cast<uint8_t>((*start)[at]);
    if (byte == 0xff || byte + 1 >= static_cast<uint8_t>(limit[at])) return;
    (*start)[at] = static_cast<char>(byte + 1);
    start->resize(at + 1);
  }

  void FindShortSuccessor(std::string* key) const override {
    for (size_t at = 0; at < key->size(); ++at) {
      const auto byte = static_cast<uint8_t>((*key)[at]);
      if (byte == 0xff) continue;
      (*key)[at] = static_cast<char>(byte + 1);
      key->resize(at + 1);
      return;
    }
  }
};

}  // namespace

const Comparator* BytewiseComparator() {
  static const auto* const by_bytes = new ByBytes;
  return by_bytes;
}

}  // namespace leveldb
