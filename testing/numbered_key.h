// Keys whose order is that of their numbers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace mergedb::testing {

// "key00000012".
inline std::string NumberedKey(const char* prefix, uint64_t number, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%s%0*llu", prefix, digits, static_cast<unsigned long long>(number));
  return text;
}

}  // namespace mergedb::testing
