// SplitMix64 (Steele, Lea, Flood 2014): 64 pseudo-random bits per step, from a seed that the caller passes.
// Not for secrets.
#pragma once

#include <cstdint>

namespace mergedb::base {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // A number in [0, bound). REQUIRES: bound > 0
  uint64_t Uniform(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }
  bool OneIn(uint64_t n) { return Uniform(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace mergedb::base
