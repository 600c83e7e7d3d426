// A library for LD_PRELOAD. It records the program's operations on files below TORTURE_ROOT (trace.h), and on
// request makes the disk full or a sync fail. It knows nothing about databases.
//
// The order of the records is the order in which the calls took effect: a lock is held over each call and its
// record, including syncs. The lock serialises calls that would otherwise overlap; each such order is also a
// valid execution. At each record, the shim compares the writable shared mappings of recorded files with their
// previous contents; a changed piece counts as an unsynced write since the previous record. Not recorded: stdio
// (info logs), io_uring, and calls that bypass the C library. Ignored: lock files and shared-memory indexes
// that the engines rebuild (LMDB's lock.mdb, SQLite's -shm).
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "torture/trace.h"

namespace mergedb::torture {
namespace {

constexpr int kDescriptorsMax = 4096;
constexpr size_t kPieceBytes = 512;
constexpr uint64_t kBlockBytes = 4096;

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) static const auto real = Real<decltype(::name)>(#name)

struct Descriptor {
  uint32_t handle = 0;  // 0: no handle
  bool is_directory = false;
};

struct Region {
  uint32_t handle;
  const char* memory;
  uint64_t offset;
  std::vector<char> last;
};

class Recorder {
 public:
  static Recorder& Get() {
    static auto* const recorder = new Recorder;  // never destroyed: threads may outlive main
    return *recorder;
  }

  class Lock {
   public:
    explicit Lock(Recorder& recorder) : recorder_(recorder) { pthread_mutex_lock(&recorder_.mutex_); }
    ~Lock() { pthread_mutex_unlock(&recorder_.mutex_); }
    Lock(const Lock&) = delete;

   private:
    Recorder& recorder_;
  };

  bool Watches(std::string_view path) const {
    if (root_.empty() || !path.starts_with(root_)) return false;
    return !path.ends_with("/lock.mdb") && !path.ends_with("-shm");
  }
  Descriptor& At(int fd) {
    static Descriptor none;
    if (fd < 0 || fd >= kDescriptorsMax) return none = {};
    return descriptors_[fd];
  }

  void Opened(int fd, std::string_view path, bool is_new, int flags) {
    if (fd < 0 || fd >= kDescriptorsMax) return;
    struct stat found {};
    fstat(fd, &found);
    Descriptor& descriptor = descriptors_[fd] = {.handle = ++handles_, .is_directory = S_ISDIR(found.st_mode)};
    uint32_t record_flags = 0;
    if (is_new) record_flags |= kCreated;
    if (flags & O_TRUNC) record_flags |= kTruncated;
    if (flags & (O_DSYNC | O_SYNC)) record_flags |= kDataSync;
    Put({.record = Record::kOpen, .handle = descriptor.handle, .flags = record_flags, .offset = 0}, path);
  }
  void Put(RecordHead head, std::string_view path = {}, std::string_view other_path = {}, std::string_view data = {}) {
    if (trace_ < 0) return;
    if (head.record != Record::kStore) PutStores();
    if (path.starts_with(root_)) path.remove_prefix(root_.size());
    if (other_path.starts_with(root_)) other_path.remove_prefix(root_.size());
    head.path_bytes = static_cast<uint32_t>(path.size());
    head.other_path_bytes = static_cast<uint32_t>(other_path.size());
    head.data_bytes = static_cast<uint32_t>(data.size());
    std::string record(reinterpret_cast<const char*>(&head), sizeof head);
    record.append(path).append(other_path).append(data);
    REAL(write);
    for (size_t done = 0; done < record.size();) {
      const ssize_t count = real(trace_, record.data() + done, record.size() - done);
      if (count <= 0) abort();
      done += static_cast<size_t>(count);
    }
  }
  void Put(Record record, int fd, uint64_t offset = 0, std::string_view data = {}) {
    Put({.record = record, .handle = At(fd).handle, .offset = offset}, {}, {}, data);
  }
  void Put(Record record, std::string_view path, std::string_view other_path = {}) {
    Put({.record = record, .handle = 0, .offset = 0}, path, other_path);
  }
  void PutMark(uint32_t mark, uint64_t number) {
    Put({.record = Record::kMark, .handle = 0, .flags = mark, .offset = number});
  }

  void Mapped(int fd, void* memory, size_t bytes, uint64_t offset) {
    const uint32_t handle = At(fd).handle;
    for (const Region& region : regions_) {
      if (region.handle == handle && region.offset == offset) return;  // a mirror of a region that is already watched
    }
    const char* const begin = static_cast<const char*>(memory);
    regions_.push_back({handle, begin, offset, std::vector<char>(begin, begin + bytes)});
  }
  void Unmapped(void* memory, size_t bytes) {
    PutStores();
    const char* const begin = static_cast<const char*>(memory);
    std::erase_if(regions_,
                  [&](const Region& region) { return region.memory >= begin && region.memory < begin + bytes; });
  }

  // ---- faults ----
  void set_full(bool is_full) { is_full_ = is_full; }
  // The offset at which writes to the file must end: its size or its reserved blocks, rounded up to whole
  // blocks.
  uint64_t Room(int fd) {
    if (!is_full_) return UINT64_MAX;
    struct stat found {};
    fstat(fd, &found);
    const auto reserved = reserved_.find(found.st_ino);
    const uint64_t size = static_cast<uint64_t>(found.st_size);
    const uint64_t held = reserved != reserved_.end() && reserved->second > size ? reserved->second : size;
    return (held + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  }
  void Reserved(int fd, uint64_t end) {
    struct stat found {};
    fstat(fd, &found);
    uint64_t& reserved = reserved_[found.st_ino];
    if (end > reserved) reserved = end;
  }
  bool SyncFails() { return fail_sync_ > 0 && --fail_sync_ == 0; }

 private:
  Recorder() {
    const auto text = [](const char* name) {
      return getenv(name) == nullptr ? std::string() : std::string(getenv(name));
    };
    root_ = text(kEnvRoot);
    REAL(open);
    if (const std::string trace = text(kEnvTrace); !trace.empty()) {
      const int fd = real(trace.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      trace_ = fcntl(fd, F_DUPFD_CLOEXEC, 900);
      Real<decltype(::close)>("close")(fd);
    }
    fail_sync_ = atoi(text(kEnvFailSync).c_str());
  }
  void PutStores() {
    for (Region& region : regions_) {
      for (size_t at = 0; at < region.last.size(); at += kPieceBytes) {
        const size_t bytes = region.last.size() - at < kPieceBytes ? region.last.size() - at : kPieceBytes;
        if (memcmp(region.memory + at, region.last.data() + at, bytes) == 0) continue;
        memcpy(region.last.data() + at, region.memory + at, bytes);
        Put({.record = Record::kStore, .handle = region.handle, .offset = region.offset + at}, {}, {},
            {region.last.data() + at, bytes});
      }
    }
  }

  pthread_mutex_t mutex_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  std::string root_;
  int trace_ = -1;
  uint32_t handles_ = 0;
  Descriptor descriptors_[kDescriptorsMax];
  std::vector<Region> regions_;
  bool is_full_ = false;
  std::map<ino_t, uint64_t> reserved_;  // by file: the end of the reserved bytes
  int fail_sync_ = 0;
};

// ---- shared by the wrapped calls ----

template <typename Call>
int OpenWatched(const char* path, int flags, Call&& call) {
  Recorder& recorder = Recorder::Get();
  if (!recorder.Watches(path)) return call();
  Recorder::Lock lock(recorder);
  struct stat found {};
  const bool is_new = (flags & O_CREAT) && stat(path, &found) != 0;
  const int fd = call();
  const int error = errno;
  if (fd >= 0) recorder.Opened(fd, path, is_new, flags);
  errno = error;
  return fd;
}

template <typename Call>
ssize_t WriteWatched(int fd, const void* data, size_t bytes, off_t offset, Call&& call) {
  Recorder& recorder = Recorder::Get();
  if (recorder.At(fd).handle == 0) return call(bytes);
  Recorder::Lock lock(recorder);
  if (offset < 0) {
    struct stat found {};
    fstat(fd, &found);
    offset = (fcntl(fd, F_GETFL) & O_APPEND) ? found.st_size : lseek(fd, 0, SEEK_CUR);
  }
  const uint64_t room = recorder.Room(fd);
  if (bytes > 0 && room <= static_cast<uint64_t>(offset)) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t count = call(std::min<uint64_t>(bytes, room - static_cast<uint64_t>(offset)));
  const int error = errno;
  if (count > 0)
    recorder.Put(Record::kWrite, fd, static_cast<uint64_t>(offset),
                 {static_cast<const char*>(data), static_cast<size_t>(count)});
  errno = error;
  return count;
}

template <typename Call>
int SyncWatched(int fd, Call&& call) {
  Recorder& recorder = Recorder::Get();
  if (recorder.At(fd).handle == 0) return call();
  Recorder::Lock lock(recorder);
  if (!recorder.At(fd).is_directory && recorder.SyncFails()) {
    recorder.Put(Record::kFailedSync, fd);
    errno = EIO;
    return -1;
  }
  const int returned = call();
  const int error = errno;
  if (returned == 0) recorder.Put(Record::kSync, fd);
  errno = error;
  return returned;
}

template <typename Call>
int TruncateWatched(int fd, off_t bytes, Call&& call) {
  Recorder& recorder = Recorder::Get();
  if (recorder.At(fd).handle == 0) return call();
  Recorder::Lock lock(recorder);
  const int returned = call();
  if (returned == 0) recorder.Put(Record::kTruncate, fd, static_cast<uint64_t>(bytes));
  return returned;
}

// Reserves blocks. If the file becomes longer, the trace has a truncation to the new length.
template <typename Call>
int ReserveWatched(int fd, int mode, off_t offset, off_t bytes, int error_of_full, Call&& call) {
  Recorder& recorder = Recorder::Get();
  if (recorder.At(fd).handle == 0) return call();
  Recorder::Lock lock(recorder);
  const auto end = static_cast<uint64_t>(offset + bytes);
  if (recorder.Room(fd) < end) {
    errno = ENOSPC;
    return error_of_full;
  }
  struct stat found {};
  fstat(fd, &found);
  const int returned = call();
  if (returned != 0) return returned;
  recorder.Reserved(fd, end);
  if (!(mode & FALLOC_FL_KEEP_SIZE) && end > static_cast<uint64_t>(found.st_size))
    recorder.Put(Record::kTruncate, fd, end);
  return returned;
}

template <typename Call>
int NameWatched(Record record, const char* path, const char* other_path, Call&& call) {
  Recorder& recorder = Recorder::Get();
  if (!recorder.Watches(path)) return call();
  Recorder::Lock lock(recorder);
  const int returned = call();
  const int error = errno;
  if (returned == 0) recorder.Put(record, path, other_path == nullptr ? "" : other_path);
  errno = error;
  return returned;
}

// The whole path of `name`, from the open directory `directory` on.
std::string PathAt(int directory, const char* name) {
  if (directory == AT_FDCWD || name[0] == '/') return name;
  char path[PATH_MAX];
  const ssize_t bytes = readlink(("/proc/self/fd/" + std::to_string(directory)).c_str(), path, sizeof path);
  if (bytes < 0) return name;
  const std::string parent(path, static_cast<size_t>(bytes));
  return strcmp(name, ".") == 0 ? parent : parent + "/" + name;
}

template <typename Call>
void* MapWatched(size_t bytes, int protection, int flags, int fd, off_t offset, Call&& call) {
  Recorder& recorder = Recorder::Get();
  const bool is_watched = fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE) && recorder.At(fd).handle != 0;
  if (!is_watched) return call();
  Recorder::Lock lock(recorder);
  void* const memory = call();
  if (memory != MAP_FAILED) recorder.Mapped(fd, memory, bytes, static_cast<uint64_t>(offset));
  return memory;
}

}  // namespace
}  // namespace mergedb::torture

using namespace mergedb::torture;  // NOLINT: what follows are the C library's names

#define SHIM extern "C" __attribute__((visibility("default")))

SHIM void torture_mark(uint32_t mark, uint64_t number) {
  Recorder::Lock lock(Recorder::Get());
  Recorder::Get().PutMark(mark, number);
}
SHIM void torture_set_full(int is_full) {
  Recorder::Lock lock(Recorder::Get());
  Recorder::Get().set_full(is_full != 0);
}

#define MODE_ARGUMENT(mode)            \
  mode_t mode = 0;                     \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list arguments;                 \
    va_start(arguments, flags);        \
    mode = va_arg(arguments, mode_t);  \
    va_end(arguments);                 \
  }

