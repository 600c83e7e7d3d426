// A file that is open for reading. If the process runs out of descriptors, the file gives its own back while no call
// uses it (env/descriptors.h), and the next call opens it again. So a scan may read from more files than there are
// descriptors. The file behind the path must still be the same one: another inode is an IOError.
//
// THREADS: any, except Close. Tests: tests/unit/env/posix_read_file_test.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

// Takes `fd`. `reopen` opens the file once more and returns a descriptor, or -1 and errno.
Result<std::unique_ptr<File>> NewPosixReadFile(std::string path, int fd, const FileOptions& options,
                                               std::function<int()> reopen);

}  // namespace mergedb::env
