// Makes new tables and blob files, and their names, durable before a MANIFEST names them (rule W1).
//
// Row B1: after a failed sync it is unknown which pages will reach the disk, and a second sync may report
// success. So a file whose sync failed is never synced again. Its bytes can still be read: FileSyncer copies
// them to a new file, checks the copy, and renames it to the old name.
//
// THREADS: HasFailed: any. The rest: one at a time (under the commit mutex).
#pragma once

#include <functional>
#include <set>
#include <string>

#include "base/sync.h"
#include "format/data_file.h"
#include "mergedb/env.h"
#include "version/version.h"

namespace mergedb::db {

class FileSyncer {
 public:
  struct Options {
    FileSystem* file_system = nullptr;
    std::string directory;
    // WHY functions: a test has files without contents, and so neither a Store nor a VersionSet.
    std::function<kv::FileNumber()> allocate_number;
    // OK if every byte of the file at `path` is as `file` describes it (CheckFile, db/state/integrity.h).
    std::function<Status(const std::string& path, const format::DescribedFile& file)> check;
    // Called after the file of this table or blob file was replaced by an equal copy.
    std::function<void(kv::FileNumber)> file_replaced;
  };
  // The files of `committed` are durable.
  FileSyncer(Options options, const version::Version& committed);

  // OK: the tables and blob files that `edit` adds are durable under their names.
  Status Sync(const format::VersionEdit& edit);
  // Limits the memory: may forget that other files than those of `committed` are durable.
  void Trim(const version::Version& committed);
  // True if a sync of this table or blob file failed, and no copy has replaced it since. The file must not be
  // overwritten and synced again: the system might report success for pages that it lost.
  bool HasFailed(kv::FileNumber number) const;

 private:
  Status SyncNewFile(const format::DescribedFile& file, std::set<kv::FileNumber>* fresh);
  Status SyncFile(const format::DataFile& file);
  Status ReplaceFile(const format::DescribedFile& file);

  const Options options_;
  std::set<kv::FileNumber> synced_;
  mutable base::Mutex mutex_;                                // a leaf
  std::set<kv::FileNumber> sync_failed_ GUARDED_BY(mutex_);  // files to be replaced, never to be synced again
};

}  // namespace mergedb::db
