// LevelDB's bloom filter, bit for bit: its tables are read and written with it.
//
// FORMAT: filter := bits | probes u8. Probe i of a key looks at bit (h + i * d) mod bits, where h is the hash below and d is h rotated right
//         by 17.
#include "leveldb/filter_policy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

#include "base/sync.h"
#include "leveldb/builtin_filters.h"
#include "leveldb/slice.h"

namespace leveldb {
namespace {

constexpr uint32_t kSeed = 0xbc9f1d34;
constexpr uint32_t kMultiplier = 0xc6a4a793;
constexpr int kProbesMax = 30;  // larger numbers in a filter mean an encoding to come: it matches everything

uint32_t Hash(const Slice& key) {
  const char* at = key.data();
  const char* const end = at + key.size();
  uint32_t hash = kSeed ^ static_cast<uint32_t>(key.size() * kMultiplier);
  for (; end - at >= 4; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, at, sizeof word);
    hash = (hash + word) * kMultiplier;
    hash ^= hash >> 16;
  }
  if (at == end) return hash;
  for (int shift = 0; at + shift / 8 < end; shift += 8) {
    hash += static_cast<uint32_t>(static_cast<uint8_t>(at[shift / 8])) << shift;
  }
  hash *= kMultiplier;
  return hash ^ hash >> 24;
}

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
  explicit Bloom(int bits_per_key)
      : bits_per_key_(static_cast<size_t>(std::max(bits_per_key, 0))),
        // The number of probes that lets fewest through: ln 2 times the bits for each key.
        probes_(std::clamp(static_cast<int>(static_cast<double>(bits_per_key) * 0.69), 1, kProbesMax)) {
    Builtins::Get().Add(this, bits_per_key);
  }
  ~Bloom() override { Builtins::Get().Drop(this); }

  const char* Name() const override { return "leveldb.BuiltinBloomFilter2"; }

  void CreateFilter(const Slice* keys, int count, std::string* filter) const override {
    const size_t bytes = (std::max(static_cast<size_t>(count) * bits_per_key_, size_t{64}) + 7) / 8;
    const size_t bits = bytes * 8;
    const size_t begin = filter->size();
    filter->resize(begin + bytes, '\0');
    filter->push_back(static_cast<char>(probes_));
    char* const array = filter->data() + begin;
    for (int i = 0; i < count; ++i) {
      VisitBits(Hash(keys[i]), bits, probes_, [&](size_t bit) {
        array[bit / 8] = static_cast<char>(array[bit / 8] | 1 << bit % 8);
        return true;
      });
    }
  }

  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    if (filter.size() < 2) return false;
    const auto probes = static_cast<uint8_t>(filter[filter.size() - 1]);
    if (probes > kProbesMax) return true;
    const size_t bits = (filter.size() - 1) * 8;
    return VisitBits(Hash(key), bits, probes, [&](size_t bit) { return (filter[bit / 8] & 1 << bit % 8) != 0; });
  }

 private:
  template <typename Visit>
  static bool VisitBits(uint32_t hash, size_t bits, int probes, Visit visit) {
    const uint32_t step = hash >> 17 | hash << 15;
    for (int i = 0; i < probes; ++i, hash += step) {
      if (!visit(hash % bits)) return false;
    }
    return true;
  }

  const size_t bits_per_key_;
  const int probes_;
};

}  // namespace

std::optional<int> BitsOfBuiltin(const FilterPolicy* policy) { return Builtins::Get().Find(policy); }

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) { return new Bloom(bits_per_key); }

}  // namespace leveldb
