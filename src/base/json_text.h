// Text for JSON and for Prometheus: strings that are valid UTF-8, with escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mergedb::base {

// The length of the UTF-8 character at the beginning of `bytes`; 0 if there is no valid one. Overlong forms, surrogates
// and code points above U+10FFFF are invalid. REQUIRES: `bytes` is not empty.
size_t Utf8Bytes(std::string_view bytes);

// Copies `text`. Each byte that is not UTF-8 becomes U+FFFD; `append` adds an ASCII character in its escaped form.
template <typename Append>
std::string EscapeText(std::string_view text, Append append) {
  std::string out;
  while (!text.empty()) {
    size_t length = Utf8Bytes(text);
    if (length == 1) {
      append(text.front(), &out);
    } else if (length == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD
      length = 1;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

// The inside of a JSON string.
std::string EscapeJson(std::string_view text);

}  // namespace mergedb::base
