// NewMemEnv: files in memory, in a map from names to bytes.
#include "leveldb/helpers/memenv.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/sync.h"
#include "leveldb/env.h"

namespace leveldb {
namespace {

using mergedb::base::Lock;
using mergedb::base::Mutex;

// A file that grows at its end. Read copies the bytes, since a Slice into bytes_ could move.
class MemoryFile {
 public:
  void Append(const Slice& data) {
    Lock lock(mutex_);
    bytes_.append(data.data(), data.size());
  }
  void Clear() {
    Lock lock(mutex_);
    bytes_.clear();
  }
  uint64_t size() const {
    Lock lock(mutex_);
    return bytes_.size();
  }
  Slice Read(uint64_t offset, size_t n, char* scratch) const {
    Lock lock(mutex_);
    if (offset >= bytes_.size()) return {};
    const size_t count = std::min(n, bytes_.size() - static_cast<size_t>(offset));
    std::memcpy(scratch, bytes_.data() + offset, count);
    return {scratch, count};
  }

 private:
  mutable Mutex mutex_;
  std::string bytes_ GUARDED_BY(mutex_);
};
using MemoryFilePtr = std::shared_ptr<MemoryFile>;

class FrontToBack final : public SequentialFile {
 public:
  explicit FrontToBack(MemoryFilePtr file) : file_(std::move(file)) {}
  Status Read(size_t n, Slice* result, char* scratch) override {
    *result = file_->Read(offset_, n, scratch);
    offset_ += result->size();
    return {};
  }
  Status Skip(uint64_t n) override {
    const uint64_t size = file_->size();
    if (offset_ > size) return Status::IOError("pos_ > file_->Size()");
    offset_ += std::min(n, size - offset_);
    return {};
  }

 private:
  const MemoryFilePtr file_;
  uint64_t offset_ = 0;
};

class Anywhere final : public RandomAccessFile {
 public:
  explicit Anywhere(MemoryFilePtr file) : file_(std::move(file)) {}
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    if (offset > file_->size()) return Status::IOError("Offset greater than file size.");
    *result = file_->Read(offset, n, scratch);
    return {};
  }

 private:
  const MemoryFilePtr file_;
};

class AtTheEnd final : public WritableFile {
 public:
  explicit AtTheEnd(MemoryFilePtr file) : file_(std::move(file)) {}
  Status Append(const Slice& data) override {
    file_->Append(data);
    return {};
  }
  Status Close() override { return {}; }
  Status Flush() override { return {}; }
  Status Sync() override { return {}; }

 private:
  const MemoryFilePtr file_;
};

class Silence final : public Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

Status NotThere(const std::string& name) { return Status::IOError(name, "File not found"); }

class MemoryEnv final : public EnvWrapper {
 public:
  explicit MemoryEnv(Env* base_env) : EnvWrapper(base_env) {}

  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    const MemoryFilePtr file = Find(fname);
    *result = file == nullptr ? nullptr : new FrontToBack(file);
    return file == nullptr ? NotThere(fname) : Status();
  }
  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    const MemoryFilePtr file = Find(fname);
    *result = file == nullptr ? nullptr : new Anywhere(file);
    return file == nullptr ? NotThere(fname) : Status();
  }
  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    const MemoryFilePtr file = FindOrMake(fname);
    file->Clear();
    *result = new AtTheEnd(file);
    return {};
  }
  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    *result = new AtTheEnd(FindOrMake(fname));
    return {};
  }

  bool FileExists(const std::string& fname) override { return Find(fname) != nullptr; }
  // There are no directories: a name lies in `dir` if it begins with `dir` and a slash.
  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    result->clear();
    Lock lock(mutex_);
    for (const auto& [name, file] : files_) {
      if (name.size() > dir.size() + 1 && name[dir.size()] == '/' && name.starts_with(dir)) {
        result->push_back(name.substr(dir.size() + 1));
      }
    }
    return {};
  }
  Status RemoveFile(const std::string& fname) override {
    Lock lock(mutex_);
    return files_.erase(fname) == 0 ? NotThere(fname) : Status();
  }
  Status CreateDir(const std::string&) override { return {}; }
  Status RemoveDir(const std::string&) override { return {}; }
  Status GetFileSize(const std::string& fname, uint64_t* file_size) override {
    const MemoryFilePtr file = Find(fname);
    if (file == nullptr) return NotThere(fname);
    *file_size = file->size();
    return {};
  }
  Status RenameFile(const std::string& src, const std::string& target) override {
    Lock lock(mutex_);
    const auto found = files_.find(src);
    if (found == files_.end()) return NotThere(src);
    const MemoryFilePtr file = found->second;
    files_.erase(found);
    files_[target] = file;
    return {};
  }

  Status LockFile(const std::string&, FileLock** lock) override {
    *lock = new FileLock;
    return {};
  }
  Status UnlockFile(FileLock* lock) override {
    delete lock;
    return {};
  }
  Status GetTestDirectory(std::string* path) override {
    *path = "/test";
    return {};
  }
  Status NewLogger(const std::string&, Logger** result) override {
    *result = new Silence;
    return {};
  }

 private:
  MemoryFilePtr Find(const std::string& name) const {
    Lock lock(mutex_);
    const auto found = files_.find(name);
    return found == files_.end() ? nullptr : found->second;
  }
  MemoryFilePtr FindOrMake(const std::string& name) {
    Lock lock(mutex_);
    MemoryFilePtr& file = files_[name];
    if (file == nullptr) file = std::make_shared<MemoryFile>();
    return file;
  }

  mutable Mutex mutex_;
  std::map<std::string, MemoryFilePtr> files_ GUARDED_BY(mutex_);
};

}  // namespace

Env* NewMemEnv(Env* base_env) { return new MemoryEnv(base_env); }

}  // namespace leveldb
