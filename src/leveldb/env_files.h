// A program's Env as mergedb's file system: append-only (include/mergedb/env.h), for the one directory of a database.
//
// Names. Envs know LevelDB's files by their names: they count, fail or route tables, logs and MANIFESTs. So here, and nowhere else,
// mergedb's files have LevelDB's:
//
//     000012.tbl  ->  000012.ldb        000007.seg  ->  000007.log        CURRENT.tmp  ->  000000.dbtmp
//
// Files of mergedb's own names, written without such an Env, are found as well. In a directory of LevelDB's the .ldb and .log files are not
// mergedb's, and keep their names in lists. Whose it is says CURRENT: LevelDB's ends with a newline; without one, the first bytes of a
// MANIFEST, or else the last ones of a table.
//
// Directories. An Env has no call that makes names durable, but syncing a file whose name begins with MANIFEST does it: LevelDB relies
// on that, so Envs care. SyncDirectory appends a byte to MANIFEST-000000, which nobody reads, and syncs it. The parent directory is
// not synced.
//
// Reads never go over the end of a file: some Envs call that an error.
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
  // The name that the Env knows the file by: LevelDB's, unless only mergedb's is there.
  std::string Found(const std::string& path);
  bool IsLevelDbs(const std::vector<std::string>& names);
  std::string ReadPiece(const std::string& path, bool at_the_end);

  Env& env_;
  const std::string directory_;

  mergedb::base::Mutex mutex_;
  std::set<std::string> made_ GUARDED_BY(mutex_);  // under LevelDB's names
  std::unique_ptr<WritableFile> syncer_ GUARDED_BY(mutex_);
};

}  // namespace leveldb
