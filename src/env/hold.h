// Files that a reader holds: while it reads a file, no process overwrites it.
//
//     reader   OpenHeld("000012.tbl"): a shared lock on the open file. If the name still exists afterwards, the file
//              keeps its bytes until the reader closes it, also if it is removed or gets another name meanwhile.
//     writer   renames an obsolete file first, then asks IsHeld, and removes the file if it is; then Access::kReuse
//              fails
//
// A file system may have this interface beside FileSystem. Under one that has not, files are not held.
//
// The lock is one of the open file description (F_OFD_SETLK), so it counts within one process, too, and ends with the
// File. It needs the right to read the file and nothing else. Where such locks do not exist, flock locks take their
// place; where a file system has neither (some network file systems), files are not held.
// docs/decisions/0069-readers-hold-files.md
// Tests: tests/unit/env/held_files_test.cc, tests/race/read_only_race_test.cc.
#pragma once

#include <memory>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

struct HeldFile {
  std::unique_ptr<File> file;
  bool is_held = false;  // false: the system has no such locks, or refuses this one
};

class Holds {
 public:
  virtual ~Holds() = default;
  // Opens a file for reading and holds it, if the system can, until the File is destroyed. Errors: as FileSystem::Open.
  virtual Result<HeldFile> OpenHeld(const std::string& path) = 0;
  // True if a reader holds the file, or it is locked (FileSystem::Lock), in any process. False if it cannot be opened;
  // true if the system does not answer.
  virtual bool IsHeld(const std::string& path) = 0;
};

// OpenHeld if the file system has it, else Open.
Result<HeldFile> OpenHeld(FileSystem& file_system, const std::string& path);
bool IsHeld(FileSystem& file_system, const std::string& path);
inline bool CanHold(FileSystem& file_system) { return dynamic_cast<Holds*>(&file_system) != nullptr; }

// For the POSIX file system. Where the system has no such locks, LockDescriptor fails, and IsHeldByAReader is false.
// LockDescriptor does not wait: -1 and errno, as fcntl, if another lock is in the way. Shared: opened for reading.
int LockDescriptor(int fd, bool is_shared);
bool IsHeldByAReader(int fd);  // flock locks of some network file systems need a descriptor that is opened for writing

}  // namespace mergedb::env
