#include "env/posix_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <tuple>

#include "base/sync.h"
#include "env/descriptors.h"
#include "env/posix_status.h"

namespace mergedb::env {
namespace {

struct Place {
  dev_t device;
  ino_t directory;
  std::string name;
  bool operator<(const Place& other) const {
    return std::tie(device, directory, name) < std::tie(other.device, other.directory, other.name);
  }
};

class PosixLock;

// The places that this process has locked, and their locks. Never destroyed: a lock may outlive main. WHY a
// fork closes the descriptors in the child: the lock belongs to the open file, which the child shares. While
// the child has the descriptor, the lock survives the parent's death, and no process could open the database.
class Registry {
 public:
  static Registry& Get() {
    static Registry* const registry = [] {
      static auto* made = new Registry;
      pthread_atfork([] { made->mutex_.lock(); }, [] { made->mutex_.unlock(); },
                     [] {
                       made->ForgetAll();
                       made->mutex_.unlock();
                     });
      return made;
    }();
    return *registry;
  }
  bool Add(const Place& place, PosixLock* lock) {
    base::Lock guard(mutex_);
    return places_.emplace(place, lock).second;
  }
  void Drop(const Place& place, const PosixLock* lock) {
    base::Lock guard(mutex_);
    if (const auto it = places_.find(place); it != places_.end() && it->second == lock) places_.erase(it);
  }

 private:
  void ForgetAll();  // in the child of a fork

  base::Mutex mutex_;
  std::map<Place, PosixLock*> places_ GUARDED_BY(mutex_);
};

int LockDescriptor(int fd) {
#ifdef F_OFD_SETLK
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const int returned = RetryOnSignal([&] { return fcntl(fd, F_OFD_SETLK, &whole); });
  if (returned == 0 || (errno != EINVAL && errno != ENOSYS)) return returned;
#endif
  return RetryOnSignal([&] { return flock(fd, LOCK_EX | LOCK_NB); });
}

class PosixLock final : public FileLock {
 public:
  explicit PosixLock(Place place) : place_(std::move(place)) {}
  ~PosixLock() override {
    if (fd_ >= 0) close(fd_);
    if (is_registered_) Registry::Get().Drop(place_, this);
  }
  // False if the process holds the place already. WHY a separate step: if memory runs out before the caller
  // has the lock, the destructor releases the place, and the directory can be opened again.
  [[nodiscard]] bool Register() { return is_registered_ = Registry::Get().Add(place_, this); }
  Status Acquire(const std::string& path);
  void CloseDescriptor() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  const Place place_;
  bool is_registered_ = false;
  int fd_ = -1;
};

void Registry::ForgetAll() {
  for (const auto& [place, lock] : places_) lock->CloseDescriptor();
  places_.clear();
}

bool SameFile(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(fd, &opened) == 0 && lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

Status PosixLock::Acquire(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  for (int attempt = 0; attempt < 10; ++attempt) {
    fd_ = OpenMakingRoom([&] { return open(path.c_str(), kFlags, 0600); });
    if (fd_ < 0) return PosixStatus(errno, path, "open to lock");
    struct stat file {};
    if (fstat(fd_, &file) != 0) return PosixStatus(errno, path, "fstat");
    if (!S_ISREG(file.st_mode)) return Status::InvalidArgument(path + ": lock: not a regular file");
    if (LockDescriptor(fd_) != 0) {
      if (errno == EAGAIN || errno == EACCES || errno == EWOULDBLOCK) {
        return Status::Busy(path + ": lock: held by another process");
      }
      return PosixStatus(errno, path, "lock");
    }
    if (SameFile(fd_, path)) return {};
    close(fd_);
    fd_ = -1;
  }
  return Status::Busy(path + ": lock: the file was removed after each attempt to lock it");
}

Result<Place> PlaceOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat found {};
  if (stat(directory.c_str(), &found) != 0) return PosixStatus(errno, directory, "stat");
  return Place{found.st_dev, found.st_ino, slash == std::string::npos ? path : path.substr(slash + 1)};
}

}  // namespace

Result<std::unique_ptr<FileLock>> LockFile(const std::string& path) {
  ASSIGN_OR_RETURN(Place place, PlaceOf(path));
  auto lock = std::make_unique<PosixLock>(std::move(place));
  if (!lock->Register()) return Status::Busy(path + ": lock: held by this process");
  RETURN_IF_ERROR(lock->Acquire(path));
  return std::unique_ptr<FileLock>(std::move(lock));
}

}  // namespace mergedb::env
