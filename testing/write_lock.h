// An exclusive lock on a file. As long as it lives, a reader can open the file but cannot hold it (env/hold.h).
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace mergedb::testing {

class WriteLock {
 public:
  explicit WriteLock(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) abort();
#ifdef F_OFD_SETLK
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (fcntl(fd_, F_OFD_SETLK, &whole) == 0) return;
#endif
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) abort();
  }
  ~WriteLock() { close(fd_); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  const int fd_;
};

}  // namespace mergedb::testing
