// Text of HTML pages: escapes, numbers with thousands, rows of tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mergedb::tool {

std::string Html(std::string_view text);                               // escaped for text and attributes
std::string Thousands(uint64_t count);                                 // "1,234,567"
std::string Count(uint64_t count, const char* one, const char* many);  // "1,234 tables"
// "<td>..." for each cell, escaped, in a row.
std::string TableRow(std::initializer_list<std::string> cells);

}  // namespace mergedb::tool
