#include "env/file_limit.h"

#include <sys/resource.h>

#include <limits>

namespace mergedb::env {

uint64_t FileBytesMax() {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? limit.rlim_cur : std::numeric_limits<uint64_t>::max();
}

}  // namespace mergedb::env
