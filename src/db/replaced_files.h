// The errors of a database that is open read-only, beside a process that writes to it. The reader holds its files as
// far as the process has descriptors and the file system has locks (env/held_files.h). A file that it does not hold may
// be gone, or have other bytes: then the newest MANIFEST does not name it any more, since a file is removed or
// overwritten only after that. So before damage is reported, the newest MANIFEST decides whether it is damage.
#pragma once

#include <memory>
#include <string>

#include "db/state/store.h"

namespace mergedb::db {

// Busy if `status` is the error of a table or blob file that the newest MANIFEST does not name: it names the process
// that writes, and says what to do. Else as read::WithNextStep. `database_id`: of the MANIFEST that the open has read.
Status ExplainReadOnly(const Store& store, uint64_t database_id, Status status);

// "process 123 (python3)" if a process that runs has published its state in the file LIVE; else "another process".
std::string DescribeWriter(FileSystem* files, const std::string& directory);

// Locks the file LOCK. Busy says which process has the database open.
Result<std::unique_ptr<FileLock>> LockDatabase(FileSystem* files, const std::string& directory);

}  // namespace mergedb::db
