// Files in memory for the tests of tables. The test can see and change their bytes. Direct I/O must be
// aligned.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "base/assert.h"
#include "env/file_memory.h"
#include "mergedb/env.h"

namespace mergedb::testing {

class MemoryFiles final : public FileSystem {
 public:
  std::string& bytes(const std::string& path) { return *files_.at(path); }
  bool has(const std::string& path) const { return files_.count(path) != 0; }

  uint64_t writes_left = ~uint64_t{0};  // WriteAt fails with NoSpace when it is 0
  uint64_t reads_left = ~uint64_t{0};   // ReadAt fails with IOError when it is 0
  bool can_map = true;                  // for reading
  bool maps_too_late = false;           // another program cuts the file before it is mapped
  uint64_t opens = 0;
  uint64_t reads = 0;
  uint64_t direct_opens = 0;
  struct {
    uint64_t begin = 0, end = 0;
  } hint;                     // of the last WillRead
  uint64_t hinted_reads = 0;  // reads that begin within the last hint

  Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) override {
    ++opens;
    if (options.access == Access::kCreate) {
      if (has(path)) return Status::IOError(path + ": exists");
      files_[path] = std::make_shared<std::string>();
    }
    if (!has(path)) return Status::NotFound(path);
    direct_opens += options.direct;
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(this, files_[path], options.direct));
  }
  Status Remove(const std::string& path) override { return files_.erase(path) > 0 ? Status() : Status::NotFound(path); }
  Status Rename(const std::string&, const std::string&) override { return Refused(); }
  Result<std::vector<std::string>> List(const std::string&) override { return Refused(); }
  Status CreateDirectory(const std::string&) override { return Refused(); }
  Status RemoveDirectory(const std::string&) override { return Refused(); }
  Status SyncDirectory(const std::string&) override { return Refused(); }
  Result<uint64_t> SizeOf(const std::string&) override { return Refused(); }
  Result<bool> IsDirectory(const std::string&) override { return Refused(); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string&) override { return Refused(); }

 private:
  static Status Refused() { return Status::NotSupported("not by files in memory"); }

  class MemoryMapping final : public ReadMapping {
   public:
    MemoryMapping(std::shared_ptr<std::string> file, size_t bytes) : file_(std::move(file)), bytes_(bytes) {}
    const char* data() const override { return file_->data(); }
    size_t size() const override { return bytes_; }

   private:
    const std::shared_ptr<std::string> file_;  // keeps its size while it is mapped
    const size_t bytes_;
  };

  class MemoryFile final : public File {
   public:
    MemoryFile(MemoryFiles* files, std::shared_ptr<std::string> bytes, bool is_direct)
        : files_(files), bytes_(std::move(bytes)), is_direct_(is_direct) {}

    Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
      ++files_->reads;
      files_->hinted_reads += files_->hint.begin <= offset && offset < files_->hint.end;
      CheckAligned(offset, bytes, out);
      if (files_->reads_left == 0) return Status::IOError("files in memory cannot be read");
      --files_->reads_left;
      *got = offset >= bytes_->size() ? 0 : std::min<size_t>(bytes, bytes_->size() - offset);
      if (*got > 0) std::memcpy(out, bytes_->data() + offset, *got);
      return {};
    }
    Status WriteAt(uint64_t offset, std::string_view bytes) override {
      CheckAligned(offset, bytes.size(), bytes.data());
      if (files_->writes_left == 0) return Status::NoSpace("files in memory are full");
      --files_->writes_left;
      if (bytes_->size() < offset + bytes.size()) bytes_->resize(offset + bytes.size());
      bytes_->replace(offset, bytes.size(), bytes);
      return {};
    }
    Status Truncate(uint64_t bytes) override {
      bytes_->resize(bytes);
      return {};
    }
    Status Sync() override { return {}; }
    Result<uint64_t> Size() override { return uint64_t{bytes_->size()}; }
    Status Close() override { return {}; }
    void WillRead(uint64_t offset, uint64_t bytes) override { files_->hint = {.begin = offset, .end = offset + bytes}; }
    Result<std::unique_ptr<Mapping>> Map(size_t) override { return Refused(); }
    Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes) override {
      if (!files_->can_map) return Refused();
      if (bytes > bytes_->size() || files_->maps_too_late) return Status::Corruption("too short to be mapped");
      return std::unique_ptr<ReadMapping>(std::make_unique<MemoryMapping>(bytes_, bytes));
    }

   private:
    void CheckAligned(uint64_t offset, size_t bytes, const void* memory) const {
      if (!is_direct_) return;
      const auto address = reinterpret_cast<uintptr_t>(memory);
      ASSERT((offset | bytes | address) % kDirectIoAlign == 0, "direct I/O is aligned");
    }

    MemoryFiles* files_;
    std::shared_ptr<std::string> bytes_;
    bool is_direct_;
  };

  std::map<std::string, std::shared_ptr<std::string>> files_;
};

// For readers: without a bound, or null for no mapping at all.
inline env::FileMemory* Mapping(bool may_map = true) {
  static env::FileMemory unlimited(UINT64_MAX, UINT64_MAX);
  return may_map ? &unlimited : nullptr;
}

}  // namespace mergedb::testing
