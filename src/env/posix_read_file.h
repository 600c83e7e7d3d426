// A file that is open for reading. If the process runs out of descriptors, the file gives its own back while no call
// uses it (env/descriptors.h), and the next call opens it again. So a scan may read from more files than there are
// descriptors. The file behind the path must still be the same one: another inode is an IOError.
//
// PosixDescriptor has the calls that it shares with files that are written (env/posix_file_system.cc).
// THREADS: any, except Close. Tests: tests/unit/env/posix_read_file_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

// True if the kernel's offsets can express [offset, offset + bytes).
bool FitsOffsets(uint64_t offset, uint64_t bytes);
bool IsAligned(uint64_t offset, uint64_t bytes, const char* memory);

// An open file.
struct PosixDescriptor {
  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) const;
  Status Sync() const;
  Result<uint64_t> Size() const;
  void WillRead(uint64_t offset, uint64_t bytes) const;

  int fd;
  const std::string& path;  // for messages
  bool is_direct;
};

// Takes `fd`. `reopen` opens the file once more and returns a descriptor, or -1 and errno.
Result<std::unique_ptr<File>> NewPosixReadFile(std::string path, int fd, const FileOptions& options,
                                               std::function<int()> reopen);

}  // namespace mergedb::env
