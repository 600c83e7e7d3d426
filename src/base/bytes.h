// Bytes as text: escaped for messages, hex for tools. Also small functions on bytes that several layers use.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace mergedb::base {

// Printable ASCII except '\\' stays as it is; each other byte becomes \xNN. Cut after `bytes_max` bytes, with "...".
std::string Escape(std::string_view bytes, size_t bytes_max = 64);
std::string ToHex(std::string_view bytes);                             // lower case
[[nodiscard]] bool FromHex(std::string_view hex, std::string* bytes);  // false: odd length, or no hex digit

// Appends the text that printf makes, however long it is.
[[gnu::format(printf, 2, 3)]] void Print(std::string* text, const char* format, ...);
[[gnu::format(printf, 2, 0)]] void PrintV(std::string* text, const char* format, std::va_list arguments);

size_t CommonPrefixBytes(std::string_view a, std::string_view b);
// The first key, in bytewise order, after all keys that begin with `prefix`. nullopt if `prefix` is empty or
// has only 0xff bytes.
std::optional<std::string> PrefixEnd(std::string prefix);

// The first 8 bytes as a big-endian number, padded with zeros. The numbers have the bytewise order of the
// keys, but different keys may have equal numbers.
// WHY a short key is put together in registers: if it were copied to memory and loaded as one word, the load would
// wait for all earlier stores. MEASURED: db_bench readrandom of counters: the copy took 8 % of a get's cycles.
inline uint64_t Prefix8(std::string_view key) {
  const char* const bytes = key.data();
  const size_t count = key.size();
  if (count >= 8) [[likely]] {
    uint64_t whole;
    std::memcpy(&whole, bytes, sizeof whole);
    return __builtin_bswap64(whole);
  }
  if (count >= 4) {
    uint32_t first, last;  // they overlap
    std::memcpy(&first, bytes, sizeof first);
    std::memcpy(&last, bytes + count - sizeof last, sizeof last);
    return uint64_t{__builtin_bswap32(first)} << 32 | uint64_t{__builtin_bswap32(last)} << (8 * (8 - count));
  }
  uint64_t head = 0;
  for (size_t i = 0; i < count; ++i) head |= uint64_t{static_cast<uint8_t>(bytes[i])} << (56 - 8 * i);
  return head;
}

inline int CompareBytes(std::string_view a, std::string_view b) {
  const size_t shared = a.size() < b.size() ? a.size() : b.size();
  const int order = shared == 0 ? 0 : std::memcmp(a.data(), b.data(), shared);
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

}  // namespace mergedb::base
