// File descriptors: how many the process may have, and what happens when it has no more.
//
//     caches of open files: IdleFiles ──► list ◄── CloseIdleFiles ── an open of any file that met EMFILE or ENFILE, and tries once more
//
// WHY one list for the process: the limit is the process's. A flush of one database finds room when another one's tables hold the
// descriptors. A file system of a program's own that runs out of descriptors returns Busy, and is not called again.
// THREADS: all, any thread, under any lock but those that a closer takes.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>

#include "env/posix_status.h"

namespace mergedb::env {

// RLIMIT_NOFILE, as it is now.
uint64_t DescriptorsMax();

// Files that may be open and not in use: `close` closes them, takes only locks of its own, and opens nothing.
class IdleFiles {
 public:
  explicit IdleFiles(std::function<void()> close);
  ~IdleFiles();  // from here on `close` does not run
  IdleFiles(const IdleFiles&) = delete;
  IdleFiles& operator=(const IdleFiles&) = delete;

  struct Offer;

 private:
  const std::shared_ptr<Offer> offer_;
};

// Of all databases of the process.
void CloseIdleFiles();

inline bool IsOutOfDescriptors(int error) { return error == EMFILE || error == ENFILE; }

// `call` returns a descriptor, or -1 and errno.
template <typename Call>
int OpenMakingRoom(Call&& call) {
  const int fd = RetryOnSignal(call);
  if (fd >= 0 || !IsOutOfDescriptors(errno)) return fd;
  CloseIdleFiles();
  return RetryOnSignal(call);
}

}  // namespace mergedb::env
