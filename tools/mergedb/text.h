// Converts bytes to text for a terminal, and back. Control characters, the backslash, invalid UTF-8, and
// characters that reorder or hide text become escapes. So printed text cannot move the cursor, and different
// keys look different. FromText reads exactly these escapes: `mergedb scan A | mergedb load B` copies a
// database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mergedb::tool {

// Copies plain characters; all others become \\ \t \n \r or \xNN.
std::string ToText(std::string_view bytes);
// As ToText, for text that already has escapes, such as a property: backslashes stay as they are.
std::string ToLine(std::string_view text);
std::optional<std::string> FromText(std::string_view text);  // nullopt: invalid escape

void AppendHex(std::string* out, char byte);                // two lower-case digits
std::string ToHex(std::string_view bytes);                  // lower-case
std::optional<std::string> FromHex(std::string_view text);  // either case; nullopt: odd length or invalid digit

// The length of the first UTF-8 character of `bytes`; 0 if `bytes` does not begin with a valid one.
size_t Utf8Bytes(std::string_view bytes, uint32_t* code_point);
bool IsUtf8(std::string_view bytes);

std::string PrintBytes(uint64_t bytes);  // "12.3 MB"
// "1 table", "2 tables"; "1 entry", "2 entries" if `plural` is "entries".
std::string PrintCount(uint64_t count, std::string_view noun, std::string_view plural = {});

__attribute__((format(printf, 1, 2))) std::string Format(const char* format, ...);  // at most 511 bytes
std::vector<std::string> Lines(std::string_view text);                              // without the line feeds
double Share(uint64_t part, uint64_t whole);                                        // 0 if the whole is 0

}  // namespace mergedb::tool
