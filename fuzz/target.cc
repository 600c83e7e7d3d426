#include "fuzz/target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace mergedb::fuzz {

void FailedCheck(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  std::abort();
}

uint64_t Input::TakeNumber(size_t bytes) {
  uint64_t number = 0;
  const std::string_view taken = TakeBytes(bytes);
  for (size_t i = taken.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(taken[i]);
  return number;
}

std::string_view Input::TakeBytes(size_t bytes_max) {
  const std::string_view taken = rest_.substr(0, std::min(bytes_max, rest_.size()));
  rest_.remove_prefix(taken.size());
  return taken;
}

}  // namespace mergedb::fuzz
