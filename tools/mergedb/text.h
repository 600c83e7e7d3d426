// Bytes for a terminal and back. What is printed can neither move a cursor nor be mistaken for another key: control
// characters, the backslash, broken UTF-8 and characters that reorder or hide text become escapes, and FromText takes
// exactly these back, so that `mergedb scan A | mergedb load B` copies a database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mergedb::tool {

// As it is, but for \\ \t \n \r and \xNN.
std::string ToText(std::string_view bytes);
// The same for text that has escapes already, such as a property: backslashes stay as they are.
std::string ToLine(std::string_view text);
std::optional<std::string> FromText(std::string_view text);  // nullopt: a broken escape

std::string ToHex(std::string_view bytes);                  // lower-case
std::optional<std::string> FromHex(std::string_view text);  // either case; nullopt: odd length or another character

// The length of the UTF-8 character that `bytes` begins with; 0 if it begins with none.
size_t Utf8Bytes(std::string_view bytes, uint32_t* code_point);
bool IsUtf8(std::string_view bytes);

std::string PrintBytes(uint64_t bytes);  // "12.3 MB"

}  // namespace mergedb::tool
