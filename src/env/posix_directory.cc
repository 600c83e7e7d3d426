#include "env/posix_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "env/descriptors.h"
#include "env/posix_status.h"

namespace mergedb::env {
namespace {

// A steady time with a resolution of some milliseconds, at a fifth of the cost of SteadyClock().
uint64_t CoarseNanos() {
#ifdef CLOCK_MONOTONIC_COARSE
  constexpr clockid_t kClock = CLOCK_MONOTONIC_COARSE;
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  timespec now{};
  (void)clock_gettime(kClock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

Result<std::shared_ptr<PosixDirectory>> PosixDirectory::Open(const std::string& path, int parent, const char* name) {
  const int fd = OpenMakingRoom([&] { return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return PosixStatus(errno, path, "open the directory");
  try {
    return std::shared_ptr<PosixDirectory>(new PosixDirectory(path, fd));
  } catch (...) {  // out of memory
    close(fd);
    throw;
  }
}

PosixDirectory::~PosixDirectory() { close(fd_); }

bool PosixDirectory::NoteLock(const std::string& name, dev_t device, ino_t inode) {
  if (state_.load() != State::kNoLock) return false;
  name_ = name;
  device_ = device;
  inode_ = inode;
  state_.store(State::kLocked, std::memory_order_release);  // WHY release: the members above first
  return true;
}

void PosixDirectory::NoteUnlock() { state_.store(State::kReleased); }

Status PosixDirectory::Lost() const {
  return Status::IOError(
      path_ + "/" + name_ +
      ": removed or replaced while the database is open, so another process may have opened the "
      "database; this process writes no more; close the database in all processes, then open it again");
}

Status PosixDirectory::CheckLock() {
  switch (state_.load(std::memory_order_acquire)) {
    case State::kNoLock: return {};
    case State::kLost: return Lost();
    case State::kReleased: return Status::ShuttingDown(path_ + ": the database is closed, and its lock released");
    case State::kLocked: break;
  }
  struct stat named {};
  const bool is_found = RetryOnSignal([&] { return fstatat(fd_, name_.c_str(), &named, AT_SYMLINK_NOFOLLOW); }) == 0;
  if (!is_found && errno != ENOENT) return PosixStatus(errno, path_ + "/" + name_, "stat of the lock");
  // WHY the inode is enough: while the lock is held, no other file can get the number.
  if (is_found && named.st_dev == device_ && named.st_ino == inode_) return {};
  State locked = State::kLocked;
  if (!state_.compare_exchange_strong(locked, State::kLost)) return CheckLock();
  return Lost();
}

Status PosixDirectory::CheckLockNowAndThen() {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::kNoLock) return {};
  const uint64_t now = CoarseNanos();
  if (state == State::kLocked && now < next_check_nanos_.load(std::memory_order_relaxed)) return {};
  RETURN_IF_ERROR(CheckLock());
  next_check_nanos_.store(now + kCheckNanos, std::memory_order_relaxed);
  return {};
}

}  // namespace mergedb::env
