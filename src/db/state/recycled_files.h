// Recycled files: obsolete tables and blob files that are kept to be overwritten by new files.
//
//     000012.tbl ── becomes obsolete ──> 000012.spare ── a file of about its size begins ──> 000047.val
//
// WHY: when a file is removed, the file system frees its blocks and tells the disk (on a mount with
// `discard`), and then allocates others for the next file. That costs more than the compaction that made the
// file obsolete.
// MEASURED: db_bench fillrandom, 4 M entries of 100 B, ext4 mounted with discard:
// docs/decisions/0018-recycled-files.md.
//
// A recycled file has another extension, so that no tool takes its stale entries for data. Every obsolete
// file is recycled if possible, except at the space bound (db/background/obsolete_file_purger.h), so that it can be
// overwritten while it waits for its removal. Recycled files count as space on disk. The bound is a number of bytes and
// kCountMax files (a program that flushes after every put makes many tiny files). If there are too many, one that is
// smaller than 1 MiB is removed at once, which is cheap. Other files beyond the bound are removed one by one; all are
// removed when the disk is full and, without Options::keep_space_at_rest, when the database is idle and at Close.
//
// A file that existed when the database was opened is never recycled. WHY: an iterator of an earlier open, which this
// process has closed, may be in the middle of a move and read the file through a mapping. A removed file keeps its
// bytes for the mapping; a file that is written again does not, and a read fails if it becomes shorter.
// A recycled file that an earlier open left is safe: that open had seen its last reader end.
//
// THREADS: any.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/sync.h"
#include "db/state/obsolete_files.h"
#include "format/data_file.h"
#include "kv/key.h"
#include "mergedb/env.h"

namespace mergedb::db {

class RecycledFiles {
 public:
  // As many as the flushed tables that one compaction makes obsolete; the next flushes write over them.
  static constexpr size_t kCountMax = 64;

  // `first_number`: of the files that this open makes.
  RecycledFiles(FileSystem* file_system, std::string directory, ObsoleteFiles& obsolete, kv::FileNumber first_number)
      : file_system_(file_system), directory_(std::move(directory)), obsolete_(obsolete), first_number_(first_number) {}

  // Takes an obsolete file. False: the file cannot be recycled; the caller removes it.
  bool Keep(const format::DataFile& file);
  // Takes a recycled file that an earlier open left: it did not close, or kept its space. WHY it is not removed: that
  // may take long, and the caller waits for the open.
  void Adopt(kv::FileNumber number);
  // Renames a recycled file of about file.bytes to the name of `file`. False: there is none. Removes the files that it
  // meets and that a reader holds (env/hold.h). After an error the caller must not use the number of `file`.
  Result<bool> Reuse(const format::DataFile& file);
  // Removes the file that was kept first; of more than kCountMax files, the first small one. OK if there is none.
  // After an error the file is last in order.
  Status RemoveOldest();
  // Removes all files. After an error the rest stays for the next call.
  Status RemoveAll();

  bool empty() const {
    base::Lock lock(mutex_);
    return recycled_files_.empty();
  }
  size_t count() const {
    base::Lock lock(mutex_);
    return recycled_files_.size();
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
  std::optional<format::DataFile> TakeNearest(uint64_t bytes_expected);
  std::optional<format::DataFile> TakeOldest(bool is_small_only);
  format::DataFile TakeLocked(std::deque<format::DataFile>::iterator at) REQUIRES_LOCK(mutex_);
  Status Remove(const format::DataFile& file);

  // Constant after construction.
  FileSystem* const file_system_;
  const std::string directory_;
  ObsoleteFiles& obsolete_;  // counts bytes on disk
  const kv::FileNumber first_number_;

  mutable base::Mutex mutex_;
  std::deque<format::DataFile> recycled_files_ GUARDED_BY(mutex_);  // oldest first
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t reused_ GUARDED_BY(mutex_) = 0;
  uint64_t removed_ GUARDED_BY(mutex_) = 0;
};

}  // namespace mergedb::db
