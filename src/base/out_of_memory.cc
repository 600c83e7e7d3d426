#include "base/out_of_memory.h"

#include <cstdio>
#include <exception>

namespace mergedb::base {

void StopWithoutMemory() noexcept {
  std::fputs(
      "mergedb: out of memory during a change of the database, so the process stops. No acknowledged write is lost. "
      "Lower Options::memory_bytes and write_buffer_bytes, or raise the limit of memory of the process (RLIMIT_AS, "
      "memory.max).\n",
      stderr);
  std::fflush(stderr);
  std::terminate();
}

}  // namespace mergedb::base
