// A lock that allows one holder of a directory on the whole machine.
//
// It is an exclusive lock on the LOCK file, which the kernel releases when the process dies. There are three traps:
//   - A classic fcntl lock belongs to the whole process and vanishes when any descriptor of the file is closed. An
//     open file description lock has neither flaw, and still conflicts with the classic lock that LevelDB takes on the
//     same file.
//   - Within the process, a registry of (device, inode of the directory, name) finds a second holder. It works even if
//     the file was removed while locked, and gives the clearer message.
//   - Between open and lock, another process may remove the file. So after locking, the name must still lead to the
//     locked file.
#pragma once

#include <memory>
#include <string>

#include "env/posix_directory.h"
#include "mergedb/env.h"

namespace mergedb::env {

struct LockRequest {
  std::string path;                                     // for messages
  std::shared_ptr<PosixDirectory> directory = nullptr;  // null: `name` starts at the working directory
  std::string name;                                     // relative to `directory`
};
// A locked file directly in `directory` is noted there (PosixDirectory::NoteLock) until the unlock.
Result<std::unique_ptr<FileLock>> LockFile(const LockRequest& request);

// True for the Busy of LockFile. An open is Busy, too, if the process has no thread or no descriptor left.
bool IsBusyLock(const Status& status);

// True if this process holds the lock, or is about to take it: to wait for it makes no sense. THREADS: any.
bool IsLockedByThisProcess(const std::string& path);

}  // namespace mergedb::env
