// File descriptors: their limit, and the reaction when the process has none left.
//
//     caches of open files: IdleFiles ──► list ◄── CloseIdleFiles ── an open that met EMFILE or ENFILE; it retries once
//
// WHY one list for the process: the limit is per process. A flush of one database finds a descriptor even if
// the tables of another database hold them all. If a program's own file system runs out of descriptors, it
// returns Busy; the call is not repeated.
// WHY no descriptor below 3: in a process without standard streams, a message that some code prints to descriptor 1 or 2
// would go into the file.
// THREADS: any thread calls any function, under any lock except those that a `close` function takes.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>

#include "env/posix_status.h"

namespace mergedb::env {

// The current RLIMIT_NOFILE.
uint64_t DescriptorsMax();

// Registers a cache of open files. `close` closes the files that are not in use; it takes only locks of its
// own, and opens no file.
class IdleFiles {
 public:
  explicit IdleFiles(std::function<void()> close);
  ~IdleFiles();  // after it, `close` does not run
  IdleFiles(const IdleFiles&) = delete;
  IdleFiles& operator=(const IdleFiles&) = delete;

  struct Offer;

 private:
  const std::shared_ptr<Offer> offer_;
};

// Closes the idle files of all databases of the process.
void CloseIdleFiles();

inline bool IsOutOfDescriptors(int error) { return error == EMFILE || error == ENFILE; }

// Returns `fd`, or if it is a descriptor of a standard stream (below 3) a copy above them, and closes `fd`. -1 and errno
// if there is none left, and if `fd` is -1. The copy is closed by an exec.
int AboveStandardStreams(int fd);

// `call` returns a descriptor, or -1 and errno. So does this function; the descriptor is above the standard streams.
template <typename Call>
int OpenMakingRoom(Call&& call) {
  const int fd = RetryOnSignal(call);
  if (fd >= 0 || !IsOutOfDescriptors(errno)) return AboveStandardStreams(fd);
  CloseIdleFiles();
  return AboveStandardStreams(RetryOnSignal(call));
}

}  // namespace mergedb::env
