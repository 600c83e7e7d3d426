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
constexpr const char* kUnpackingSuffix = ".unpacking";

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

// Turns the archive at `path` into data.mdb of a directory at `path`. A crash between any two steps can be continued.
Status MoveArchiveInside(const std::string& path) {
  const std::string unpacking = path + kUnpackingSuffix;
  RETURN_IF_ERROR(Files()->CreateDirectory(unpacking));
  RETURN_IF_ERROR(Files()->Rename(path, format::JoinPath(unpacking, kDataName)));
  return Files()->Rename(unpacking, path);
}

// MDB_NOSUBDIR: makes a directory at `path` itself.
Status MakeDirectoryAt(const std::string& path, bool is_read_only) {
  ASSIGN_OR_RETURN(const bool is_directory, Files()->IsDirectory(path));
  if (is_directory) return {};
  const auto bytes = Files()->SizeOf(path);
  if (!bytes && !bytes.error().IsNotFound()) return bytes.error();
  if (!bytes && Files()->SizeOf(format::JoinPath(path + kUnpackingSuffix, kDataName)).has_value()) {
    return Files()->Rename(path + kUnpackingSuffix, path);
  }
  if (bytes && *bytes > 0) {
    if (!IsArchive(Files(), path)) return Status::NotSupported(path + ": not a database of this library");
    return MoveArchiveInside(path);
  }
  if (is_read_only) return Status::NotFound(path);
  if (bytes) RETURN_IF_ERROR(Files()->Remove(path));  // empty: LMDB would begin a database in it
  return Files()->CreateDirectory(path);
}

bool IsDatabase(const std::string& directory) {
  return Files()->SizeOf(format::FilePath(directory, format::FileKind::kCurrent)).has_value();
}

// Unpacks the archive, also after an interruption. Removes the archive when the database exists.
int FinishUnpacking(const std::string& archive, const std::string& directory) {
  if (!IsDatabase(directory)) {
    if (const Status status = Unpack(Files(), archive, directory); !status.ok()) return CodeOf(status);
  }
  return CodeOf(Files()->Remove(archive));
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
  if (const std::string unpacking = data + kUnpackingSuffix; Files()->SizeOf(unpacking).has_value()) {
    return FinishUnpacking(unpacking, env->directory);
  }
  const auto bytes = Files()->SizeOf(data);
  if (!bytes) return bytes.error().IsNotFound() ? 0 : CodeOf(bytes.error());
  if (*bytes == 0 || IsMark(data)) return 0;
  const bool is_archive = IsArchive(Files(), data);
  if (IsDatabase(env->directory)) return is_archive || IsOfLmdb(data) ? MDB_INVALID : 0;
  if (!is_archive) return MDB_INVALID;
  // WHY the archive is renamed first: a database beside an archive named data.mdb is refused, and an
  // interruption after Unpack would leave exactly that.
  const std::string unpacking = data + kUnpackingSuffix;
  if (const Status status = Files()->Rename(data, unpacking); !status.ok()) return CodeOf(status);
  return FinishUnpacking(unpacking, env->directory);
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
  if (fd_ >= 0) close(fd_);
}

bool OpenQueue::IsFirst() {
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
  // WHY before open: closing any descriptor of a file releases all locks of this process on the file.
  const bool is_mark = IsMark(data);
  const auto open_for = [&](int access) {
    return env::OpenMakingRoom([&] { return open(data.c_str(), access | O_NOFOLLOW | O_CLOEXEC); });
  };
  env->fd = open_for(is_read_only ? O_RDONLY : O_RDWR);
  // The file may be another user's, and its mode read-only for this one.
  if (env->fd < 0 && !is_read_only) env->fd = open_for(O_RDONLY);
  return is_mark || is_read_only || env->fd < 0 ? 0 : WriteMarkAgain(env->fd);
}

void TouchPlace(MDB_env* env) {
  const int64_t second = std::time(nullptr);
  if (env->fd < 0 || second == env->touched_second) return;
  env->touched_second = second;
  (void)futimens(env->fd, nullptr);
}

}  // namespace mergedb::lmdb
