// The operating system's files. This file system hides their traps:
//   - If a symlink, FIFO or directory has the name of a file, an open fails at once; it neither follows nor waits.
//   - Child processes inherit no descriptors, and other users of the machine cannot read files that we create.
//   - The functions repeat short transfers, and calls that a signal interrupted.
//   - An error names path, operation, bytes and offset.
// If the system lacks direct I/O or the sync of a directory, the fallback is here. If it cannot map a file,
// Map returns NotSupported, and the caller has the fallback.
// Tests: tests/unit/env/posix_file_system_test.cc, in a directory on the real disk.
#pragma once

#include "mergedb/env.h"

namespace mergedb::env {

// Lives forever.
FileSystem* PosixFileSystem();

}  // namespace mergedb::env
