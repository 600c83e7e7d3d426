// The operating system's files, with its traps closed:
//   - nothing is followed or waited for: a symlink, FIFO or directory with the name of a file is an error at once;
//   - nothing leaks into child processes, and others of the machine cannot read what we create;
//   - short transfers and signals are the loop's business, not the caller's;
//   - an error says path, act, bytes and offset.
// Where a call is missing (direct I/O, mapping, directory sync) the fallback is here and not above.
// Tested by tests/unit/env/posix_file_system_test.cc in a directory on the real disk.
#pragma once

#include "mergedb/env.h"

namespace mergedb::env {

// Lives for ever.
FileSystem* PosixFileSystem();

}  // namespace mergedb::env
