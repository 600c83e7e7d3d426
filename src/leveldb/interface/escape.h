// Bytes as LevelDB prints them in texts: unprintable bytes become \xNN.
#pragma once

#include <string>
#include <string_view>

namespace leveldb {

inline std::string Escaped(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    if (byte >= ' ' && byte <= '~') {
      text.push_back(byte);
      continue;
    }
    const auto value = static_cast<unsigned char>(byte);
    text.append("\\x").push_back(kDigits[value >> 4]);
    text.push_back(kDigits[value & 15]);
  }
  return text;
}

}  // namespace leveldb
