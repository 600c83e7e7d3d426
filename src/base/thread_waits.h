// The total time that the calling thread waited in the database: for other writers, memory, disk space, syncs and reads
// of the disk. The difference of two readings is what a call waited.
#pragma once

#include <cstdint>

// Each call of the database uses a few variables of its thread. With this model an access takes two instructions, also in
// a shared library, where the default is a call of __tls_get_addr. WHY only a few: a library that a program loads later
// (dlopen) gets them from a small reserve of the C library.
#define MERGEDB_FAST_THREAD_LOCAL [[gnu::tls_model("initial-exec")]]

namespace mergedb::base {

MERGEDB_FAST_THREAD_LOCAL inline constinit thread_local uint64_t thread_waited_nanos = 0;

}  // namespace mergedb::base