SHIM int open(const char* path, int flags, ...) {
  REAL(open);
  MODE_ARGUMENT(mode)
  return OpenWatched(path, flags, [&] { return real(path, flags, mode); });
}
SHIM int open64(const char* path, int flags, ...) {
  REAL(open64);
  MODE_ARGUMENT(mode)
  return OpenWatched(path, flags, [&] { return real(path, flags, mode); });
}
SHIM int openat(int directory, const char* path, int flags, ...) {
  REAL(openat);
  MODE_ARGUMENT(mode)
  return OpenWatched(PathAt(directory, path).c_str(), flags, [&] { return real(directory, path, flags, mode); });
}
SHIM int openat64(int directory, const char* path, int flags, ...) {
  REAL(openat64);
  MODE_ARGUMENT(mode)
  return OpenWatched(PathAt(directory, path).c_str(), flags, [&] { return real(directory, path, flags, mode); });
}
SHIM int close(int fd) {
  REAL(close);
  Recorder& recorder = Recorder::Get();
  if (recorder.At(fd).handle == 0) return real(fd);
  Recorder::Lock lock(recorder);
  recorder.Put(Record::kClose, fd);
  recorder.At(fd) = {};
  return real(fd);
}

SHIM ssize_t write(int fd, const void* data, size_t bytes) {
  REAL(write);
  return WriteWatched(fd, data, bytes, -1, [&](size_t fit) { return real(fd, data, fit); });
}
SHIM ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  REAL(pwrite);
  return WriteWatched(fd, data, bytes, offset, [&](size_t fit) { return real(fd, data, fit, offset); });
}
SHIM ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  REAL(pwrite64);
  return WriteWatched(fd, data, bytes, offset, [&](size_t fit) { return real(fd, data, fit, offset); });
}
SHIM ssize_t writev(int fd, const struct iovec* pieces, int count) {
  REAL(writev);
  std::string all;
  if (Recorder::Get().At(fd).handle != 0) {
    for (int i = 0; i < count; ++i) all.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  }
  return WriteWatched(fd, all.data(), all.size(), -1, [&](size_t fit) {
    return fit < all.size() ? Real<decltype(::write)>("write")(fd, all.data(), fit) : real(fd, pieces, count);
  });
}
SHIM ssize_t pwritev(int fd, const struct iovec* pieces, int count, off_t offset) {
  REAL(pwritev);
  std::string all;
  if (Recorder::Get().At(fd).handle != 0) {
    for (int i = 0; i < count; ++i) all.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  }
  return WriteWatched(fd, all.data(), all.size(), offset, [&](size_t fit) {
    return fit < all.size() ? Real<decltype(::pwrite)>("pwrite")(fd, all.data(), fit, offset)
                            : real(fd, pieces, count, offset);
  });
}

