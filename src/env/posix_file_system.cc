#include "env/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/assert.h"
#include "env/descriptors.h"
#include "env/file_limit.h"
#include "env/free_memory.h"
#include "env/hold.h"
#include "env/posix_directory.h"
#include "env/posix_lock.h"
#include "env/posix_mapping.h"
#include "env/posix_read_file.h"
#include "env/posix_status.h"

namespace mergedb::env {
namespace {

constexpr int kIdleWritesMax = 3;

class PosixFile final : public File {
 public:
  PosixFile(std::string path, std::shared_ptr<PosixDirectory> directory, int fd, const FileOptions& options)
      : path_(std::move(path)), directory_(std::move(directory)), options_(options), fd_(fd) {}
  ~PosixFile() override {
    if (fd_ >= 0) close(fd_);
  }

  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
    return descriptor().ReadAt(offset, bytes, out, got);
  }
  Status WriteAt(uint64_t offset, std::string_view bytes) override;
  Status Truncate(uint64_t bytes) override;
  Status Sync() override;
  Result<uint64_t> Size() override { return descriptor().Size(); }
  Status Close() override;
  void WillRead(uint64_t offset, uint64_t bytes) override { descriptor().WillRead(offset, bytes); }
  Result<std::unique_ptr<Mapping>> Map(size_t bytes) override;
  Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes) override {
    return env::MapForReading({.fd = fd_, .path = path_, .bytes = bytes});
  }
  Status Unshare() override { return UnshareBlocks({.fd = fd_, .path = path_}); }
  Status Allocate(uint64_t offset, uint64_t bytes) override;
  Status Deallocate(uint64_t offset, uint64_t bytes) override;
  int fd() const { return fd_; }

 private:
  PosixDescriptor descriptor() const { return {.fd = fd_, .path = path_, .is_direct = options_.direct}; }
  Status CheckLock() const { return directory_ == nullptr ? Status() : directory_->CheckLock(); }
  // WHY an error here: the system would kill the process.
  Status BeyondLimit(std::string_view what) const {
    return PosixStatus(EFBIG, path_, what)
        .WithContext("the limit of this process on the size of a file (RLIMIT_FSIZE, `ulimit -f`) is " +
                     std::to_string(bytes_max_) + " bytes");
  }

  const std::string path_;
  const std::shared_ptr<PosixDirectory> directory_;  // null: opened by its whole path
  const FileOptions options_;
  const uint64_t bytes_max_ = FileBytesMax();  // WHY of the open: a system call for each write would cost a tenth of it
  int fd_;
};

Status PosixFile::WriteAt(uint64_t offset, std::string_view bytes) {
  DCHECK(!options_.direct || IsAligned(offset, bytes.size(), bytes.data()), "direct write is not aligned");
  if (!FitsOffsets(offset, bytes.size())) return PosixStatus(EFBIG, path_, "pwrite", bytes.size(), offset);
  if (directory_ != nullptr) RETURN_IF_ERROR(directory_->CheckLockNowAndThen());
  if (offset + bytes.size() > bytes_max_) {
    return BeyondLimit("pwrite " + std::to_string(bytes.size()) + " bytes at " + std::to_string(offset));
  }
  size_t done = 0;
  for (int idle = 0; done < bytes.size();) {
    const ssize_t count = RetryOnSignal(
        [&] { return pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done)); });
    if (count < 0) return PosixStatus(errno, path_, "pwrite", bytes.size(), offset);
    idle = count == 0 ? idle + 1 : 0;
    if (idle == kIdleWritesMax) return PosixStatus(EIO, path_, "no progress in pwrite", bytes.size(), offset);
    done += static_cast<size_t>(count);
  }
  return {};
}

Status PosixFile::Truncate(uint64_t bytes) {
  if (!FitsOffsets(0, bytes)) return PosixStatus(EFBIG, path_, "ftruncate");
  RETURN_IF_ERROR(CheckLock());
  if (bytes > bytes_max_) {  // to make a file shorter is allowed
    ASSIGN_OR_RETURN(const uint64_t now, Size());
    if (bytes > now) return BeyondLimit("ftruncate to " + std::to_string(bytes) + " bytes");
  }
  if (RetryOnSignal([&] { return ftruncate(fd_, static_cast<off_t>(bytes)); }) == 0) return {};
  return PosixStatus(errno, path_, "ftruncate to " + std::to_string(bytes) + " bytes");
}

Status PosixFile::Sync() {
  RETURN_IF_ERROR(CheckLock());
  return descriptor().Sync();
}

Status PosixFile::Close() {
  const int fd = std::exchange(fd_, -1);
  if (fd < 0 || close(fd) == 0) return {};
  return PosixStatus(errno, path_, "close");
}

