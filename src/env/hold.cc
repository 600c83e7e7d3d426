#include "env/hold.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "env/posix_status.h"

namespace mergedb::env {
namespace {

// True if the kernel or the file system does not know these locks; then flock takes their place on both sides.
bool IsUnknown(int error) { return error == EINVAL || error == ENOSYS; }

struct flock WholeFile(short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return whole;
}

}  // namespace

Result<HeldFile> OpenHeld(FileSystem& file_system, const std::string& path) {
  if (auto* const holds = dynamic_cast<Holds*>(&file_system)) return holds->OpenHeld(path);
  ASSIGN_OR_RETURN(auto file, file_system.Open(path, {}));
  return HeldFile{.file = std::move(file)};
}

bool IsHeld(FileSystem& file_system, const std::string& path) {
  auto* const holds = dynamic_cast<Holds*>(&file_system);
  return holds != nullptr && holds->IsHeld(path);
}

int LockDescriptor(int fd, bool is_shared) {
#ifdef F_OFD_SETLK
  struct flock whole = WholeFile(is_shared ? F_RDLCK : F_WRLCK);
  const int returned = RetryOnSignal([&] { return fcntl(fd, F_OFD_SETLK, &whole); });
  if (returned == 0 || !IsUnknown(errno)) return returned;
#endif
  return RetryOnSignal([&] { return flock(fd, (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB); });
}

bool IsHeldByAReader(int fd) {
#ifdef F_OFD_SETLK
  struct flock whole = WholeFile(F_WRLCK);
  // WHY only a question: a reader that takes its lock after the answer finds that the name is gone.
  if (RetryOnSignal([&] { return fcntl(fd, F_OFD_GETLK, &whole); }) == 0) return whole.l_type != F_UNLCK;
  if (!IsUnknown(errno)) return true;  // WHY: a removal costs little, bytes that change under a mapping are an error
#endif
  if (RetryOnSignal([&] { return flock(fd, LOCK_EX | LOCK_NB); }) != 0) return !IsUnknown(errno);
  (void)flock(fd, LOCK_UN);
  return false;
}

}  // namespace mergedb::env
