// Files of dead tables and value files, kept to be written again under another number.
//
//     000012.tbl ── nobody names it ──> 000012.spare ── a file of about its size begins ──> 000047.val
//
// WHY: removing a file gives its blocks back to the file system, which tells the disk (a mount with `discard`) and takes others for the
// next one. That costs more than the merge that made the file dead.
// MEASURED: db_bench fillrandom, 4 M entries of 100 B, ext4 mounted with discard: docs/decisions/0018-spare-files.md.
//
// A spare is neither: it has a name of its own, so that no tool takes its stale entries for data. Every dead file becomes one, so that
// what waits for its removal can still be written over; it counts as space on disk. What the pool holds beyond its bound is removed
// one by one, all of it when the tree is at rest, when the disk is full, and at Close. The bound is one of bytes, and of 256
// files smaller than 1 MiB: a program that flushes and compacts after every put makes a tiny dead file each time.
//
// THREADS: any.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "base/sync.h"
#include "db/obsolete_files.h"
#include "format/file_name.h"
#include "kv/key.h"
#include "mergedb/env.h"

namespace mergedb::db {

class RecycledFiles {
 public:
  RecycledFiles(FileSystem* file_system, std::string directory, ObsoleteFiles& obsolete)
      : file_system_(file_system), directory_(std::move(directory)), obsolete_(obsolete) {}

  // Takes a dead file. False: it cannot be written again, remove it.
  bool Keep(const ObsoleteFiles::ObsoleteFile& file);
  // One that was left by a database that did not close: as good as any. WHY not removed: that may take long, and somebody waits for
  // the open.
  void Adopt(kv::FileNumber number);
  // Renames a spare of about `bytes_expected` to the name of file `number`. False: there is none. After an error the number is not
  // to be used.
  Result<bool> Reuse(format::FileKind kind, kv::FileNumber number, uint64_t bytes_expected);
  // Removes the one that was kept first. OK when there is none. After an error the spare is the last one.
  Status RemoveOldest();
  // Removes all of them. An error leaves those that are left for the next call.
  Status RemoveAll();

  bool empty() const {
    base::Lock lock(mutex_);
    return recycled_files_.empty();
  }
  uint64_t bytes() const {
    base::Lock lock(mutex_);
    return bytes_;
  }
  uint64_t reused() const {
    base::Lock lock(mutex_);
    return reused_;
  }
  uint64_t removed() const {
    base::Lock lock(mutex_);
    return removed_;
  }

 private:
  Status RemoveFirst(bool (*is_to_go)(const ObsoleteFiles::ObsoleteFile&));

  // Constant after construction.
  FileSystem* const file_system_;
  const std::string directory_;
  ObsoleteFiles& obsolete_;  // counts bytes on disk

  mutable base::Mutex mutex_;
  std::deque<ObsoleteFiles::ObsoleteFile> recycled_files_ GUARDED_BY(mutex_);  // the oldest first
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t reused_ GUARDED_BY(mutex_) = 0;
  uint64_t removed_ GUARDED_BY(mutex_) = 0;
};

}  // namespace mergedb::db