SHIM int fsync(int fd) {
  REAL(fsync);
  return SyncWatched(fd, [&] { return real(fd); });
}
SHIM int fdatasync(int fd) {
  REAL(fdatasync);
  return SyncWatched(fd, [&] { return real(fd); });
}
SHIM int ftruncate(int fd, off_t bytes) noexcept {
  REAL(ftruncate);
  return TruncateWatched(fd, bytes, [&] { return real(fd, bytes); });
}
SHIM int ftruncate64(int fd, off64_t bytes) noexcept {
  REAL(ftruncate64);
  return TruncateWatched(fd, bytes, [&] { return real(fd, bytes); });
}
SHIM int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  REAL(fallocate);
  return ReserveWatched(fd, mode, offset, bytes, -1, [&] { return real(fd, mode, offset, bytes); });
}
SHIM int posix_fallocate(int fd, off_t offset, off_t bytes) {
  REAL(posix_fallocate);
  return ReserveWatched(fd, 0, offset, bytes, ENOSPC, [&] { return real(fd, offset, bytes); });
}

SHIM int rename(const char* source, const char* target) noexcept {
  REAL(rename);
  return NameWatched(Record::kRename, source, target, [&] { return real(source, target); });
}
SHIM int link(const char* source, const char* target) noexcept {
  REAL(link);
  return NameWatched(Record::kLink, source, target, [&] { return real(source, target); });
}
SHIM int renameat(int from, const char* source, int to, const char* target) noexcept {
  REAL(renameat);
  return NameWatched(Record::kRename, PathAt(from, source).c_str(), PathAt(to, target).c_str(),
                     [&] { return real(from, source, to, target); });
}
SHIM int linkat(int from, const char* source, int to, const char* target, int flags) noexcept {
  REAL(linkat);
  return NameWatched(Record::kLink, PathAt(from, source).c_str(), PathAt(to, target).c_str(),
                     [&] { return real(from, source, to, target, flags); });
}
SHIM int unlinkat(int directory, const char* path, int flags) noexcept {
  REAL(unlinkat);
  const Record record = (flags & AT_REMOVEDIR) ? Record::kRemoveDirectory : Record::kUnlink;
  return NameWatched(record, PathAt(directory, path).c_str(), nullptr, [&] { return real(directory, path, flags); });
}
SHIM int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  REAL(mkdirat);
  return NameWatched(Record::kMakeDirectory, PathAt(directory, path).c_str(), nullptr,
                     [&] { return real(directory, path, mode); });
}
SHIM int unlink(const char* path) noexcept {
  REAL(unlink);
  return NameWatched(Record::kUnlink, path, nullptr, [&] { return real(path); });
}
SHIM int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  return NameWatched(Record::kMakeDirectory, path, nullptr, [&] { return real(path, mode); });
}
SHIM int rmdir(const char* path) noexcept {
  REAL(rmdir);
  return NameWatched(Record::kRemoveDirectory, path, nullptr, [&] { return real(path); });
}

SHIM void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  REAL(mmap);
  return MapWatched(bytes, protection, flags, fd, offset,
                    [&] { return real(address, bytes, protection, flags, fd, offset); });
}
SHIM void* mmap64(void* address, size_t bytes, int protection, int flags, int fd, off64_t offset) noexcept {
  REAL(mmap64);
  return MapWatched(bytes, protection, flags, fd, offset,
                    [&] { return real(address, bytes, protection, flags, fd, offset); });
}
SHIM int munmap(void* address, size_t bytes) noexcept {
  REAL(munmap);
  Recorder& recorder = Recorder::Get();
  Recorder::Lock lock(recorder);
  recorder.Unmapped(address, bytes);
  return real(address, bytes);
}
