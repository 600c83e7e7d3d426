// A program's Env as a file system of mergedb: append-only (include/mergedb/env.h), for the directory of one
// database.
//
// Names. An Env knows LevelDB's files by their names: programs count, fail or route tables, logs and MANIFESTs.
// So mergedb's files get LevelDB's names here, and only here:
//
//     000012.tbl  ->  000012.ldb        000007.seg  ->  000007.log        CURRENT.tmp  ->  000000.dbtmp
//
// Files under mergedb's own names, written without such an Env, are found as well. In a directory of LevelDB, the
// .ldb and .log files are LevelDB's, and List returns their names unchanged. CURRENT identifies the owner: LevelDB's
// ends with a newline. Without CURRENT, the first bytes of a MANIFEST decide, or else the last bytes of a table.
//
// Directories. An Env has no call that makes names durable. But an Env does so when a file whose name begins
// with MANIFEST is synced, because LevelDB relies on that. SyncDirectory therefore appends a byte to
// MANIFEST-000000, which nothing reads, and syncs it. The parent directory is not synced.
//
// Reads never pass the end of a file, since some Envs treat that as an error.
// THREADS: as FileSystem.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/sync.h"
#include "leveldb/env.h"
#include "mergedb/env.h"

namespace leveldb {

class EnvFiles final : public mergedb::FileSystem {
 public:
  EnvFiles(Env* env, std::string directory) : env_(*env), directory_(std::move(directory)) {}
  ~EnvFiles() override;

  mergedb::Result<std::unique_ptr<mergedb::File>> Open(const std::string& path,
                                                       const mergedb::FileOptions& options) override;
  mergedb::Status Remove(const std::string& path) override;
  mergedb::Status Rename(const std::string& source, const std::string& target) override;
  mergedb::Result<std::vector<std::string>> List(const std::string& directory) override;
  mergedb::Status CreateDirectory(const std::string& path) override;
  mergedb::Status RemoveDirectory(const std::string& path) override;
  mergedb::Status SyncDirectory(const std::string& directory) override;
  mergedb::Result<uint64_t> SizeOf(const std::string& path) override;
  mergedb::Result<bool> IsDirectory(const std::string& path) override;
  mergedb::Result<std::unique_ptr<mergedb::FileLock>> Lock(const std::string& path) override;
  bool is_append_only() const override { return true; }

 private:
  // The name of an existing file in the Env: LevelDB's name, unless the file exists only under mergedb's name.
  std::string Found(const std::string& path);
  bool IsLevelDbs(const std::vector<std::string>& names);
  std::string ReadPiece(const std::string& path, bool at_the_end);

  Env& env_;
  const std::string directory_;

  mergedb::base::Mutex mutex_;
  std::set<std::string> made_ GUARDED_BY(mutex_);  // files that this object made, by LevelDB's names
  std::unique_ptr<WritableFile> syncer_ GUARDED_BY(mutex_);
};

}  // namespace leveldb
