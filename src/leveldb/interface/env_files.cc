#include "leveldb/interface/env_files.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "format/file_name.h"
#include "format/table_layout.h"
#include "leveldb/interface/adapters.h"

namespace leveldb {
namespace {

using mergedb::Access;
template <typename T>
using Result = mergedb::Result<T>;
using CoreStatus = mergedb::Status;

constexpr std::string_view kSyncer = "MANIFEST-000000";

struct Ending {
  std::string_view ours;
  std::string_view leveldbs;
};
constexpr Ending kEndings[] = {{".tbl", ".ldb"}, {".seg", ".log"}};

bool EndsIn(std::string_view path, std::string_view ending) {
  const std::string_view name = mergedb::format::LastName(path);
  return name.ends_with(ending) && name.size() > ending.size() &&
         name.substr(0, name.size() - ending.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

std::string Exchanged(std::string_view path, std::string_view ending, std::string_view other) {
  return std::string(path.substr(0, path.size() - ending.size())).append(other);
}

std::string ToLevelDb(const std::string& path) {
  for (const Ending& ending : kEndings) {
    if (EndsIn(path, ending.ours)) return Exchanged(path, ending.ours, ending.leveldbs);
  }
  constexpr std::string_view kTemporary = "CURRENT.tmp";
  return mergedb::format::LastName(path) == kTemporary ? Exchanged(path, kTemporary, "000000.dbtmp") : path;
}

std::string FromLevelDb(const std::string& name) {
  for (const Ending& ending : kEndings) {
    if (EndsIn(name, ending.leveldbs)) return Exchanged(name, ending.leveldbs, ending.ours);
  }
  return name;
}

CoreStatus NotThere(const std::string& path) { return CoreStatus::NotFound(path + ": No such file or directory"); }

class ReadOnly final : public mergedb::File {
 public:
  ReadOnly(std::unique_ptr<RandomAccessFile> file, std::string path, uint64_t bytes)
      : file_(std::move(file)), path_(std::move(path)), bytes_(bytes) {}

  CoreStatus ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
    *got = 0;
    if (offset >= bytes_) return {};
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(bytes, bytes_ - offset));
    Slice found;
    const Status status = file_->Read(offset, wanted, &found, out);
    if (!status.ok()) return ToCore(status);
    if (found.size() > wanted) return CoreStatus::IOError(path_ + ": the Env read more than it was asked for");
    if (found.data() != out && !found.empty()) std::memmove(out, found.data(), found.size());
    *got = found.size();
    return {};
  }
  CoreStatus WriteAt(uint64_t, std::string_view) override { return Refuse("written"); }
  CoreStatus Truncate(uint64_t) override { return Refuse("cut"); }
  CoreStatus Sync() override { return Refuse("synced"); }
  Result<uint64_t> Size() override { return bytes_; }
  CoreStatus Close() override { return {}; }
  void WillRead(uint64_t, uint64_t) override {}
  Result<std::unique_ptr<mergedb::Mapping>> Map(size_t) override { return Refuse("mapped"); }

 private:
  CoreStatus Refuse(const char* what) const {
    return CoreStatus::NotSupported(path_ + ": opened for reading, cannot be " + what);
  }

  const std::unique_ptr<RandomAccessFile> file_;
  const std::string path_;
  const uint64_t bytes_;
};

// Passes every write to the Env at once, because other handles open the file and read it.
class Appended final : public mergedb::File {
 public:
  Appended(std::unique_ptr<WritableFile> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  ~Appended() override { (void)Close(); }

  CoreStatus ReadAt(uint64_t, size_t, char*, size_t*) override { return Refuse("read"); }
  CoreStatus WriteAt(uint64_t offset, std::string_view bytes) override {
    if (file_ == nullptr || offset != end_) return Refuse("written at another place than its end");
    Status status = file_->Append(ToSlice(bytes));
    if (status.ok()) status = file_->Flush();
    if (status.ok()) end_ += bytes.size();
    return ToCore(status);
  }
  CoreStatus Truncate(uint64_t) override { return Refuse("cut"); }
  CoreStatus Sync() override { return file_ == nullptr ? Refuse("synced") : ToCore(file_->Sync()); }
  Result<uint64_t> Size() override { return end_; }
  CoreStatus Close() override {
    const auto file = std::move(file_);
    return file == nullptr ? CoreStatus() : ToCore(file->Close());
  }
  void WillRead(uint64_t, uint64_t) override {}
  Result<std::unique_ptr<mergedb::Mapping>> Map(size_t) override { return Refuse("mapped"); }

 private:
  CoreStatus Refuse(const char* what) const {
    return CoreStatus::NotSupported(path_ + ": opened for appending, cannot be " + what);
  }

  std::unique_ptr<WritableFile> file_;
  const std::string path_;
  uint64_t end_ = 0;
};

class HeldLock final : public mergedb::FileLock {
 public:
  HeldLock(Env& env, leveldb::FileLock* lock) : env_(env), lock_(lock) {}
  ~HeldLock() override { (void)env_.UnlockFile(lock_); }

