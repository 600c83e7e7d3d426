// The memory of the process's system, from Linux's /proc and from the control group of the process (versions 1 and 2).
#pragma once

#include <cstdint>
#include <string>

namespace mergedb::env {

// The smaller one of the system's free memory and of what the limits of the control group leave. 0 if the system does
// not tell. `root` is the directory that has proc/ and sys/fs/cgroup/; it is "" but in tests. Reads a few files: 50 us.
uint64_t FreeMemoryBytes(const std::string& root = {});
// The same for all memory that the process and its page cache may have.
uint64_t MemoryBytesMax(const std::string& root = {});

}  // namespace mergedb::env
