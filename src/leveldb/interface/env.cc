// Env::Default(): LevelDB's Env on mergedb's files, clock and threads. Also the functions that work on any Env.
#include "leveldb/env.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "base/sync.h"
#include "env/clock.h"
#include "env/thread.h"
#include "format/file_name.h"
#include "leveldb/interface/adapters.h"
#include "mergedb/env.h"

namespace leveldb {
namespace {

using mergedb::Access;

mergedb::FileSystem* Files() {
  static mergedb::FileSystem* const files = mergedb::DefaultEnv().file_system;
  return files;
}

// LevelDB's form: "IO error: db/000012.ldb: Permission denied". mergedb's message also names the system call.
Status FileError(const std::string& name, const mergedb::Status& status) {
  if (status.ok()) return {};
  const std::string_view message = status.message();
  const size_t colon = message.rfind(": ");
  const Slice reason = ToSlice(colon == std::string_view::npos ? message : message.substr(colon + 2));
  return status.IsNotFound() ? Status::NotFound(name, reason) : Status::IOError(name, reason);
}

class FrontToBack final : public SequentialFile {
 public:
  FrontToBack(std::string name, std::unique_ptr<mergedb::File> file) : name_(std::move(name)), file_(std::move(file)) {}
  Status Read(size_t n, Slice* result, char* scratch) override {
    size_t got = 0;
    const mergedb::Status status = file_->ReadAt(offset_, n, scratch, &got);
    offset_ += got;
    *result = Slice(scratch, got);
    return FileError(name_, status);
  }
  Status Skip(uint64_t n) override {
    offset_ += n;
    return {};
  }

 private:
  const std::string name_;
  const std::unique_ptr<mergedb::File> file_;
  uint64_t offset_ = 0;
};

class Anywhere final : public RandomAccessFile {
 public:
  Anywhere(std::string name, std::unique_ptr<mergedb::File> file) : name_(std::move(name)), file_(std::move(file)) {}
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    size_t got = 0;
    const mergedb::Status status = file_->ReadAt(offset, n, scratch, &got);
    *result = Slice(scratch, status.ok() ? got : 0);
    return FileError(name_, status);
  }

 private:
  const std::string name_;
  const std::unique_ptr<mergedb::File> file_;
};

constexpr size_t kWriteBufferBytes = 64 * 1024;

class Appended final : public WritableFile {
 public:
  Appended(std::string name, std::unique_ptr<mergedb::File> file, uint64_t end)
      : name_(std::move(name)), file_(std::move(file)), end_(end) {}
  ~Appended() override { (void)Close(); }

  Status Append(const Slice& data) override {
    if (file_ == nullptr) return Status::IOError(name_, "closed");
    if (buffer_.size() + data.size() > kWriteBufferBytes) {
      if (Status status = Flush(); !status.ok()) return status;
    }
    if (data.size() > kWriteBufferBytes) return Write(ToStringView(data));
    buffer_.append(data.data(), data.size());
    return {};
  }
  Status Flush() override {
    const std::string bytes = std::exchange(buffer_, {});
    return Write(bytes);
  }
  // A MANIFEST names other files, so the directory is synced before the MANIFEST.
  Status Sync() override {
    if (file_ == nullptr) return Status::IOError(name_, "closed");
    if (mergedb::format::LastName(name_).starts_with("MANIFEST")) {
      const std::string directory = mergedb::format::ParentOf(name_);
      if (Status status = FileError(directory, Files()->SyncDirectory(directory)); !status.ok()) return status;
    }
    if (Status status = Flush(); !status.ok()) return status;
    return FileError(name_, file_->Sync());
  }
  Status Close() override {
    if (file_ == nullptr) return {};
    Status status = Flush();
    const Status closed = FileError(name_, file_->Close());
    file_ = nullptr;
    return status.ok() ? closed : status;
  }

 private:
  Status Write(std::string_view bytes) {
    if (bytes.empty()) return {};
    if (file_ == nullptr) return Status::IOError(name_, "closed");
    Status status = FileError(name_, file_->WriteAt(end_, bytes));
    if (status.ok()) end_ += bytes.size();
    return status;
  }

