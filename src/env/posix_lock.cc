#include "env/posix_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <tuple>

#include "base/fork_safe.h"
#include "base/sync.h"
#include "env/descriptors.h"
#include "env/hold.h"
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

// The places that this process has locked, and their locks. WHY a fork closes the descriptors in the child: the lock
// belongs to the open file, which the child shares. While the child has the descriptor, the lock survives the parent's
// death, and no process could open the database.
class Registry {
 public:
  static Registry& Get() { return base::ForkSafe<Registry>::Get(); }
  bool Add(const Place& place, PosixLock* lock) {
    base::Lock guard(mutex_);
    return places_.emplace(place, lock).second;
  }
  bool Has(const Place& place) {
    base::Lock guard(mutex_);
    return places_.contains(place);
  }
  void Drop(const Place& place, const PosixLock* lock) {
    base::Lock guard(mutex_);
    if (const auto it = places_.find(place); it != places_.end() && it->second == lock) places_.erase(it);
  }

 private:
  friend class base::ForkSafe<Registry>;
  void ForgetParentLocked() REQUIRES_LOCK(mutex_);

  base::Mutex mutex_;
  std::map<Place, PosixLock*> places_ GUARDED_BY(mutex_);
};

class PosixLock final : public FileLock {
 public:
  PosixLock(LockRequest request, Place place) : request_(std::move(request)), place_(std::move(place)) {}
  ~PosixLock() override {
    if (is_noted_) request_.directory->NoteUnlock();
    if (fd_ >= 0) close(fd_);
    if (is_registered_) Registry::Get().Drop(place_, this);
  }
  // False if the process holds the place already. WHY a separate step: if memory runs out before the caller
  // has the lock, the destructor releases the place, and the directory can be opened again.
  [[nodiscard]] bool Register() { return is_registered_ = Registry::Get().Add(place_, this); }
  Status Acquire();
  void CloseDescriptor() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  const LockRequest request_;
  const Place place_;
  bool is_registered_ = false;
  bool is_noted_ = false;
  int fd_ = -1;
};

void Registry::ForgetParentLocked() {
  for (const auto& [place, lock] : places_) lock->CloseDescriptor();
  places_.clear();
}

int At(const LockRequest& request) { return request.directory == nullptr ? AT_FDCWD : request.directory->fd(); }

bool SameFile(const struct stat& opened, const LockRequest& request) {
  struct stat named {};
  return fstatat(At(request), request.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

Status PosixLock::Acquire() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const std::string& path = request_.path;
  for (int attempt = 0; attempt < 10; ++attempt) {
    fd_ = OpenMakingRoom([&] { return openat(At(request_), request_.name.c_str(), kFlags, 0600); });
    if (fd_ < 0) return PosixStatus(errno, path, "open to lock");
    struct stat file {};
    if (fstat(fd_, &file) != 0) return PosixStatus(errno, path, "fstat");
    if (!S_ISREG(file.st_mode)) return Status::InvalidArgument(path + ": lock: not a regular file");
    if (LockDescriptor(fd_, false) != 0) {
      if (errno == EAGAIN || errno == EACCES || errno == EWOULDBLOCK) {
        return Status::Busy(path + ": lock: held by another process");
      }
      return PosixStatus(errno, path, "lock");
    }
    if (SameFile(file, request_)) {
      const bool is_direct = request_.directory != nullptr && request_.name.find('/') == std::string::npos;
      is_noted_ = is_direct && request_.directory->NoteLock(request_.name, file.st_dev, file.st_ino);
      return {};
    }
    close(fd_);
    fd_ = -1;
  }
  return Status::Busy(path + ": lock: the file was removed after each attempt to lock it");
}

Result<Place> PlaceOf(const LockRequest& request) {
  const size_t slash = request.name.find_last_of('/');
  const std::string parent = slash == std::string::npos ? "." : request.name.substr(0, slash + 1);
  struct stat found {};
  if (fstatat(At(request), parent.c_str(), &found, 0) != 0) {
    return PosixStatus(errno, request.path, "stat of the directory");
  }
  return Place{found.st_dev, found.st_ino, slash == std::string::npos ? request.name : request.name.substr(slash + 1)};
}

}  // namespace

bool IsBusyLock(const Status& status) {
  const std::string_view message = status.message();
  const auto has = [&](std::string_view text) { return message.find(text) != std::string_view::npos; };
  return status.IsBusy() && (has(": lock: held by ") || has(": lock: the file was removed"));
}

Result<std::unique_ptr<FileLock>> LockFile(const LockRequest& request) {
  ASSIGN_OR_RETURN(Place place, PlaceOf(request));
  auto lock = std::make_unique<PosixLock>(request, std::move(place));
  if (!lock->Register()) return Status::Busy(request.path + ": lock: held by this process");
  RETURN_IF_ERROR(lock->Acquire());
  return std::unique_ptr<FileLock>(std::move(lock));
}

bool IsLockedByThisProcess(const std::string& path) {
  const auto place = PlaceOf({.path = path, .name = path});
  return place && Registry::Get().Has(*place);
}

}  // namespace mergedb::env