 private:
  Env& env_;
  leveldb::FileLock* const lock_;
};

}  // namespace

EnvFiles::~EnvFiles() {
  if (syncer_ == nullptr) return;
  (void)syncer_->Close();
  (void)env_.RemoveFile(directory_ + "/" + std::string(kSyncer));
}

std::string EnvFiles::Found(const std::string& path) {
  const std::string renamed = ToLevelDb(path);
  return renamed != path && !env_.FileExists(renamed) && env_.FileExists(path) ? path : renamed;
}

// The first or the last 16 bytes of a file. Empty if they cannot be read.
std::string EnvFiles::ReadPiece(const std::string& path, bool at_the_end) {
  constexpr size_t kBytes = 16;
  const auto file = Open(path, {.access = Access::kRead});
  const auto bytes = file ? (*file)->Size() : Result<uint64_t>(file.error());
  if (!bytes || *bytes < kBytes) return {};
  std::string piece(kBytes, '\0');
  size_t got = 0;
  const CoreStatus status = (*file)->ReadAt(at_the_end ? *bytes - kBytes : 0, kBytes, piece.data(), &got);
  return status.ok() && got == kBytes ? piece : std::string();
}

// WHY the result is not cached: a conversion ends when CURRENT is replaced.
bool EnvFiles::IsLevelDbs(const std::vector<std::string>& names) {
  std::string text;
  if (ReadFileToString(&env_, directory_ + "/CURRENT", &text).ok() && !text.empty()) return text.ends_with('\n');
  for (const std::string& name : names) {
    if (name.starts_with("MANIFEST-") && name != kSyncer)
      return ReadPiece(directory_ + "/" + name, false) != "mergedb manifest";
  }
  for (const std::string& name : names) {
    if (EndsIn(name, ".ldb")) return ReadPiece(directory_ + "/" + name, true) != mergedb::format::kTableMagic;
  }
  return false;
}

Result<std::unique_ptr<mergedb::File>> EnvFiles::Open(const std::string& path, const mergedb::FileOptions& options) {
  if (options.access == Access::kCreate) {
    const std::string name = ToLevelDb(path);
    if (env_.FileExists(name)) return CoreStatus::InvalidArgument(name + ": File exists");
    WritableFile* made = nullptr;
    const Status status = env_.NewWritableFile(name, &made);
    if (!status.ok()) return ToCore(status);
    std::unique_ptr<mergedb::File> file(new Appended(std::unique_ptr<WritableFile>(made), name));
    const mergedb::base::Lock lock(mutex_);
    made_.insert(name);
    return file;
  }
  if (options.access != Access::kRead) return CoreStatus::NotSupported(path + ": an Env's files are written once");
  const std::string name = Found(path);
  if (!env_.FileExists(name)) return NotThere(name);
  uint64_t bytes = 0;
  Status status = env_.GetFileSize(name, &bytes);
  RandomAccessFile* opened = nullptr;
  if (status.ok()) status = env_.NewRandomAccessFile(name, &opened);
  if (!status.ok()) return ToCore(status);
  return std::unique_ptr<mergedb::File>(new ReadOnly(std::unique_ptr<RandomAccessFile>(opened), name, bytes));
}

CoreStatus EnvFiles::Remove(const std::string& path) {
  const std::string name = Found(path);
  if (!env_.FileExists(name)) return NotThere(name);
  const Status status = env_.RemoveFile(name);
  if (!status.ok()) return ToCore(status);
  const mergedb::base::Lock lock(mutex_);
  made_.erase(name);
  return {};
}

CoreStatus EnvFiles::Rename(const std::string& source, const std::string& target) {
  const std::string from = Found(source);
  const std::string to = ToLevelDb(target);
  const Status status = env_.RenameFile(from, to);
  if (!status.ok()) return ToCore(status);
  const mergedb::base::Lock lock(mutex_);
  if (made_.erase(from) > 0) made_.insert(to);
  return {};
}

Result<std::vector<std::string>> EnvFiles::List(const std::string& directory) {
  std::vector<std::string> names;
  const Status status = env_.GetChildren(directory, &names);
  if (!status.ok()) return ToCore(status);
  const bool are_leveldbs = directory == directory_ && IsLevelDbs(names);
  const mergedb::base::Lock lock(mutex_);
  for (std::string& name : names) {
    if (!are_leveldbs || made_.contains(directory + "/" + name)) name = FromLevelDb(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".." || name == kSyncer; });
  return names;
}

// Envs return different statuses for a directory that exists. An unusable directory shows when its LOCK is taken.
CoreStatus EnvFiles::CreateDirectory(const std::string& path) {
  (void)env_.CreateDir(path);
  return {};
}

CoreStatus EnvFiles::RemoveDirectory(const std::string& path) { return ToCore(env_.RemoveDir(path)); }

CoreStatus EnvFiles::SyncDirectory(const std::string& directory) {
  if (directory != directory_) return {};
  const mergedb::base::Lock lock(mutex_);
  Status status;
  if (syncer_ == nullptr) {
    WritableFile* made = nullptr;
    status = env_.NewWritableFile(directory_ + "/" + std::string(kSyncer), &made);
    syncer_.reset(made);
  }
  if (status.ok()) status = syncer_->Append("\n");
  if (status.ok()) status = syncer_->Sync();
  if (!status.ok()) syncer_ = nullptr;  // a sync that failed is not repeated on the same file
  return ToCore(status);
}

Result<uint64_t> EnvFiles::SizeOf(const std::string& path) {
  const std::string name = Found(path);
  if (!env_.FileExists(name)) return NotThere(name);
  uint64_t bytes = 0;
  const Status status = env_.GetFileSize(name, &bytes);
  if (!status.ok()) return ToCore(status);
  return bytes;
}

Result<bool> EnvFiles::IsDirectory(const std::string& path) {
  std::vector<std::string> names;
  return env_.GetChildren(path, &names).ok();
}

Result<std::unique_ptr<mergedb::FileLock>> EnvFiles::Lock(const std::string& path) {
  leveldb::FileLock* lock = nullptr;
  const Status status = env_.LockFile(path, &lock);
  if (!status.ok()) return ToCore(status);
  return std::unique_ptr<mergedb::FileLock>(new HeldLock(env_, lock));
}

}  // namespace leveldb
