// One holder of a directory in the whole machine.
//
// The simple truth: an exclusive lock on the LOCK file, which the kernel drops when the process dies. But:
//   - A classic fcntl lock is shared by all of a process and vanishes when any descriptor of the file is closed. An
//     open file description lock has neither flaw and still collides with the classic lock that LevelDB takes on the
//     same file.
//   - Within the process we keep a registry of (device, inode of the directory, name). It also knows about a file that
//     was removed while locked, and gives the clearer message.
//   - Between open and lock the file may be removed by somebody: the name must still lead to what we locked.
#pragma once

#include <memory>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

Result<std::unique_ptr<FileLock>> LockFile(const std::string& path);

}  // namespace mergedb::env
