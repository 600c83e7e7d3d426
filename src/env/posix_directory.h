// The directory of one open database, by a descriptor: a rename of the directory, another directory under its old name
// and a change of the working directory do not change where the object works (docs/decisions/0064-directory.md).
//
//     PosixFileSystem::Bind ──► PosixDirectory ◄── files, the lock
//
// LOCK keeps other processes out only as long as the name LOCK leads to the locked file. If a program removes or
// replaces LOCK, another process can open the database. So each change of a file asks CheckLock first. After one
// failure all changes fail, also if the old file comes back: the other process may have been there.
//
//     no lock ──NoteLock──► locked ──another file, or none, has the name──► lost
//                               └────NoteUnlock────────────────────────────► released
//
// THREADS: any. Tests: tests/db/directory_test.cc.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "mergedb/result.h"

namespace mergedb::env {

class PosixDirectory {
 public:
  // Opens `name`, from the open directory `parent` (or AT_FDCWD) on. Follows symlinks, as long as this call runs.
  // `path` is for messages.
  static Result<std::shared_ptr<PosixDirectory>> Open(const std::string& path, int parent, const char* name);
  ~PosixDirectory();
  PosixDirectory(const PosixDirectory&) = delete;
  PosixDirectory& operator=(const PosixDirectory&) = delete;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }  // as opened

  // This process has locked the file `name`, which is the file `inode` on `device`. Only the first lock counts.
  bool NoteLock(const std::string& name, dev_t device, ino_t inode);
  // REQUIRES: NoteLock returned true.
  void NoteUnlock();

  // OK if nothing was locked, or if the lock still keeps other processes out. A system call.
  Status CheckLock();
  // As CheckLock, with a system call each kCheckNanos. WHY: a write of a few bytes costs hardly more than the check.
  Status CheckLockNowAndThen();
  static constexpr uint64_t kCheckNanos = 10'000'000;

 private:
  enum class State { kNoLock, kLocked, kLost, kReleased };

  PosixDirectory(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status Lost() const;

  const std::string path_;
  const int fd_;
  // Constant after NoteLock.
  std::string name_;
  dev_t device_ = 0;
  ino_t inode_ = 0;

  std::atomic<State> state_{State::kNoLock};
  std::atomic<uint64_t> next_check_nanos_{0};
};

}  // namespace mergedb::env
