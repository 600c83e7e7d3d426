#include "key_scale.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace mergedb::tool {

namespace {

// Keys between `lower` and `upper` as numbers: the next bytes after what these two have in common are digits. WHY the
// smallest and the largest digit of `keys`: keys of decimal digits then count by tens.
class Digits {
 public:
  Digits(std::string_view lower, std::string_view upper, std::span<const std::string_view> keys) {
    differs_ = static_cast<size_t>(std::ranges::mismatch(lower, upper).in1 - lower.begin());
    common_ = lower.substr(0, differs_);
    for (const std::string_view key : keys) {
      for (const char c : key.substr(std::min(differs_, key.size()), kDigits)) {
        least_ = std::min(least_, static_cast<uint8_t>(c));
        most_ = std::max(most_, static_cast<uint8_t>(c));
      }
    }
  }
  double Of(std::string_view key) const {
    double value = 0;
    for (size_t at = differs_; at < differs_ + kDigits; ++at)
      value = value * base() +
              (at < key.size() ? std::clamp<int>(static_cast<uint8_t>(key[at]), least_, most_) - least_ : 0);
    return value;
  }
  // The shortest key whose number is at most `tolerance` below `value`.
  std::string KeyOf(double value, double tolerance) const {
    std::string key(common_);
    double unit = std::pow(base(), kDigits);
    for (size_t i = 0; i < kDigits && value > tolerance; ++i) {
      unit /= base();
      const double digit = std::clamp(std::floor(value / unit), 0.0, base() - 1);
      key += static_cast<char>(least_ + static_cast<int>(digit));
      value -= digit * unit;
    }
    return key;
  }

 private:
  static constexpr size_t kDigits = 8;
  double base() const { return most_ - least_ + 1.0; }

  size_t differs_ = 0;
  std::string_view common_;  // of the two keys
  uint8_t least_ = 255, most_ = 0;
};

// Adds the bytes of a table to the intervals between its keys, the last of `keys` excluded: by the distances of the
// keys, or equally if these are not known.
void SpreadBytes(double bytes, std::span<const std::string_view> keys, bool is_bytewise, double* intervals) {
  const size_t count = keys.size() - 1;
  const Digits digits(keys.front(), keys.back(), keys);
  const double distance = digits.Of(keys.back()) - digits.Of(keys.front());
  for (size_t i = 0; i < count; ++i) {
    const double share = is_bytewise && distance > 0
                             ? std::max(digits.Of(keys[i + 1]) - digits.Of(keys[i]), 0.0) / distance
                             : 1.0 / static_cast<double>(count);
    intervals[i] += bytes * share;
  }
}

}  // namespace

KeyScale::KeyScale(const version::Version& version, const kv::Order& order) : order_(order) {
  for (const version::RunPtr& run : version.runs()) {
    for (const version::VirtualTable& table : run->virtual_tables()) {
      keys_.push_back(table.smallest());
      keys_.push_back(table.largest());
    }
  }
  std::ranges::sort(keys_, [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; });
  const auto same = [&](std::string_view a, std::string_view b) { return order_.SameKey(a, b); };
  keys_.erase(std::unique(keys_.begin(), keys_.end(), same), keys_.end());
  std::vector<double> intervals(keys_.size(), 0.0);  // the bytes from each key to the next one
  const auto index = [&](std::string_view key) {
    return static_cast<size_t>(
        std::ranges::lower_bound(keys_, key,
                                 [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; }) -
        keys_.begin());
  };
  for (const version::RunPtr& run : version.runs()) {
    for (const version::VirtualTable& table : run->virtual_tables()) {
      const size_t first = index(table.smallest()), last = index(table.largest());
      if (last <= first) continue;
      SpreadBytes(static_cast<double>(table.file->bytes + table.file->value_bytes()),
                  std::span(keys_).subspan(first, last - first + 1), order_.is_bytewise(), &intervals[first]);
    }
  }
  double at = 0;
  for (const double bytes : intervals) {
    places_.push_back(at);
    at += bytes + 1e-9;  // WHY more than 0: keys between tables keep their order
  }
  const double all = places_.empty() || places_.back() <= 0 ? 1.0 : places_.back();
  for (double& place : places_) place /= all;
}

double KeyScale::At(std::string_view key) const {
  const auto found = std::ranges::lower_bound(
      keys_, key, [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; });
  return found == keys_.end() ? 1.0 : places_[static_cast<size_t>(found - keys_.begin())];
}

double KeyScale::Within(std::string_view key) const {
  const auto found = std::ranges::lower_bound(
      keys_, key, [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; });
  const auto i = static_cast<size_t>(found - keys_.begin());
  if (i == keys_.size()) return 1;
  if (i == 0 || order_.SameKey(*found, key)) return places_[i];
  const Digits digits(keys_[i - 1], keys_[i], keys_);
  const double lower = digits.Of(keys_[i - 1]), distance = digits.Of(keys_[i]) - lower;
  const double share = order_.is_bytewise() && distance > 0 ? (digits.Of(key) - lower) / distance : 0.5;
  return places_[i - 1] + std::clamp(share, 0.0, 1.0) * (places_[i] - places_[i - 1]);
}

std::string KeyScale::KeyAt(double place) const {
  if (keys_.empty()) return "";
  const auto i = static_cast<size_t>(std::ranges::lower_bound(places_, place) - places_.begin());
  if (i == places_.size()) return std::string(keys_.back());
  if (i == 0 || places_[i] == place || !order_.is_bytewise()) return std::string(keys_[i]);
  constexpr double kTolerance = 0.002;  // of the distance between two bounds
  const Digits digits(keys_[i - 1], keys_[i], keys_);
  const double lower = digits.Of(keys_[i - 1]), distance = digits.Of(keys_[i]) - lower;
  const double share = (place - places_[i - 1]) / (places_[i] - places_[i - 1]);
  const std::string key = digits.KeyOf(lower + share * distance, kTolerance * distance);
  return std::clamp(key, std::string(keys_[i - 1]), std::string(keys_[i]));
}

}  // namespace mergedb::tool
