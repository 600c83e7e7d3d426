// Keys, values and their order. They are LevelDB's and the same for every engine, so results can be compared
// with published ones.
//
//     LehmerRandom random(1001);                    // the first thread of a run
//     KeyMaker key(flags);  key.Set(42);            // "0000000000000042"
//     ValueSource values(bytes);                    // bytes of MakeValueBytes, made before the clock runs
//     values.Next(100);
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/coding.h"
#include "bench/flags.h"

namespace mergedb::bench {

// Park and Miller's minimal standard generator (x * 16807 mod 2^31 - 1), which LevelDB's benchmark uses.
class LehmerRandom {
 public:
  explicit LehmerRandom(uint32_t seed) : state_(seed & kModulus) {
    if (state_ == 0 || state_ == kModulus) state_ = 1;
  }
  uint32_t Next() { return state_ = static_cast<uint32_t>(uint64_t{state_} * 16807 % kModulus); }
  uint32_t Uniform(int64_t bound) { return static_cast<uint32_t>(Next() % bound); }

 private:
  static constexpr uint32_t kModulus = 2147483647;
  uint32_t state_;
};

// The eight decimal digits of a number below 10^8, as a little-endian word. Each step splits all parts of the
// word at once.
inline uint64_t EightDigits(uint64_t number) {
  const uint64_t fours = number / 10'000 | number % 10'000 << 32;
  const uint64_t hundreds = (fours * 10'486 >> 20) & 0x0000'007f'0000'007f;  // of each four: 10,486 / 2^20 is 1 / 100
  const uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
  const uint64_t tens = (twos * 103 >> 10) & 0x000f'000f'000f'000f;  // for each pair: 103 / 2^10 is 1 / 10
  return (tens | (twos - 10 * tens) << 8) + 0x3030'3030'3030'3030;
}

// A key: key_prefix letters 'a', then the decimal number, zero-padded to key_size. WHY stores of whole words:
// an engine that loads eight bytes just after single-byte stores waits until all earlier stores are in the
// cache. The engine would be charged for a cost of the harness.
class KeyMaker {
 public:
  explicit KeyMaker(const Flags& flags)
      : prefix_(static_cast<size_t>(flags.key_prefix)), bytes_(prefix_ + static_cast<size_t>(flags.key_size), '0') {
    std::memset(bytes_.data(), 'a', prefix_);
  }

  std::string_view Set(uint64_t number) {
    char* digit = bytes_.data() + bytes_.size();
    char* const first = bytes_.data() + prefix_;
    for (; digit - first >= 8; number /= 100'000'000) base::StoreFixed64(digit -= 8, EightDigits(number % 100'000'000));
    while (digit != first && number != 0) {
      *--digit = static_cast<char>('0' + number % 10);
      number /= 10;
    }
    std::memset(first, '0', static_cast<size_t>(digit - first));
    return bytes_;
  }
  std::string_view view() const { return bytes_; }

 private:
  size_t prefix_;
  std::string bytes_;
};

// 1 MB of printable bytes, or `value_bytes_max` if that is more. Each piece of 100 bytes compresses to about
// `ratio` of its size.
std::string MakeValueBytes(double ratio, size_t value_bytes_max);

// Returns consecutive slices of the bytes. REQUIRES: no value is longer than the bytes.
class ValueSource {
 public:
  explicit ValueSource(std::string_view bytes) : bytes_(bytes) {}
  std::string_view Next(size_t bytes) {
    if (offset_ + bytes > bytes_.size()) offset_ = 0;
    offset_ += bytes;
    return bytes_.substr(offset_ - bytes, bytes);
  }

 private:
  std::string_view bytes_;
  size_t offset_ = 0;
};

// Sizes of values, as --value_size_distribution requests. Fixed sizes draw no random numbers.
class ValueSizes {
 public:
  ValueSizes(const Flags& flags, uint32_t seed)
      : kind_(flags.value_size_distribution == "uniform" ? Kind::kUniform
              : flags.value_size_distribution == "mixed" ? Kind::kMixed
                                                         : Kind::kFixed),
        fixed_(static_cast<size_t>(flags.value_size)),
        min_(flags.value_size_min),
        max_(flags.value_size_max),
        random_(seed ^ 0x2545f491) {}
  // All values have this size.
  explicit ValueSizes(int64_t fixed) : kind_(Kind::kFixed), fixed_(static_cast<size_t>(fixed)), random_(1) {}

  size_t Next() { return kind_ == Kind::kFixed ? fixed_ : NextRandom(); }

 private:
  enum class Kind { kFixed, kUniform, kMixed };
  size_t NextRandom();

  Kind kind_;
  size_t fixed_;
  int64_t min_ = 0;
  int64_t max_ = 0;
  LehmerRandom random_;
};

// The mean of these sizes.
double MeanValueBytes(const Flags& flags);

// Ranks 0..n-1 with probability ~ 1 / (rank + 1)^theta, by rejection-inversion (Hoermann and Derflinger 1996),
// which needs no table and costs the same for any n. Ranks are scattered over the key numbers, so that hot keys
// are not neighbours.
class Zipfian {
 public:
  Zipfian(int64_t count, double theta);
  int64_t NextRank(LehmerRandom* random) const;
  int64_t Scatter(int64_t rank) const;
  int64_t Next(LehmerRandom* random) const { return Scatter(NextRank(random)); }
  void SetCount(int64_t count);  // costs one power

 private:
  double Integral(double x) const;
  double IntegralInverse(double x) const;

  int64_t count_;
  double theta_;
  double lower_;
  double upper_;
  double shortcut_;
};

// The numbers 0..n-1, each once, in random order, without a table: a few invertible steps on words of just enough bits
// permute these words, and a word that is no number of 0..n-1 is permuted again.
class Permutation {
 public:
  Permutation(int64_t count, uint64_t seed);
  uint64_t At(int64_t step) const;  // REQUIRES: 0 <= step < count

 private:
  static constexpr int kRounds = 3;

  uint64_t count_;
  uint64_t mask_;
  int shift_;
  uint64_t factors_[kRounds];  // odd
  uint64_t masks_[kRounds];
};

// Key numbers in the order that the flags and the benchmark request.
class NumberSource {
 public:
  NumberSource(const Flags& flags, bool is_sequential, uint32_t seed)
      : count_(flags.num),
        is_sequential_(is_sequential),
        is_zipfian_(flags.distribution == "zipfian"),
        is_latest_(flags.distribution == "latest"),
        random_(seed),
        zipfian_(flags.num, flags.zipf_theta) {}

  uint64_t Next(int64_t step) {
    if (is_sequential_) return static_cast<uint64_t>(step);
    if (is_latest_) return static_cast<uint64_t>(count_ - 1 - zipfian_.NextRank(&random_));
    return is_zipfian_ ? static_cast<uint64_t>(zipfian_.Next(&random_)) : random_.Uniform(count_);
  }
  LehmerRandom& random() { return random_; }

 private:
  int64_t count_;
  bool is_sequential_;
  bool is_zipfian_;
  bool is_latest_;  // the largest numbers, as fillseq writes them last
  LehmerRandom random_;
  Zipfian zipfian_;
};

}  // namespace mergedb::bench
