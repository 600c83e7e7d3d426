#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "command.h"
#include "format/file_name.h"

namespace mergedb::tool {

namespace {

// The regular file at `path`, or `path` if there is none. Empty: the path leads to a device, a pipe or a directory, or
// to a descriptor of the caller, such as /dev/stdout, whose file must stay the same.
std::string ReplaceableFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  const std::filesystem::path parent = std::filesystem::canonical(absolute.parent_path(), error);
  if (error || parent == "/dev" || parent.native().starts_with("/proc/")) return "";
  if (std::filesystem::symlink_status(absolute, error).type() == std::filesystem::file_type::not_found) return path;
  if (!std::filesystem::is_regular_file(absolute, error)) return "";
  return std::filesystem::canonical(absolute, error).string();
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::Open(const std::string& path, const std::string& database) {
  std::unique_ptr<OutputFile> file(new OutputFile(path));
  if (path == "-") return file;
  if (!database.empty()) RETURN_IF_ERROR(CheckIsOutside(database, path));
  RETURN_IF_ERROR(CheckIsNoDatabaseFile(path));
  RETURN_IF_ERROR(file->OpenStream());
  return file;
}

OutputFile::~OutputFile() {
  if (stream_ != nullptr) std::fclose(stream_);
  if (!beside_.empty()) unlink(beside_.c_str());
}

Status OutputFile::OpenStream() {
  constexpr mode_t kOwnerOnly = 0600;
  std::signal(SIGXFSZ, SIG_IGN);  // beyond the limit of a file's size (ulimit -f), a write fails
  target_ = ReplaceableFile(path_);
  std::string beside = format::JoinPath(format::ParentOf(target_), "mergedb-output-XXXXXX");
  const int descriptor = target_.empty() ? open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnerOnly)
                                         : mkostemp(beside.data(), O_CLOEXEC);
  if (descriptor < 0) {
    error_ = errno;
    return Failure();
  }
  if (!target_.empty()) beside_ = beside;
  stream_ = fdopen(descriptor, "wb");
  if (stream_ != nullptr) return {};
  error_ = errno;
  close(descriptor);
  return Failure();
}

void OutputFile::Write(std::string_view text) {
  if (stream_ == nullptr) return Print(text);
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) NoteError();
}

void OutputFile::NoteError() {
  if (error_ == 0) error_ = errno;
}

Status OutputFile::Commit() {
  if (stream_ == nullptr) return {};
  if (std::fflush(stream_) != 0) NoteError();
  KeepOwnerAndMode();
  if (!beside_.empty() && fsync(fileno(stream_)) != 0) NoteError();
  if (std::fclose(std::exchange(stream_, nullptr)) != 0) NoteError();
  if (error_ != 0) return Failure();
  return beside_.empty() ? Status() : Replace();
}

// WHY the mode last: if the owner cannot be kept, the file stays private.
void OutputFile::KeepOwnerAndMode() const {
  struct stat old {};
  if (target_.empty() || stat(target_.c_str(), &old) != 0) return;
  if (fchown(fileno(stream_), old.st_uid, old.st_gid) == 0) (void)fchmod(fileno(stream_), old.st_mode & 07777);
}

Status OutputFile::Replace() {
  if (rename(beside_.c_str(), target_.c_str()) != 0) {
    NoteError();
    return Failure();
  }
  beside_.clear();
  // The rename is durable. Some file systems cannot sync a directory.
  const int directory = open(format::ParentOf(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return {};
  (void)fsync(directory);
  close(directory);
  return {};
}

Status OutputFile::Failure() const { return Status::IOError(path_ + ": cannot be written: " + std::strerror(error_)); }

}  // namespace mergedb::tool
