// The total time that the calling thread waited in the database: for other writers, memory, disk space, syncs and reads
// of the disk. The difference of two readings is what a call waited.
#pragma once

#include <cstdint>

namespace mergedb::base {

inline constinit thread_local uint64_t thread_waited_nanos = 0;

}  // namespace mergedb::base
