// Any file system, with somebody looking on: told of each call before and after it, and free to make it fail.
//
//     WatchedFileSystem files(DefaultEnv().file_system, {.before = [&](const FileCall& call) -> Status {
//       if (Matches(call) && ++hits == 3) kill(getpid(), SIGKILL);      // a named point of the program
//       return {};                                                       // or the error that the caller shall see
//     }});
//
// A call is known by what it does, to which kind of file, and by the place in the program that makes it: `site` is the return
// address in the caller; SourceLines() turns addresses into "src/wal/segments.cc:220". Stores into a mapping are not calls.
// THREADS: the watch runs on the calling thread, without a lock, from as many threads as call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/env.h"
#include "testing/fault_file_system.h"

namespace mergedb::testing {

struct FileCall {
  Op op;
  std::string_view path;        // of a rename or a link, the source
  uintptr_t site;               // the return address in the program
  uint64_t offset = 0;          // of a read or a write
  std::string_view bytes = {};  // of a write
};

// "CURRENT", "CURRENT.tmp", "LOCK", "MANIFEST", "STAGING", "seg", "tbl", "directory", or "other".
std::string_view FileKindOf(Op op, std::string_view path);
// "sync MANIFEST"
std::string PointName(const FileCall& call);

struct Watch {
  // What it returns instead of OK is the call's outcome, and the call is not made. For a write, *keep_bytes of it are.
  std::function<Status(const FileCall& call, size_t* keep_bytes)> before = {};
  std::function<void(const FileCall& call, const Status& outcome)> after = {};
  // How many of the `got` bytes that a read found it shall say it found.
  std::function<size_t(const FileCall& call, size_t got)> shorten = {};
};

class WatchedFileSystem final : public FileSystem {
 public:
  // `inner` must outlive this object, and this object all files opened by it.
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

 private:
  class WatchedFile;

  FileSystem* const inner_;
  const Watch watch_;
};

// "src/wal/segments.cc:220" for each site of this program, by addr2line; the address itself where that does not know.
std::vector<std::string> SourceLines(const std::vector<uintptr_t>& sites);
// Every place in src/ (but src/env) that calls a file system, as "src/wal/segments.cc:220", read from the sources at `root`.
std::vector<std::string> CallSitesInSources(const std::string& root);

}  // namespace mergedb::testing
