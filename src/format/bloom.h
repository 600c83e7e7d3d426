// A blocked bloom filter: "this key is surely not in the table", for one cache miss.
//
// FORMAT: filter := line (64 bytes)* | probes u8
//
// A key's line is the high part of hash x lines; within the line, `probes` bits are chosen by the top 9 bits of the
// hash's low half, multiplied by an odd constant from probe to probe. The hash is base::Hash64 of the user key.
// At 10 bits a key about 1 in 100 absent keys passes. (A filter that spreads its bits over all of its bytes would pass 1 in
// 120, at seven cache misses instead of one.)
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

// The filter of these hashes (equal ones may repeat), `bits_per_key` bits for each.
std::string EncodeBloom(const std::vector<uint64_t>& hashes, int bits_per_key);

class Bloom {
 public:
  // Passes everything.
  Bloom() = default;
  // Copies `bytes` to lines of memory that a probe touches singly. Corruption if they are no filter.
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
