#include "base/json_text.h"

#include <cstdint>

namespace mergedb::base {

size_t Utf8Bytes(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const uint8_t second = at(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

std::string EscapeJson(std::string_view text) {
  return EscapeText(text, [](char c, std::string* out) {
    constexpr char kHex[] = "0123456789abcdef";
    if (c == '"' || c == '\\') {
      *out += {'\\', c};
    } else if (static_cast<uint8_t>(c) < 0x20) {
      *out += {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
    } else {
      *out += c;
    }
  });
}

}  // namespace mergedb::base
