// NewBloomFilterPolicy: LevelDB's bloom filter, bit for bit (src/format/leveldb_filter.h).
#include "leveldb/filter_policy.h"

#include <map>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "format/leveldb_filter.h"
#include "leveldb/adapters.h"
#include "leveldb/builtin_filters.h"

namespace leveldb {
namespace {

// Which policies are ours. WHY not a dynamic_cast: a program compiled without type information may own the object.
class Builtins {
 public:
  static Builtins& Get() {
    static auto* const builtins = new Builtins;
    return *builtins;
  }
  void Add(const FilterPolicy* policy, int bits_per_key) {
    const mergedb::base::Lock lock(mutex_);
    bits_[policy] = bits_per_key;
  }
  void Drop(const FilterPolicy* policy) {
    const mergedb::base::Lock lock(mutex_);
    bits_.erase(policy);
  }
  std::optional<int> Find(const FilterPolicy* policy) {
    const mergedb::base::Lock lock(mutex_);
    const auto found = bits_.find(policy);
    return found == bits_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mergedb::base::Mutex mutex_;
  std::map<const FilterPolicy*, int> bits_ GUARDED_BY(mutex_);
};

class Bloom final : public FilterPolicy {
 public:
  explicit Bloom(int bits_per_key) : bloom_(bits_per_key) { Builtins::Get().Add(this, bits_per_key); }
  ~Bloom() override { Builtins::Get().Drop(this); }

  const char* Name() const override { return bloom_.Name().data(); }  // of a literal: it ends with a zero
  void CreateFilter(const Slice* keys, int count, std::string* filter) const override {
    std::vector<std::string_view> views;
    views.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) views.push_back(View(keys[i]));
    bloom_.AppendFilter(views, filter);
  }
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override { return bloom_.MayContain(View(key), View(filter)); }

 private:
  const mergedb::format::leveldb::BloomPolicy bloom_;
};

}  // namespace

std::optional<int> BitsOfBuiltin(const FilterPolicy* policy) { return Builtins::Get().Find(policy); }

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) { return new Bloom(bits_per_key); }

}  // namespace leveldb
