#include "text.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace mergedb::tool {

namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// True for characters that are visible and do not change the order of the text.
bool IsPlain(uint32_t code_point) {
  if (code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0)) return false;
  const bool is_invisible_or_reordering = (code_point >= 0x200b && code_point <= 0x200f) ||
                                          (code_point >= 0x2028 && code_point <= 0x202e) ||
                                          (code_point >= 0x2060 && code_point <= 0x206f) || code_point == 0xfeff ||
                                          code_point == 0x61c || code_point == 0xad || code_point >= 0xe0000;
  return !is_invisible_or_reordering;
}

void AppendEscape(std::string* out, char c) {
  switch (c) {
    case '\\': *out += "\\\\"; return;
    case '\t': *out += "\\t"; return;
    case '\n': *out += "\\n"; return;
    case '\r': *out += "\\r"; return;
    default: break;
  }
  *out += "\\x";
  AppendHex(out, c);
}

}  // namespace

size_t Utf8Bytes(std::string_view bytes, uint32_t* code_point) {
  if (bytes.empty()) return 0;
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0x80) {
    *code_point = first;
    return 1;
  }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || bytes.size() < length) return 0;
  uint32_t value = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(bytes[i]);
    if ((next & 0xc0) != 0x80) return 0;
    value = value << 6 | (next & 0x3f);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
  *code_point = value;
  return length;
}

bool IsUtf8(std::string_view bytes) {
  for (uint32_t code_point = 0; !bytes.empty();) {
    const size_t length = Utf8Bytes(bytes, &code_point);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

namespace {

std::string EscapeAll(std::string_view bytes, bool escapes_backslash) {
  std::string out;
  out.reserve(bytes.size());
  for (uint32_t code_point = 0; !bytes.empty();) {
    size_t length = Utf8Bytes(bytes, &code_point);
    if (length > 0 && IsPlain(code_point) && !(escapes_backslash && code_point == '\\')) {
      out.append(bytes.substr(0, length));
    } else {
      if (length == 0) length = 1;
      for (char c : bytes.substr(0, length)) AppendEscape(&out, c);
    }
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string ToText(std::string_view bytes) { return EscapeAll(bytes, true); }
std::string ToLine(std::string_view text) { return EscapeAll(text, false); }

std::optional<std::string> FromText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case '\\': out += '\\'; break;
      case 't': out += '\t'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 'x': {
        if (text.size() - i < 3) return std::nullopt;
        const int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        out += static_cast<char>(high << 4 | low);
        i += 2;
        break;
      }
      default: return std::nullopt;
    }
  }
  return out;
}

void AppendHex(std::string* out, char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto bits = static_cast<unsigned char>(byte);
  *out += kDigits[bits >> 4];
  *out += kDigits[bits & 15];
}

std::string ToHex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) AppendHex(&out, c);
  return out;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexValue(text[i]), low = HexValue(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

std::string PrintBytes(uint64_t bytes) {
  char text[32];
  if (bytes < 1000) {
    std::snprintf(text, sizeof text, "%u B", static_cast<unsigned>(bytes));
    return text;
  }
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"kB", "MB", "GB", "TB"}) {
    if (value < 999.95) break;
    value /= 1000;
    unit = next;
  }
  std::snprintf(text, sizeof text, "%.1f %s", value, unit);
  return text;
}

std::string PrintCount(uint64_t count, std::string_view noun, std::string_view plural) {
  const std::string text = std::to_string(count) + " ";
  if (count == 1) return text + std::string(noun);
  return text + (plural.empty() ? std::string(noun) + "s" : std::string(plural));
}

std::string Format(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace mergedb::tool
