// ASSERT and DCHECK stop the process on a bug of this library. A failure of the environment (disk, operating
// system, input) is a Status value and never comes here.
//
// ASSERT runs in release builds too; it costs one comparison. DCHECK is for checks that cost more: dev and
// sanitizer builds run it (MERGEDB_DCHECK), other builds compile it but do not run it.
// The message is plain text: ASSERT(count <= limit, "count {} limit {}") is not supported. Look at the values
// with gdb.
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
