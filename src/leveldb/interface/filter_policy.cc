// NewBloomFilterPolicy: LevelDB's bloom filter, bit for bit (src/leveldb/format/filter.h).
#include "leveldb/filter_policy.h"

#include <string_view>
#include <vector>

#include "leveldb/format/filter.h"
#include "leveldb/interface/adapters.h"
#include "leveldb/interface/own_objects.h"

namespace leveldb {
namespace {

using OwnFilters = OwnObjects<FilterPolicy, int>;  // bits per key

class Bloom final : public FilterPolicy {
 public:
  explicit Bloom(int bits_per_key) : bloom_(bits_per_key) { OwnFilters::Get().Add(this, bits_per_key); }
  ~Bloom() override { OwnFilters::Get().Drop(this); }

  const char* Name() const override { return bloom_.Name().data(); }  // a string literal, so it ends with a NUL
  void CreateFilter(const Slice* keys, int count, std::string* filter) const override {
    std::vector<std::string_view> views;
    views.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) views.push_back(ToStringView(keys[i]));
    bloom_.AppendFilter(views, filter);
  }
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    return bloom_.MayContain(ToStringView(key), ToStringView(filter));
  }

 private:
  const mergedb::leveldb_format::BloomPolicy bloom_;
};

}  // namespace

std::optional<int> BitsOf(const FilterPolicy* policy) { return OwnFilters::Get().Find(policy); }

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) { return new Bloom(bits_per_key); }

}  // namespace leveldb