  const std::string name_;
  std::unique_ptr<mergedb::File> file_;
  uint64_t end_;
  std::string buffer_;
};

class HeldLock final : public FileLock {
 public:
  explicit HeldLock(std::unique_ptr<mergedb::FileLock> lock) : lock_(std::move(lock)) {}

 private:
  const std::unique_ptr<mergedb::FileLock> lock_;
};

std::string ThreadName() {
  std::ostringstream text;
  text << std::this_thread::get_id();
  return text.str();
}

// FORMAT: LevelDB's LOG: one line each, "2026/11/21-13:05:07.123456 140109 message".
class FileLogger final : public Logger {
 public:
  FileLogger(std::unique_ptr<mergedb::File> file) : file_(std::move(file)) {}

  void Logv(const char* format, std::va_list arguments) override {
    const uint64_t micros = mergedb::env::WallMicros();
    const auto seconds = static_cast<time_t>(micros / 1'000'000);
    struct tm date {};
    localtime_r(&seconds, &date);
    char head[64];
    const size_t dated = strftime(head, sizeof head, "%Y/%m/%d-%H:%M:%S", &date);
    std::snprintf(head + dated, sizeof head - dated, ".%06d ", static_cast<int>(micros % 1'000'000));
    std::string line = head + ThreadName() + " ";
    mergedb::base::PrintV(&line, format, arguments);
    if (line.back() != '\n') line.push_back('\n');
    const mergedb::base::Lock lock(mutex_);
    if (file_->WriteAt(end_, line).ok()) end_ += line.size();  // an error cannot be reported here
  }

