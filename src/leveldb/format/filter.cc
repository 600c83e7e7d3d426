#include "leveldb/format/filter.h"

#include <algorithm>

#include "base/coding.h"

namespace mergedb::leveldb_format {
namespace {

constexpr size_t kBitsMin = 64;
constexpr size_t kProbesMax = 30;

uint32_t ByteAt(std::string_view bytes, size_t index) { return static_cast<uint8_t>(bytes[index]); }
uint32_t StepOf(uint32_t hash) { return hash >> 17 | hash << 15; }

}  // namespace

uint32_t BloomHash(std::string_view key) {
  constexpr uint32_t kSeed = 0xbc9f1d34u, kMultiplier = 0xc6a4a793u;
  uint32_t hash = kSeed ^ (static_cast<uint32_t>(key.size()) * kMultiplier);
  while (key.size() >= 4) {
    hash = (hash + base::LoadFixed32(key.data())) * kMultiplier;
    hash ^= hash >> 16;
    key.remove_prefix(4);
  }
  if (key.empty()) return hash;
  for (size_t i = key.size(); i-- > 0;) hash += ByteAt(key, i) << (8 * i);
  hash *= kMultiplier;
  return hash ^ hash >> 24;
}

BloomPolicy::BloomPolicy(int bits_per_key)
    : bits_per_key_(static_cast<size_t>(std::max(bits_per_key, 0))),
      probes_(std::clamp<size_t>(static_cast<size_t>(static_cast<double>(bits_per_key_) * 0.69), 1, kProbesMax)) {}

void BloomPolicy::AppendFilter(const std::vector<std::string_view>& keys, std::string* out) const {
  const size_t bytes = (std::max(keys.size() * bits_per_key_, kBitsMin) + 7) / 8;
  const size_t begin = out->size();
  out->append(bytes, '\0');
  for (const std::string_view key : keys) {
    uint32_t hash = BloomHash(key);
    const uint32_t step = StepOf(hash);
    for (size_t i = 0; i < probes_; ++i, hash += step) {
      const size_t bit = hash % (bytes * 8);
      (*out)[begin + bit / 8] = static_cast<char>((*out)[begin + bit / 8] | 1 << bit % 8);
    }
  }
  out->push_back(static_cast<char>(probes_));
}

bool BloomPolicy::MayContain(std::string_view key, std::string_view filter) const {
  if (filter.size() < 2) return false;
  const size_t bits = (filter.size() - 1) * 8;
  const uint32_t probes = ByteAt(filter, filter.size() - 1);
  if (probes > kProbesMax) return true;  // such a filter is of another kind: pass every key, as LevelDB does
  uint32_t hash = BloomHash(key);
  const uint32_t step = StepOf(hash);
  for (uint32_t i = 0; i < probes; ++i, hash += step) {
    const size_t bit = hash % bits;
    if ((ByteAt(filter, bit / 8) & 1u << bit % 8) == 0) return false;
  }
  return true;
}

}  // namespace mergedb::leveldb_format
