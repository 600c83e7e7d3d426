#include "bench/keys.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mergedb::bench {

std::string MakeValueBytes(double ratio, size_t value_bytes_max) {
  std::string bytes;
  constexpr size_t kPieceBytes = 100;
  LehmerRandom random(301);
  const size_t raw_bytes = std::max<size_t>(1, static_cast<size_t>(kPieceBytes * ratio));
  const size_t bytes_min = std::max(size_t{1} << 20, value_bytes_max);
  while (bytes.size() < bytes_min) {
    std::string raw;
    for (size_t i = 0; i < raw_bytes; ++i) raw += static_cast<char>(' ' + random.Uniform(95));
    std::string piece;
    while (piece.size() < kPieceBytes) piece += raw;
    bytes += piece.substr(0, kPieceBytes);
  }
  return bytes;
}

size_t ValueSizes::NextRandom() {
  const double share = random_.Next() / 2147483647.0;  // above 0, below 1
  const auto min = static_cast<double>(min_), max = static_cast<double>(max_);
  const double size = kind_ == Kind::kUniform
                          ? min + share * (max - min + 1)
                          : (min + 1) * std::pow((max + 2) / (min + 1), share) - 1;  // + 1: a size may be 0
  return static_cast<size_t>(std::clamp(static_cast<int64_t>(size), min_, max_));
}

double MeanValueBytes(const Flags& flags) {
  if (flags.value_size_distribution == "fixed") return static_cast<double>(flags.value_size);
  const auto min = static_cast<double>(flags.value_size_min), max = static_cast<double>(flags.value_size_max);
  if (flags.value_size_distribution == "uniform") return (min + max) / 2;
  return (max - min + 1) / std::log((max + 2) / (min + 1)) - 1.5;  // - 1.5: the shift, and the cut of the fraction
}

Zipfian::Zipfian(int64_t count, double theta) : theta_(theta) {
  lower_ = Integral(1.5) - 1.0;
  SetCount(count);
  shortcut_ = 2.0 - IntegralInverse(Integral(2.5) - std::pow(2.0, -theta));
}

void Zipfian::SetCount(int64_t count) {
  count_ = count;
  upper_ = Integral(static_cast<double>(count) + 0.5);
}

double Zipfian::Integral(double x) const { return std::pow(x, 1.0 - theta_) / (1.0 - theta_); }
double Zipfian::IntegralInverse(double x) const { return std::pow(x * (1.0 - theta_), 1.0 / (1.0 - theta_)); }

int64_t Zipfian::NextRank(LehmerRandom* random) const {
  for (;;) {
    const double u = upper_ + (random->Next() / 2147483647.0) * (lower_ - upper_);
    const double x = IntegralInverse(u);
    const int64_t rank = std::clamp<int64_t>(static_cast<int64_t>(x + 0.5), 1, count_);
    const double k = static_cast<double>(rank);
    if (k - x <= shortcut_ || u >= Integral(k + 0.5) - std::pow(k, -theta_)) return rank - 1;
  }
}

int64_t Zipfian::Scatter(int64_t rank) const {
  // A prime larger than any count that the generator supports: multiplication by it permutes 0..count-1.
  constexpr unsigned __int128 kPrime = 2305843009213693951u;
  return static_cast<int64_t>(static_cast<unsigned __int128>(rank) * kPrime % static_cast<uint64_t>(count_));
}

Permutation::Permutation(int64_t count, uint64_t seed) : count_(static_cast<uint64_t>(count)) {
  const int bits = std::max(1, static_cast<int>(std::bit_width(count_ - 1)));
  mask_ = (uint64_t{1} << bits) - 1;
  shift_ = (bits + 1) / 2;
  LehmerRandom random(static_cast<uint32_t>(seed));
  const auto word = [&random] { return uint64_t{random.Next()} << 32 | random.Next(); };
  for (int round = 0; round < kRounds; ++round) {
    factors_[round] = word() | 1;
    masks_[round] = word() & mask_;
  }
}

uint64_t Permutation::At(int64_t step) const {
  auto number = static_cast<uint64_t>(step);
  do {
    for (int round = 0; round < kRounds; ++round) {
      number = (number ^ masks_[round]) * factors_[round] & mask_;
      number ^= number >> shift_;
    }
  } while (number >= count_);
  return number;
}

}  // namespace mergedb::bench