 private:
  const std::unique_ptr<mergedb::File> file_;
  mergedb::base::Mutex mutex_;
  uint64_t end_ GUARDED_BY(mutex_) = 0;
};

class DefaultEnv final : public Env {
 public:
  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    return Make<FrontToBack>(fname, result);
  }
  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    return Make<Anywhere>(fname, result);
  }
  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    *result = nullptr;
    return Guarded([&]() -> Status {
      auto file = OpenEmpty(fname);
      if (!file) return FileError(fname, file.error());
      *result = new Appended(fname, std::move(*file), 0);
      return {};
    });
  }
  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    *result = nullptr;
    return Guarded([&]() -> Status {
      auto file = OpenOrCreate(fname);
      if (!file) return FileError(fname, file.error());
      const auto end = (*file)->Size();
      if (!end) return FileError(fname, end.error());
      *result = new Appended(fname, std::move(*file), *end);
      return {};
    });
  }

  bool FileExists(const std::string& fname) override { return access(fname.c_str(), F_OK) == 0; }
  // Includes "." and "..", as in LevelDB.
  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    result->clear();
    return Guarded([&]() -> Status {
      auto names = Files()->List(dir);
      if (!names) return FileError(dir, names.error());
      *result = std::move(*names);
      result->insert(result->end(), {".", ".."});
      return {};
    });
  }
  Status RemoveFile(const std::string& fname) override { return FileError(fname, Files()->Remove(fname)); }
  Status CreateDir(const std::string& dirname) override {
    if (FileExists(dirname)) return Status::IOError(dirname, "File exists");
    return FileError(dirname, Files()->CreateDirectory(dirname));
  }
  Status RemoveDir(const std::string& dirname) override {
    return FileError(dirname, Files()->RemoveDirectory(dirname));
  }
  Status GetFileSize(const std::string& fname, uint64_t* file_size) override {
    *file_size = 0;
    const auto bytes = Files()->SizeOf(fname);
    if (!bytes) return FileError(fname, bytes.error());
    *file_size = *bytes;
    return {};
  }
  Status RenameFile(const std::string& src, const std::string& target) override {
    return FileError(src, Files()->Rename(src, target));
  }

  Status LockFile(const std::string& fname, FileLock** lock) override {
    *lock = nullptr;
    return Guarded([&]() -> Status {
      auto held = Files()->Lock(fname);
      if (!held) return LockError(fname, held.error());
      *lock = new HeldLock(std::move(*held));
      return {};
    });
  }
  Status UnlockFile(FileLock* lock) override {
    delete lock;
    return {};
  }

  void Schedule(void (*function)(void*), void* arg) override {
    mergedb::env::RunInOrder([function, arg] { function(arg); });
  }
  void StartThread(void (*function)(void*), void* arg) override {
    mergedb::env::StartThread([function, arg] { function(arg); });
  }

  Status GetTestDirectory(std::string* path) override {
    const char* const given = std::getenv("TEST_TMPDIR");
    *path = given != nullptr && *given != '\0' ? given : "/tmp/leveldbtest-" + std::to_string(geteuid());
    (void)CreateDir(*path);  // it may exist already
    return {};
  }
  Status NewLogger(const std::string& fname, Logger** result) override {
    *result = nullptr;
    return Guarded([&]() -> Status {
      auto file = OpenEmpty(fname);
      if (!file) return FileError(fname, file.error());
      *result = new FileLogger(std::move(*file));
      return {};
    });
  }
  uint64_t NowMicros() override { return mergedb::env::WallMicros(); }
  void SleepForMicroseconds(int micros) override {
    if (micros > 0) mergedb::env::SteadyClock()->SleepNanos(static_cast<uint64_t>(micros) * 1000);
  }

 private:
  template <typename File, typename Base>
  Status Make(const std::string& fname, Base** result) {
    *result = nullptr;
    return Guarded([&]() -> Status {
      auto file = Files()->Open(fname, {.access = Access::kRead});
      if (!file) return FileError(fname, file.error());
      *result = new File(fname, std::move(*file));
      return {};
    });
  }
  // WHY a loop: the file may appear or disappear between the two calls.
  static mergedb::Result<std::unique_ptr<mergedb::File>> OpenOrCreate(const std::string& fname) {
    for (int attempt = 0;; ++attempt) {
      auto file = Files()->Open(fname, {.access = Access::kReadWrite});
      if (file || !file.error().IsNotFound()) return file;
      file = Files()->Open(fname, {.access = Access::kCreate});
      if (file || attempt == 2 || file.error().code() != mergedb::Code::kInvalidArgument) return file;
    }
  }
  static mergedb::Result<std::unique_ptr<mergedb::File>> OpenEmpty(const std::string& fname) {
    auto file = OpenOrCreate(fname);
    if (!file) return file;
    if (mergedb::Status status = (*file)->Truncate(0); !status.ok()) return status;
    return file;
  }
};

}  // namespace

Status LockError(const std::string& fname, const mergedb::Status& status) {
  if (status.code() != mergedb::Code::kBusy) return FileError(fname, status);
  const bool is_ours = status.message().find("held by this process") != std::string_view::npos;
  return Status::IOError("lock " + fname, is_ours ? "already held by process" : "Resource temporarily unavailable");
}

Env* Env::Default() {
  static auto* const env = new DefaultEnv;
  return env;
}

void Log(Logger* info_log, const char* format, ...) {
  if (info_log == nullptr) return;
  std::va_list arguments;
  va_start(arguments, format);
  info_log->Logv(format, arguments);
  va_end(arguments);
}

Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname) {
  WritableFile* opened = nullptr;
  Status status = env->NewWritableFile(fname, &opened);
  if (!status.ok()) return status;
  std::unique_ptr<WritableFile> file(opened);
  status = file->Append(data);
  if (status.ok()) status = file->Close();
  file.reset();
  if (!status.ok()) env->RemoveFile(fname);
  return status;
}

Status ReadFileToString(Env* env, const std::string& fname, std::string* data) {
  data->clear();
  SequentialFile* opened = nullptr;
  Status status = env->NewSequentialFile(fname, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<SequentialFile> file(opened);
  std::string scratch(8192, '\0');
  for (;;) {
    Slice piece;
    status = file->Read(scratch.size(), &piece, scratch.data());
    if (!status.ok() || piece.empty()) return status;
    data->append(piece.data(), piece.size());
  }
}

}  // namespace leveldb
