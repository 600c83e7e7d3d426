#include "bench/keys.h"

#include <algorithm>
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

Zipfian::Zipfian(int64_t count, double theta) : count_(count), theta_(theta) {
  lower_ = Integral(1.5) - 1.0;
  upper_ = Integral(static_cast<double>(count) + 0.5);
  shortcut_ = 2.0 - IntegralInverse(Integral(2.5) - std::pow(2.0, -theta));
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

}  // namespace mergedb::bench