Result<std::unique_ptr<Mapping>> PosixFile::Map(size_t bytes) {
  return MapTwice({.fd = fd_, .path = path_, .bytes = bytes, .created_by_us = options_.access == Access::kCreate});
}

// WHY not posix_fallocate: without support of the file system it reads and writes every block.
Status PosixFile::Allocate(uint64_t offset, uint64_t bytes) {
  if (!FitsOffsets(offset, bytes)) return PosixStatus(EINVAL, path_, "fallocate", bytes, offset);
  RETURN_IF_ERROR(CheckLock());
#ifdef FALLOC_FL_PUNCH_HOLE
  const auto allocate = [&] { return fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)); };
  if (RetryOnSignal(allocate) == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS) return PosixStatus(errno, path_, "fallocate", bytes, offset);
#endif
  return File::Allocate(offset, bytes);
}

Status PosixFile::Deallocate(uint64_t offset, uint64_t bytes) {
  if (!FitsOffsets(offset, bytes)) return PosixStatus(EINVAL, path_, "punch a hole", bytes, offset);
  RETURN_IF_ERROR(CheckLock());
#ifdef FALLOC_FL_PUNCH_HOLE
  constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const auto punch = [&] { return fallocate(fd_, kMode, static_cast<off_t>(offset), static_cast<off_t>(bytes)); };
  if (RetryOnSignal(punch) == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS) return PosixStatus(errno, path_, "punch a hole", bytes, offset);
#endif
  return File::Deallocate(offset, bytes);
}

