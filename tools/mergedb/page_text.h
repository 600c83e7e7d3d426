// Text of HTML pages: escapes, numbers with thousands, shares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mergedb::tool {

std::string Html(std::string_view text);                                            // escaped for text and attributes
__attribute__((format(printf, 1, 2))) std::string Format(const char* format, ...);  // at most 511 bytes
std::string Thousands(uint64_t count);                                              // "1,234,567"
std::string Count(uint64_t count, const char* one, const char* many);               // "1,234 tables"
double Share(uint64_t part, uint64_t whole);                                        // 0 if the whole is 0
// "<td>..." for each cell, escaped, in a row.
std::string TableRow(std::initializer_list<std::string> cells);

}  // namespace mergedb::tool
