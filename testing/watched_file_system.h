// Wraps any file system and calls the test before and after each call; the test may make the call fail.
//
//     WatchedFileSystem files(DefaultEnv().file_system, {.before = [&](const FileCall& call) -> Status {
//       if (Matches(call) && ++hits == 3) kill(getpid(), SIGKILL);      // a named point of the program
//       return {};                                                       // or the error that the caller gets
//     }});
//
// A call is identified by its operation, its kind of file, and the place in the program that makes it. SourceLines()
// translates `site` to "src/wal/segments.cc:220". Stores to mapped memory are not calls.
// THREADS: the functions of Watch run on the calling threads, without a lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "env/hold.h"
#include "mergedb/env.h"
#include "testing/fault_file_system.h"

namespace mergedb::testing {

struct FileCall {
  FileOp op;
  std::string_view path;        // of a rename or a link: the source
  uintptr_t site;               // the return address in the program, minus one
  uint64_t offset = 0;          // of a read or a write
  std::string_view bytes = {};  // of a write
  bool is_direct = false;       // of an open or a creation
};

// "CURRENT", "CURRENT.tmp", "LOCK", "MANIFEST", "STAGING", "seg", "tbl", "directory", or "other".
std::string_view FileKindOf(FileOp op, std::string_view path);
// "sync MANIFEST"
std::string PointName(const FileCall& call);

struct Watch {
  // If it returns an error, the call is not made and returns that error. Of a write, the first *keep_bytes bytes are
  // still written.
  std::function<Status(const FileCall& call, size_t* keep_bytes)> before = {};
  std::function<void(const FileCall& call, const Status& outcome)> after = {};
  // A read found `got` bytes; returns the number of bytes that the caller gets.
  std::function<size_t(const FileCall& call, size_t got)> shorten = {};
  // A hint (File::WillRead), which cannot fail.
  std::function<void(std::string_view path, uint64_t offset, uint64_t bytes)> will_read = {};
  // Takes the place of a mapping for reading.
  std::function<Result<std::unique_ptr<ReadMapping>>(File& file, size_t bytes)> map_to_read = {};
};

class WatchedFileSystem final : public FileSystem, public env::Holds {
 public:
  // `inner` must outlive this object. This object must outlive all files that it opened.
  WatchedFileSystem(FileSystem* inner, Watch watch) : inner_(inner), watch_(std::move(watch)) {}

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
  Result<env::HeldFile> OpenHeld(const std::string& path) override;
  bool IsHeld(const std::string& path) override { return env::IsHeld(*inner_, path); }
  uint64_t FreeMemoryBytes() override { return inner_->FreeMemoryBytes(); }

 private:
  class WatchedFile;

  FileSystem* const inner_;
  const Watch watch_;
};

// For each site of this program its source line, "src/wal/segments.cc:220"; "?" and the address if addr2line fails.
std::vector<std::string> SourceLines(const std::vector<uintptr_t>& sites);
// All places in src/ (without src/env) that call a file system, as "src/wal/segments.cc:220". Reads the sources in
// `root`.
std::vector<std::string> CallSitesInSources(const std::string& root);

}  // namespace mergedb::testing
