#include "format/bloom.h"

#include <algorithm>
#include <new>

namespace mergedb::format {
namespace {

// Lines fill unevenly, so the best number of probes is a little below bits_per_key x ln 2.
uint32_t ProbesFor(int bits_per_key) {
  return static_cast<uint32_t>(std::clamp(bits_per_key * 6 / 10, 1, static_cast<int>(kBloomProbesMax)));
}

void SetBits(char* line, uint32_t state, uint32_t probes) {
  for (uint32_t i = 0; i < probes; ++i) {
    const uint32_t bit = bloom_detail::BitOf(state);
    uint64_t word;
    std::memcpy(&word, line + bit / 64 * 8, sizeof word);
    word |= uint64_t{1} << (bit % 64);
    std::memcpy(line + bit / 64 * 8, &word, sizeof word);
    state *= bloom_detail::kStep;
  }
}

}  // namespace

std::string EncodeBloom(const std::vector<uint64_t>& hashes, int bits_per_key) {
  constexpr size_t kAhead = 16;
  const uint32_t probes = ProbesFor(bits_per_key);
  const size_t lines = std::max<size_t>(1, (hashes.size() * static_cast<size_t>(bits_per_key) + 511) / 512);
  std::string bytes(lines * kBloomLineBytes + 1, '\0');
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) {
      __builtin_prefetch(bytes.data() + bloom_detail::LineOf(hashes[i + kAhead], lines) * kBloomLineBytes, 1);
    }
    SetBits(bytes.data() + bloom_detail::LineOf(hashes[i], lines) * kBloomLineBytes, static_cast<uint32_t>(hashes[i]),
            probes);
  }
  bytes.back() = static_cast<char>(probes);
  return bytes;
}

Status Bloom::Decode(std::string_view bytes) {
  const size_t lines = bytes.size() / kBloomLineBytes;
  if (lines == 0 || bytes.size() % kBloomLineBytes != 1) {
    return Status::Corruption("filter of " + std::to_string(bytes.size()) + " bytes, expected n x 64 + 1");
  }
  const uint32_t probes = static_cast<uint8_t>(bytes.back());
  if (probes < 1 || probes > kBloomProbesMax) {
    return Status::Corruption("filter with " + std::to_string(probes) + " probes; the maximum is " +
                              std::to_string(kBloomProbesMax));
  }
  bits_.reset(static_cast<char*>(::operator new (lines* kBloomLineBytes, std::align_val_t{kBloomLineBytes})));
  std::memcpy(bits_.get(), bytes.data(), lines * kBloomLineBytes);
  lines_ = lines;
  probes_ = probes;
  return {};
}

}  // namespace mergedb::format
