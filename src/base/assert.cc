#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace mergedb::base {

void AssertFailed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s: %s\n", file, line, condition, message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace mergedb::base