int OpenFlags(Access access) {
  switch (access) {
    case Access::kRead: return O_RDONLY;
    case Access::kReadWrite:
    case Access::kReuse: return O_RDWR;
    case Access::kCreate: return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

// WHY after the open and not as one of its flags: an open that creates the file and then refuses O_DIRECT
// leaves the file behind.
void TurnDirect(int fd) {
#ifdef O_DIRECT
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0) (void)fcntl(fd, F_SETFL, flags | O_DIRECT);
#endif
}

// Where a path leads: `name`, from the directory `fd` on.
struct Place {
  int fd = AT_FDCWD;
  const char* name = nullptr;
};

// Opens a file for reading, whose descriptor may be taken back. The path is checked again at each open, in
// env/posix_read_file.h. `directory`: the one that `place` begins at.
// WHY all memory is taken before the open: out of memory, the descriptor would stay open.
Result<std::unique_ptr<File>> OpenToRead(std::string path, const Place& place,
                                         std::shared_ptr<PosixDirectory> directory, const FileOptions& options) {
  std::function<int()> open = [directory = std::move(directory), name = std::string(place.name),
                               is_direct = options.direct] {
    // O_NONBLOCK: as in Open.
    const int flags = OpenFlags(Access::kRead) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int fd = OpenMakingRoom([&] { return openat(directory->fd(), name.c_str(), flags); });
    if (fd >= 0 && is_direct) TurnDirect(fd);
    return fd;
  };
  const int fd = open();
  if (fd < 0) return PosixStatus(errno, path, "open");
  struct stat opened {};
  const bool is_known = fstat(fd, &opened) == 0;
  const int error = errno;
  if (!is_known || !S_ISREG(opened.st_mode)) {
    close(fd);
    return is_known ? Status::IOError(path + ": open: not a regular file") : PosixStatus(error, path, "fstat");
  }
  return NewPosixReadFile(std::move(path), fd, options, std::move(open));
}

// All files, or the files below one directory, which a descriptor holds, and all others.
class PosixFileSystemImpl final : public FileSystem, public Holds {
 public:
  explicit PosixFileSystemImpl(std::shared_ptr<PosixDirectory> directory = nullptr)
      : directory_(std::move(directory)) {}

  Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) override;
  Status Remove(const std::string& path) override;
  Status Rename(const std::string& source, const std::string& target) override;
  Status Link(const std::string& source, const std::string& target) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Status CreateDirectory(const std::string& path) override;
  Status RemoveDirectory(const std::string& path) override;
  Status SyncDirectory(const std::string& directory) override;
  Result<uint64_t> SizeOf(const std::string& path) override;
  Result<bool> IsDirectory(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  uint64_t FreeMemoryBytes() override { return env::FreeMemoryBytes(); }
  Result<std::unique_ptr<FileSystem>> Bind(const std::string& directory) override;
  Result<HeldFile> OpenHeld(const std::string& path) override;
  bool IsHeld(const std::string& path) override;

 private:
  Place Resolve(const std::string& path) const;
  // A file whose descriptor is its own until it is closed.
  Result<std::unique_ptr<PosixFile>> OpenToKeep(const std::string& path, const FileOptions& options);
  Result<int> OpenDirectory(const std::string& directory, const char* what) const;
  // Before a change of what is at `place`.
  Status CheckLock(const Place& place) const { return place.fd == AT_FDCWD ? Status() : directory_->CheckLock(); }

  const std::shared_ptr<PosixDirectory> directory_;  // null: all files by their paths
};

// True if a component of the path is "..".
bool LeadsUp(std::string_view path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

Place PosixFileSystemImpl::Resolve(const std::string& path) const {
  const Place whole{.name = path.c_str()};
  if (directory_ == nullptr || !path.starts_with(directory_->path())) return whole;
  size_t begin = directory_->path().size();
  if (begin == path.size()) return {.fd = directory_->fd(), .name = "."};
  if (path[begin] != '/' && path[begin - 1] != '/') return whole;  // "db2" is not below "db"
  while (begin < path.size() && path[begin] == '/') ++begin;
  const char* const name = path.c_str() + begin;
  if (LeadsUp(name)) return whole;
  return {.fd = directory_->fd(), .name = *name == '\0' ? "." : name};
}

Result<std::unique_ptr<FileSystem>> PosixFileSystemImpl::Bind(const std::string& directory) {
  const Place place = Resolve(directory);
  ASSIGN_OR_RETURN(auto held, PosixDirectory::Open(directory, place.fd, place.name));
  return std::unique_ptr<FileSystem>(std::make_unique<PosixFileSystemImpl>(std::move(held)));
}

Result<std::unique_ptr<File>> PosixFileSystemImpl::Open(const std::string& path, const FileOptions& options) {
  const Place place = Resolve(path);
  if (options.access == Access::kRead && place.fd != AT_FDCWD) return OpenToRead(path, place, directory_, options);
  // WHY a descriptor of its own outside of the held directory: its name may lead elsewhere later, and a program's Env
  // reads files that it has removed.
  ASSIGN_OR_RETURN(auto file, OpenToKeep(path, options));
  return std::unique_ptr<File>(std::move(file));
}

Result<std::unique_ptr<PosixFile>> PosixFileSystemImpl::OpenToKeep(const std::string& path,
                                                                   const FileOptions& options) {
  const Place place = Resolve(path);
  if (options.access != Access::kRead) RETURN_IF_ERROR(CheckLock(place));
  // O_NONBLOCK has no effect on a regular file. It keeps the open of a FIFO from waiting for the other end.
  const int flags = OpenFlags(options.access) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = OpenMakingRoom([&] { return openat(place.fd, place.name, flags, 0600); });
  if (fd < 0) return PosixStatus(errno, path, "open");
  std::unique_ptr<PosixFile> file;
  try {
    file = std::make_unique<PosixFile>(path, place.fd == AT_FDCWD ? nullptr : directory_, fd, options);
  } catch (...) {  // out of memory
    close(fd);
    throw;
  }
  struct stat opened {};
  if (fstat(fd, &opened) != 0) return PosixStatus(errno, path, "fstat");
  if (!S_ISREG(opened.st_mode)) return Status::IOError(path + ": open: not a regular file");
  if (options.access == Access::kReuse && opened.st_nlink != 1) {
    return Status::InvalidArgument(path + ": open to write again: expected 1 name, found " +
                                   std::to_string(opened.st_nlink));
  }
  if (options.access == Access::kReuse && IsHeldByAReader(fd)) {
    return Status::InvalidArgument(path + ": open to write again: a reader holds the file");
  }
  if (options.direct) TurnDirect(fd);
  return file;
}

// The lock ends with the descriptor, so this one is never taken back.
Result<HeldFile> PosixFileSystemImpl::OpenHeld(const std::string& path) {
  ASSIGN_OR_RETURN(auto file, OpenToKeep(path, {}));
  const bool is_held = LockDescriptor(file->fd(), true) == 0;
  return HeldFile{.file = std::move(file), .is_held = is_held};
}

bool PosixFileSystemImpl::IsHeld(const std::string& path) {
  auto file = OpenToKeep(path, {.access = Access::kReadWrite});
  // The file may be another user's, or on a read-only mount. F_OFD_GETLK needs no right to write.
  if (!file && !file.error().IsNotFound()) file = OpenToKeep(path, {});
  return file && IsHeldByAReader((*file)->fd());
}

Status PosixFileSystemImpl::Remove(const std::string& path) {
  const Place place = Resolve(path);
  RETURN_IF_ERROR(CheckLock(place));
  return unlinkat(place.fd, place.name, 0) == 0 ? Status() : PosixStatus(errno, path, "unlink");
}

Status PosixFileSystemImpl::Rename(const std::string& source, const std::string& target) {
  const Place from = Resolve(source);
  const Place to = Resolve(target);
  RETURN_IF_ERROR(CheckLock(from));
  RETURN_IF_ERROR(CheckLock(to));
  if (renameat(from.fd, from.name, to.fd, to.name) == 0) return {};
  return PosixStatus(errno, source, "rename to " + target);
}

Status PosixFileSystemImpl::Link(const std::string& source, const std::string& target) {
  const Place from = Resolve(source);
  const Place to = Resolve(target);
  RETURN_IF_ERROR(CheckLock(from));
  RETURN_IF_ERROR(CheckLock(to));
  if (linkat(from.fd, from.name, to.fd, to.name, 0) == 0) return {};
  return PosixStatus(errno, source, "link as " + target);
}

// WHY the directory is opened again even if it is held: each listing needs a position of its own.
Result<int> PosixFileSystemImpl::OpenDirectory(const std::string& directory, const char* what) const {
  const Place place = Resolve(directory);
  const int fd = OpenMakingRoom([&] { return openat(place.fd, place.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return PosixStatus(errno, directory, what);
  return fd;
}

Result<std::vector<std::string>> PosixFileSystemImpl::List(const std::string& directory) {
  ASSIGN_OR_RETURN(const int fd, OpenDirectory(directory, "open to list"));
  DIR* const opened = fdopendir(fd);
  if (opened == nullptr) {
    const int error = errno;
    close(fd);
    return PosixStatus(error, directory, "fdopendir");
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opened, closedir);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return PosixStatus(errno, directory, "readdir");
  return names;
}

Status PosixFileSystemImpl::CreateDirectory(const std::string& path) {
  const Place place = Resolve(path);
  RETURN_IF_ERROR(CheckLock(place));
  // WHY again: another process may remove or rename the directory between the two calls.
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (mkdirat(place.fd, place.name, 0700) == 0) return {};
    if (errno != EEXIST) return PosixStatus(errno, path, "mkdir");
    struct stat found {};
    if (fstatat(place.fd, place.name, &found, 0) == 0)
      return S_ISDIR(found.st_mode) ? Status() : Status::InvalidArgument(path + ": not a directory");
    if (errno != ENOENT) return PosixStatus(errno, path, "stat");
  }
  return PosixStatus(EEXIST, path, "mkdir");
}

// The held directory itself is removed by its path. Its lock is released or removed by then.
Status PosixFileSystemImpl::RemoveDirectory(const std::string& path) {
  Place place = Resolve(path);
  if (place.name == std::string_view(".")) place = {.name = path.c_str()};
  RETURN_IF_ERROR(CheckLock(place));
  return unlinkat(place.fd, place.name, AT_REMOVEDIR) == 0 ? Status() : PosixStatus(errno, path, "rmdir");
}

Status PosixFileSystemImpl::SyncDirectory(const std::string& directory) {
  const Place place = Resolve(directory);
  RETURN_IF_ERROR(CheckLock(place));
  const bool is_held = place.name == std::string_view(".") && place.fd != AT_FDCWD;
  int fd = place.fd;
  if (!is_held) { ASSIGN_OR_RETURN(fd, OpenDirectory(directory, "open to sync")); }
  const int returned = RetryOnSignal([&] { return fsync(fd); });
  const int error = errno;
  if (!is_held) close(fd);
  // EINVAL: the file system has no such call (some network file systems). Its names are as durable as it makes them.
  return returned == 0 || error == EINVAL ? Status() : PosixStatus(error, directory, "fsync of the directory");
}

Result<uint64_t> PosixFileSystemImpl::SizeOf(const std::string& path) {
  const Place place = Resolve(path);
  struct stat found {};
  if (fstatat(place.fd, place.name, &found, AT_SYMLINK_NOFOLLOW) != 0) return PosixStatus(errno, path, "stat");
  if (!S_ISREG(found.st_mode)) return Status::InvalidArgument(path + ": stat: not a regular file");
  return static_cast<uint64_t>(found.st_size);
}

Result<bool> PosixFileSystemImpl::IsDirectory(const std::string& path) {
  const Place place = Resolve(path);
  struct stat found {};
  if (fstatat(place.fd, place.name, &found, 0) == 0) return S_ISDIR(found.st_mode);
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return PosixStatus(errno, path, "stat");
}

Result<std::unique_ptr<FileLock>> PosixFileSystemImpl::Lock(const std::string& path) {
  const Place place = Resolve(path);
  return LockFile({.path = path, .directory = place.fd == AT_FDCWD ? nullptr : directory_, .name = place.name});
}

}  // namespace

FileSystem* PosixFileSystem() {
  static auto* const file_system = new PosixFileSystemImpl;
  return file_system;
}

}  // namespace mergedb::env
