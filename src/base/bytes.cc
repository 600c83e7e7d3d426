#include "base/bytes.h"

#include <algorithm>
#include <cstdio>

namespace mergedb::base {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f && c != '\\'; }

void AppendHexByte(std::string* out, char byte) {
  *out += kDigits[static_cast<unsigned char>(byte) >> 4];
  *out += kDigits[static_cast<unsigned char>(byte) & 0xf];
}

// The value of a hex digit in either case, or -1.
int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte that the two hex digits at `hex` make, or -1.
int ByteValue(const char* hex) {
  const int high = DigitValue(hex[0]), low = DigitValue(hex[1]);
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

}  // namespace

std::string Escape(std::string_view bytes, size_t bytes_max) {
  std::string text;
  for (const char c : bytes.substr(0, bytes_max)) {
    if (IsPlain(c)) {
      text += c;
    } else {
      text += "\\x";
      AppendHexByte(&text, c);
    }
  }
  if (bytes.size() > bytes_max) text += "...";
  return text;
}

std::string ToHex(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) AppendHexByte(&hex, c);
  return hex;
}

bool FromHex(std::string_view hex, std::string* bytes) {
  if (hex.size() % 2 != 0) return false;
  std::string result;
  result.reserve(hex.size() / 2);
  for (size_t index = 0; index < hex.size(); index += 2) {
    const int byte = ByteValue(hex.data() + index);
    if (byte < 0) return false;
    result += static_cast<char>(byte);
  }
  *bytes = std::move(result);
  return true;
}

std::optional<std::string> PrefixEnd(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

void Print(std::string* text, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  PrintV(text, format, arguments);
  va_end(arguments);
}

void PrintV(std::string* text, const char* format, std::va_list arguments) {
  std::va_list again;
  va_copy(again, arguments);
  const int bytes = std::max(std::vsnprintf(nullptr, 0, format, again), 0);  // below 0: the format is invalid
  va_end(again);
  const size_t begin = text->size();
  text->resize(begin + static_cast<size_t>(bytes) + 1);  // for the NUL
  std::vsnprintf(text->data() + begin, static_cast<size_t>(bytes) + 1, format, arguments);
  text->pop_back();
}

size_t CommonPrefixBytes(std::string_view a, std::string_view b) {
  const size_t shared = std::min(a.size(), b.size());
  size_t index = 0;
  for (; shared - index >= 8; index += 8) {
    uint64_t x, y;
    std::memcpy(&x, a.data() + index, 8);
    std::memcpy(&y, b.data() + index, 8);
    if (x != y) return index + static_cast<size_t>(__builtin_ctzll(x ^ y)) / 8;
  }
  while (index < shared && a[index] == b[index]) ++index;
  return index;
}

}  // namespace mergedb::base
