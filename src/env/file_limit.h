// The limit of the process on the size of a file (RLIMIT_FSIZE, `ulimit -f`). WHY it is asked for: the system does not
// only refuse a write beyond the limit, it kills the process (SIGXFSZ).
#pragma once

#include <cstdint>

namespace mergedb::env {

// In bytes, now. UINT64_MAX: there is no limit.
uint64_t FileBytesMax();

}  // namespace mergedb::env
