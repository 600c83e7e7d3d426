// The place of an environment: the directory, and two files in it that keep LMDB itself out.
//
//   data.mdb   a text, two pages long. If LMDB opens the directory, it returns MDB_INVALID instead of making an empty
//              database beside ours. In its place there may be an archive of mdb_env_copyfd, which is unpacked, or
//              LMDB's own data, for which we return MDB_INVALID. mdb_env_get_fd returns a descriptor of data.mdb:
//              programs lock it, read its time or sync it. We read from it only which of the three it is, so a
//              program that writes to it damages nothing: the next open writes the text again.
//   lock.mdb   empty; for programs that look for it. Processes that wait to open the database for writing queue by
//              locks on it (OpenQueue).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <functional>
#include <optional>

#include "env/descriptors.h"
#include "env/file_reads.h"
#include "format/file_name.h"
#include "format/lmdb.h"
#include "lmdb/archive.h"
#include "lmdb/handles.h"

namespace mergedb::lmdb {

namespace {

constexpr std::string_view kMark =
    "This directory is a mergedb database, opened through its liblmdb: not a file of LMDB's.\n";
constexpr std::string_view kDataName = format::kLmdbDataName;
constexpr const char* kLockName = "lock.mdb";
constexpr uint64_t kUnpackPauseNanos = 10'000'000;
constexpr uint64_t kUnpackWaitNanosMax = 60'000'000'000;  // for another process that unpacks

FileSystem* Files() { return DefaultEnv().file_system; }

bool IsMark(const std::string& path) {
  const auto text = env::ReadBeginning(Files(), path, kMark.size());
  return text && *text == kMark;
}

bool IsOfLmdb(const std::string& path) {
  const auto head = env::ReadBeginning(Files(), path, format::kLmdbHeadBytes);
  return head && format::IsLmdbData(*head);
}

std::string MarkText() {
  std::string text(kMark);
  text.resize(2 * kPageBytes, '\0');
  return text;
}

// Restores the text after a program has written over it.
int WriteMarkAgain(int fd) {
  const std::string text = MarkText();
  const ssize_t written = pwrite(fd, text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return written < 0 ? errno : EIO;
  return ftruncate(fd, static_cast<off_t>(text.size())) == 0 ? 0 : errno;
}

int CodeOfPlace(const Status& status) { return status.IsNotFound() ? ENOENT : CodeOf(status); }

// Makes a new file with the mode that the program passed. The database's own files do not use that mode.
int MakeFile(const std::string& path, mdb_mode_t mode, std::string_view text) {
  const int fd = env::OpenMakingRoom([&] { return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
  if (fd < 0) return errno == EEXIST ? 0 : errno;
  const ssize_t written = text.empty() ? 0 : ::write(fd, text.data(), text.size());
  const int code = written == static_cast<ssize_t>(text.size()) ? 0 : errno == 0 ? EIO : errno;
  close(fd);
  return code;
}

// Calls `work` under the LOCK of `directory`, which it makes first if it does not exist. If another process has the
// lock, waits for it, at most kUnpackWaitNanosMax, or until `is_done`.
// WHY a lock, also for MDB_RDONLY: of two processes that open one archive at once, the second one would replace the
// files into which the first one writes already.
Status WithLock(const std::string& directory, const std::function<bool()>& is_done,
                const std::function<Status()>& work) {
  for (uint64_t waited = 0;; waited += kUnpackPauseNanos) {
    RETURN_IF_ERROR(Files()->CreateDirectory(directory));
    const auto lock = Files()->Lock(format::FilePath(directory, format::FileKind::kLock));
    if (lock) return work();
    const Status& status = lock.error();
    if (!status.IsBusy() && !status.IsNotFound()) return status;  // NotFound: the directory has just got another name
    if (is_done()) return {};
    if (waited >= kUnpackWaitNanosMax) return status;
    DefaultEnv().clock->SleepNanos(kUnpackPauseNanos);
  }
}

bool IsDirectory(const std::string& path) {
  const auto is_directory = Files()->IsDirectory(path);
  return is_directory && *is_directory;
}

// The LOCK of `unpacking` moves with it.
Status MoveArchiveLocked(const std::string& path, const std::string& unpacking) {
  if (IsDirectory(path)) {  // another process has done it
    (void)Files()->Remove(format::FilePath(unpacking, format::FileKind::kLock));
    (void)Files()->RemoveDirectory(unpacking);
    return {};
  }
  const std::string data = format::JoinPath(unpacking, kDataName);
  if (!Files()->SizeOf(data)) RETURN_IF_ERROR(Files()->Rename(path, data));  // an interrupted call may have done it
  return Files()->Rename(unpacking, path);
}

// Turns the archive at `path` into data.mdb of a directory at `path`. A crash between any two steps can be continued.
Status MoveArchiveInside(const std::string& path) {
  const std::string unpacking = format::LmdbUnpackingDirectory(path);
  return WithLock(
      unpacking, [&] { return IsDirectory(path); }, [&] { return MoveArchiveLocked(path, unpacking); });
}

// One look at the path, which another process may be changing. No value: look again.
std::optional<Status> TryToMakeDirectoryAt(const std::string& path, bool is_read_only) {
  const auto is_directory = Files()->IsDirectory(path);
  if (!is_directory) return is_directory.error();
  const std::string moved = format::JoinPath(format::LmdbUnpackingDirectory(path), kDataName);
  if (*is_directory) {
    // An empty directory that was made at the path after an interruption.
    if (!IsArchive(Files(), moved)) return Status();
    const Status removed = Files()->RemoveDirectory(path);
    if (removed.IsNotFound()) return std::nullopt;  // another process is doing the same
    return removed.ok() ? MoveArchiveInside(path) : Status();
  }
  const auto bytes = Files()->SizeOf(path);
  if (!bytes && !bytes.error().IsNotFound()) return IsDirectory(path) ? Status() : bytes.error();
  if (bytes && *bytes > 0) {
    if (IsArchive(Files(), path)) return MoveArchiveInside(path);
    if (Files()->SizeOf(path).has_value()) return Status::NotSupported(path + ": not a database of this library");
    return std::nullopt;
  }
  if (!bytes && Files()->SizeOf(moved).has_value()) return MoveArchiveInside(path);
  if (is_read_only) return IsDirectory(path) ? Status() : Status::NotFound(path);
  if (bytes) {  // empty: LMDB would begin a database in it
    const Status removed = Files()->Remove(path);
    if (!removed.ok()) return removed.IsNotFound() || IsDirectory(path) ? std::nullopt : std::optional(removed);
  }
  return Files()->CreateDirectory(path);
}

// MDB_NOSUBDIR: makes a directory at `path` itself.
Status MakeDirectoryAt(const std::string& path, bool is_read_only) {
  constexpr int kLooksMax = 10;
  for (int look = 0; look < kLooksMax; ++look) {
    if (auto made = TryToMakeDirectoryAt(path, is_read_only)) return *std::move(made);
  }
  return Status::NotSupported(path + ": not a database of this library");
}

bool IsDatabase(const std::string& directory) {
  return Files()->SizeOf(format::FilePath(directory, format::FileKind::kCurrent)).has_value();
}

// WHY the archive is renamed first: a database beside an archive named data.mdb is refused, and an interruption after
// Unpack would leave exactly that.
Status UnpackLocked(const std::string& data, const std::string& directory) {
  const std::string unpacking = format::JoinPath(directory, format::kLmdbUnpackingName);
  if (Files()->SizeOf(unpacking).status().IsNotFound()) {
    if (IsDatabase(directory)) return {};  // another process has unpacked it
    RETURN_IF_ERROR(Files()->Rename(data, unpacking));
  } else if (IsArchive(Files(), data) || IsOfLmdb(data)) {
    return Status::NotSupported(data + ": " + unpacking + " exists, too; expected one of them");
  }
  if (!IsDatabase(directory)) RETURN_IF_ERROR(Unpack(Files(), unpacking, directory));
  return Files()->Remove(unpacking);
}

// Unpacks the archive at `data`, also after an interruption. Removes the archive when the database exists.
int UnpackInto(const std::string& directory, const std::string& data) {
  const Status status = WithLock(
      directory, [&] { return IsDatabase(directory); }, [&] { return UnpackLocked(data, directory); });
  return status.code() == Code::kNotSupported ? MDB_INVALID : CodeOf(status);
}

}  // namespace

int PreparePlace(MDB_env* env, const char* path) {
  env->path = path;
  env->directory = path;
  if (env->flags & MDB_NOSUBDIR) {
    const Status status = MakeDirectoryAt(env->directory, env->flags & MDB_RDONLY);
    if (status.code() == Code::kNotSupported) return MDB_INVALID;
    if (!status.ok()) return CodeOfPlace(status);
  }
  const auto is_directory = Files()->IsDirectory(env->directory);
  if (!is_directory) return CodeOfPlace(is_directory.error());
  if (!*is_directory) return Files()->SizeOf(env->directory).has_value() ? ENOTDIR : ENOENT;
  const std::string data = format::JoinPath(env->directory, kDataName);
  const auto bytes = Files()->SizeOf(data);
  if (!bytes && !bytes.error().IsNotFound()) return CodeOf(bytes.error());
  const bool has_data = bytes && *bytes > 0 && !IsMark(data);
  const bool is_archive = has_data && IsArchive(Files(), data);
  // WHY after the look at `data`: another process that unpacks an archive renames it from there first.
  if (Files()->SizeOf(format::JoinPath(env->directory, format::kLmdbUnpackingName)).has_value())
    return UnpackInto(env->directory, data);
  if (!has_data) return 0;
  // WHY another look at the archive: another process may have unpacked it meanwhile.
  if (IsDatabase(env->directory)) return IsArchive(Files(), data) || IsOfLmdb(data) ? MDB_INVALID : 0;
  return is_archive ? UnpackInto(env->directory, data) : MDB_INVALID;
}

namespace {

// Locks or unlocks one byte. False: another process has locked it.
bool SetLock(int fd, int at, short type) {
#ifdef F_OFD_SETLK
  struct flock byte {};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = at;
  byte.l_len = 1;
  return fcntl(fd, F_OFD_SETLK, &byte) == 0 || (errno != EAGAIN && errno != EACCES);
#else
  return true;
#endif
}

}  // namespace

OpenQueue::OpenQueue(const MDB_env* env) {
  if (env->flags & (MDB_RDONLY | MDB_NOLOCK)) return;
  const std::string path = format::JoinPath(env->directory, kLockName);
  fd_ = env::OpenMakingRoom([&] { return open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
}

OpenQueue::~OpenQueue() {
  if (fd_ < 0) return;
  // WHY: the lock belongs to the open file, which a child that another thread forked meanwhile has, too.
  if (place_ < kPlaces) (void)SetLock(fd_, place_, F_UNLCK);
  close(fd_);
}

bool OpenQueue::MoveUp() {
  if (fd_ < 0) return true;
  for (; place_ > 0; --place_) {
    if (!SetLock(fd_, place_ - 1, F_WRLCK)) return false;
    if (place_ < kPlaces) (void)SetLock(fd_, place_, F_UNLCK);
  }
  return true;
}

int MarkPlace(MDB_env* env, mdb_mode_t mode) {
  const std::string data = format::JoinPath(env->directory, kDataName);
  const bool is_read_only = (env->flags & MDB_RDONLY) != 0;
  if (!is_read_only) {
    LMDB_RETURN_IF_ERROR(MakeFile(data, mode, MarkText()));
    if (!(env->flags & MDB_NOLOCK))
      LMDB_RETURN_IF_ERROR(MakeFile(format::JoinPath(env->directory, kLockName), mode, {}));
  }
  // WHY again: the file may have been copied there since PreparePlace looked.
  if (IsArchive(Files(), data) || IsOfLmdb(data)) return MDB_INVALID;
  // WHY before open: closing any descriptor of a file releases all locks of this process on the file.
  const auto text = env::ReadBeginning(Files(), data, kMark.size());
  const bool may_write_mark = text.has_value() && *text != kMark;  // what cannot be read is not written over
  const auto open_for = [&](int access) {
    return env::OpenMakingRoom([&] { return open(data.c_str(), access | O_NOFOLLOW | O_CLOEXEC); });
  };
  env->fd = open_for(is_read_only ? O_RDONLY : O_RDWR);
  // The file may be another user's, and its mode read-only for this one.
  if (env->fd < 0 && !is_read_only) env->fd = open_for(O_RDONLY);
  return !may_write_mark || is_read_only || env->fd < 0 ? 0 : WriteMarkAgain(env->fd);
}

void TouchPlace(MDB_env* env) {
  const int64_t second = std::time(nullptr);
  if (env->fd < 0 || second == env->touched_second) return;
  env->touched_second = second;
  (void)futimens(env->fd, nullptr);
}

}  // namespace mergedb::lmdb
