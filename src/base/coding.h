// Integers as bytes: fixed little-endian, and varints (7 bits per byte, low bits first; at most 5 or 10 bytes).
//
// Encoding appends to a std::string or writes through a char*. Decoding removes the front of a string_view.
// If the bytes are incomplete or do not fit the type, decoding returns false and leaves the string_view
// unchanged. No input makes it read out of bounds.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mergedb::base {

static_assert(std::endian::native == std::endian::little, "the fixed codec copies native integers");

inline constexpr size_t kVarint32BytesMax = 5;
inline constexpr size_t kVarint64BytesMax = 10;

inline void StoreFixed16(char* out, uint16_t value) { std::memcpy(out, &value, sizeof value); }
inline void StoreFixed32(char* out, uint32_t value) { std::memcpy(out, &value, sizeof value); }
inline void StoreFixed64(char* out, uint64_t value) { std::memcpy(out, &value, sizeof value); }
inline uint16_t LoadFixed16(const char* in) {
  uint16_t v;
  std::memcpy(&v, in, sizeof v);
  return v;
}
inline uint32_t LoadFixed32(const char* in) {
  uint32_t v;
  std::memcpy(&v, in, sizeof v);
  return v;
}
inline uint64_t LoadFixed64(const char* in) {
  uint64_t v;
  std::memcpy(&v, in, sizeof v);
  return v;
}

// Writes a varint at `out`, which has room for the longest one. Returns the end.
inline char* StoreVarint64(char* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}
inline char* StoreVarint32(char* out, uint32_t value) { return StoreVarint64(out, value); }

constexpr size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++bytes;
  }
  return bytes;
}

// Decodes from [in, limit). Returns the end, or null if the bytes are incomplete or the value is too large
// for the type.
const char* LoadVarint32Slow(const char* in, const char* limit, uint32_t* value);
const char* LoadVarint64(const char* in, const char* limit, uint64_t* value);
inline const char* LoadVarint32(const char* in, const char* limit, uint32_t* value) {
  if (in < limit && static_cast<unsigned char>(*in) < 0x80) [[likely]] {
    *value = static_cast<unsigned char>(*in);
    return in + 1;
  }
  return LoadVarint32Slow(in, limit, value);
}

void AppendFixed32(std::string* out, uint32_t value);
void AppendFixed64(std::string* out, uint64_t value);
void AppendVarint32(std::string* out, uint32_t value);
void AppendVarint64(std::string* out, uint64_t value);
void AppendLengthPrefixed(std::string* out, std::string_view bytes);  // varint32 length, bytes

[[nodiscard]] bool TakeFixed32(std::string_view* in, uint32_t* value);
[[nodiscard]] bool TakeFixed64(std::string_view* in, uint64_t* value);
[[nodiscard]] bool TakeVarint32(std::string_view* in, uint32_t* value);
[[nodiscard]] bool TakeVarint64(std::string_view* in, uint64_t* value);
[[nodiscard]] bool TakeLengthPrefixed(std::string_view* in, std::string_view* bytes);

}  // namespace mergedb::base
