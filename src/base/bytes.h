// Bytes for people: escaped for messages, hex for tools; and the small questions that several layers ask of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace mergedb::base {

// Printable ASCII as it is, the rest and '\\' as \xNN; cut after `bytes_max` with "...".
std::string Escape(std::string_view bytes, size_t bytes_max = 64);
[[nodiscard]] bool Unescape(std::string_view text, std::string* bytes);  // false: not the whole text of an Escape
std::string ToHex(std::string_view bytes);                      // lower-case
[[nodiscard]] bool FromHex(std::string_view hex, std::string* bytes);  // false: odd length or another character

size_t CommonPrefixBytes(std::string_view a, std::string_view b);
// The first key, bytewise, after all that begin with `prefix`; none if it is empty or has no byte but 0xff.
std::optional<std::string> PrefixEnd(std::string prefix);

// The first 8 bytes as a big-endian number, zero-padded: order of numbers is bytewise order of keys, but for ties.
inline uint64_t Prefix8(std::string_view key) {
  uint64_t value = 0;
  if (key.size() >= 8) [[likely]] {
    std::memcpy(&value, key.data(), 8);
    return __builtin_bswap64(value);
  }
  std::memcpy(&value, key.data(), key.size());
  return __builtin_bswap64(value);
}

inline int CompareBytes(std::string_view a, std::string_view b) {
  const size_t shared = a.size() < b.size() ? a.size() : b.size();
  const int order = shared == 0 ? 0 : std::memcmp(a.data(), b.data(), shared);
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

}  // namespace mergedb::base
