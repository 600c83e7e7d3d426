#include "leveldb/comparator.h"

#include "leveldb/format/order.h"
#include "leveldb/interface/adapters.h"

namespace leveldb {
namespace {

class ByBytes final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }
  const char* Name() const override { return "leveldb.BytewiseComparator"; }

  void FindShortestSeparator(std::string* start, const Slice& limit) const override {
    order_.ShortenTowards(ToStringView(limit), start);
  }
  void FindShortSuccessor(std::string* key) const override { order_.ShortenUpwards(key); }

 private:
  const mergedb::leveldb_format::UserOrder order_{mergedb::kv::Order(mergedb::BytewiseComparator())};
};

}  // namespace

const Comparator* BytewiseComparator() {
  static const auto* const by_bytes = new ByBytes;
  return by_bytes;
}

}  // namespace leveldb
