// Obsolete tables and blob files. Every version, SuperVersion and compaction job that can still read a file
// holds its description. So does the version that the MANIFEST describes; after a commit of unknown outcome,
// both possible versions do. When the last holder releases the description, the file is obsolete, and
// background work recycles or removes it.
//
// THREADS: any. Shared, because iterators may outlive the database; the next open removes the files that they
// release then.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "base/sync.h"
#include "format/data_file.h"

namespace mergedb::db {

class ObsoleteFiles : public std::enable_shared_from_this<ObsoleteFiles> {
 public:
  // Returns a description whose last release makes the file obsolete. REQUIRES: the file is not tracked yet.
  template <class Meta>
  std::shared_ptr<const Meta> Track(const std::shared_ptr<const Meta>& meta) {
    const format::DataFile file = format::DataFileOf(*meta);
    Found(file);
    // WHY the element exists from the start: the last holder may be a reader that ends, which must not run out of
    // memory.
    std::list<format::DataFile> element = {file};
    return {new Meta(*meta), [home = shared_from_this(), element = std::move(element)](const Meta* last) mutable {
              home->Add(&element);
              delete last;
            }};
  }

  // The files that became obsolete since the last Take. The caller calls NotePurged when a file is removed or recycled,
  // and Removed when it is removed or reused.
  std::vector<format::DataFile> Take() {
    base::Lock lock(mutex_);
    std::vector<format::DataFile> files(files_.begin(), files_.end());
    files_.clear();
    return files;
  }
  // For a file that could not be removed: the next Take returns it again.
  void PutBack(const format::DataFile& file) {
    base::Lock lock(mutex_);
    files_.push_back(file);
  }
  void NotePurged(const format::DataFile& file) { unpurged_bytes_.fetch_sub(file.bytes, std::memory_order_relaxed); }
  void Removed(const format::DataFile& file) { BytesOf(file.kind).fetch_sub(file.bytes, std::memory_order_relaxed); }
  // Counts the bytes of a file on disk: Track does, and the caller for a recycled file of an earlier open.
  void Found(const format::DataFile& file) { BytesOf(file.kind).fetch_add(file.bytes, std::memory_order_relaxed); }
  bool HasAny() const {
    base::Lock lock(mutex_);
    return !files_.empty();
  }

  // Of all files on disk that were tracked, or passed to Found, and not yet removed.
  uint64_t table_bytes() const { return table_bytes_.load(std::memory_order_relaxed); }
  uint64_t blob_file_bytes() const { return blob_file_bytes_.load(std::memory_order_relaxed); }
  uint64_t bytes_on_disk() const { return table_bytes() + blob_file_bytes(); }
  // Of obsolete files that are not yet recycled or removed.
  uint64_t unpurged_bytes() const { return unpurged_bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t>& BytesOf(format::FileKind kind) {
    return kind == format::FileKind::kTable ? table_bytes_ : blob_file_bytes_;
  }
  void Add(std::list<format::DataFile>* element) {
    unpurged_bytes_.fetch_add(element->front().bytes, std::memory_order_relaxed);
    base::Lock lock(mutex_);
    files_.splice(files_.end(), *element);
  }

  std::atomic<uint64_t> table_bytes_{0};
  std::atomic<uint64_t> blob_file_bytes_{0};
  std::atomic<uint64_t> unpurged_bytes_{0};
  mutable base::Mutex mutex_;
  std::list<format::DataFile> files_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
