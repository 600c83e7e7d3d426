// A blocked bloom filter: tells with one cache miss that a key is not in the table.
//
// FORMAT: filter := line (64 bytes)* | probes u8
//
// The line of a key is the high 64 bits of the product hash x number of lines. The top 9 bits of a state choose
// the bit of a probe within the line. The first state is the low half of the hash; each next state is the last
// one times an odd constant. The hash is base::Hash64 of the user key.
//
// At 10 bits a key about 1 in 100 absent keys passes. A filter without lines passes 1 in 120, at seven cache misses.
//
// Tests: tests/unit/format/bloom_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/status.h"

namespace mergedb::format {

inline constexpr size_t kBloomLineBytes = 64;
inline constexpr uint32_t kBloomProbesMax = 16;

namespace bloom_detail {
inline size_t LineOf(uint64_t hash, size_t lines) {
  return static_cast<size_t>((static_cast<unsigned __int128>(hash) * lines) >> 64);
}
inline constexpr uint32_t kStep = 0x9E3779B9u;
inline uint32_t BitOf(uint32_t state) { return state >> 23; }  // of 512
}  // namespace bloom_detail

// The filter of these hashes, with `bits_per_key` bits for each. Equal hashes may repeat.
std::string EncodeBloom(const std::vector<uint64_t>& hashes, int bits_per_key);

class Bloom {
 public:
  // A filter that passes every key.
  Bloom() = default;
  // Copies `bytes` to memory aligned to cache lines. Corruption if `bytes` is not a filter.
  [[nodiscard]] Status Decode(std::string_view bytes);

  bool MayContain(uint64_t hash) const {
    if (lines_ == 0) return true;
    const char* line = Line(hash);
    uint32_t state = static_cast<uint32_t>(hash);
    uint64_t missing = 0;
    for (uint32_t i = 0; i < probes_; ++i) {
      const uint32_t bit = bloom_detail::BitOf(state);
      uint64_t word;
      std::memcpy(&word, line + bit / 64 * 8, sizeof word);
      missing |= ~word >> (bit % 64);
      state *= bloom_detail::kStep;
    }
    return (missing & 1) == 0;
  }
  void Prefetch(uint64_t hash) const {
    if (lines_ != 0) __builtin_prefetch(Line(hash));
  }
  size_t memory_bytes() const { return lines_ * kBloomLineBytes; }

 private:
  struct FreeLines {
    void operator()(char* lines) const { ::operator delete (lines, std::align_val_t{kBloomLineBytes}); }
  };
  const char* Line(uint64_t hash) const { return bits_.get() + bloom_detail::LineOf(hash, lines_) * kBloomLineBytes; }

  std::unique_ptr<char, FreeLines> bits_;
  size_t lines_ = 0;
  uint32_t probes_ = 0;
};

}  // namespace mergedb::format
