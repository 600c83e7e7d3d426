#include "page_text.h"

namespace mergedb::tool {

std::string Html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string Thousands(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string Count(uint64_t count, const char* one, const char* many) {
  return Thousands(count) + " " + (count == 1 ? one : many);
}

std::string TableRow(std::initializer_list<std::string> cells) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += "<td>" + Html(cell) + "</td>";
  return row + "</tr>";
}

}  // namespace mergedb::tool
