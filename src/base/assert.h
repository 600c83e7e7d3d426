// Our own bugs stop the process; the world's failures are Status values and never come here.
//
// ASSERT stays on in release builds and costs a compare. DCHECK is for what costs more: on in dev and sanitizer builds
// (MERGEDB_DCHECK), compiled but not run otherwise.
//     ASSERT(count <= limit, "count {} limit {}")  is not supported: say it with plain text and values in gdb.
#pragma once

namespace mergedb::base {

[[noreturn]] void AssertFailed(const char* file, int line, const char* condition, const char* message);

}  // namespace mergedb::base

#define ASSERT(condition, message)                                            \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::mergedb::base::AssertFailed(__FILE__, __LINE__, #condition, message); \
  } while (0)

#ifdef MERGEDB_DCHECK
#define DCHECK(condition, message) ASSERT(condition, message)
#else
#define DCHECK(condition, message) \
  do {                             \
    if (false) (void)(condition);  \
  } while (0)
#endif
