// Which tables may be deleted: those that nobody names any more. Every Version, View and job that can still read a table holds
// its FileMeta; so does the Version that the MANIFEST is known to describe, and, after a commit of unknown outcome, both. The
// last one to let go buries the number here, and the background removes the file.
//
// THREADS: any. Shared, because iterators may outlive the database: what they bury then waits for the next open.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/sync.h"
#include "format/version_edit.h"

namespace mergedb::db {

class ObsoleteFiles : public std::enable_shared_from_this<ObsoleteFiles> {
 public:
  // A FileMeta that is buried when its last holder lets go. REQUIRES: the file is not tracked yet.
  format::FileMetaPtr Track(const format::FileMetaPtr& meta) {
    live_bytes_.fetch_add(meta->bytes, std::memory_order_relaxed);
    return {new format::FileMeta(*meta), [home = shared_from_this()](const format::FileMeta* last) {
              home->Bury(last->number, last->bytes);
              delete last;
            }};
  }

  // The numbers buried since the last call. The caller removes the files, and says so.
  struct Buried {
    kv::FileNumber number;
    uint64_t bytes;
  };
  std::vector<Buried> Take() {
    base::Lock lock(mutex_);
    return std::exchange(buried_, {});
  }
  void PutBack(Buried file) {  // could not be removed: try again later
    base::Lock lock(mutex_);
    buried_.push_back(file);
  }
  void Removed(const Buried& file) { live_bytes_.fetch_sub(file.bytes, std::memory_order_relaxed); }
  bool HasBuried() const {
    base::Lock lock(mutex_);
    return !buried_.empty();
  }

  // Of all tables on disk that were tracked and not yet removed.
  uint64_t bytes_on_disk() const { return live_bytes_.load(std::memory_order_relaxed); }

 private:
  void Bury(kv::FileNumber number, uint64_t bytes) {
    base::Lock lock(mutex_);
    buried_.push_back({number, bytes});
  }

  std::atomic<uint64_t> live_bytes_{0};
  mutable base::Mutex mutex_;
  std::vector<Buried> buried_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
