// A cache of open files by number, bounded by their count. It closes the least recently used file first. A file
// in use stays open until its last user releases it. The table cache and the blob file cache each have one.
//
// It has at most sixteen shards, each with its own lock and list. No lock is held while a file is opened or closed.
// THREADS: all methods, any thread. MEASURED: bench/micro/table_bench, "table cache lookup", 37 ns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sync.h"
#include "mergedb/result.h"

namespace mergedb::base {

// The result of opening a file that the MANIFEST names. `what` is "table" or "blob file".
// WHY: NotFound of a file must never look like NotFound of a key.
template <class ReaderPtr>
Result<ReaderPtr> NeverNotFound(const char* what, Result<ReaderPtr> opened) {
  if (opened || !opened.error().IsNotFound()) return opened;
  return Status::IOError(std::string(opened.error().message()) + ": the MANIFEST names this " + what +
                         ", and it does not exist");
}

template <class Reader>
class OpenFiles {
 public:
  using ReaderPtr = std::shared_ptr<Reader>;

  explicit OpenFiles(size_t files_max)
      : shards_(std::clamp<size_t>(files_max / kFilesOfShardMin, 1, kShardsMax)),
        shard_files_max_(std::max<size_t>(files_max / shards_.size(), 1)) {}

  // The open file, or the one that `open` opens. No lock is held while `open` runs: if two threads open the file
  // at the same time, one reader is dropped.
  template <typename Open>
  Result<ReaderPtr> FindOrOpen(uint64_t number, Open open) {
    Shard& shard = ShardOf(number);
    if (ReaderPtr found = shard.Find(number)) [[likely]]
      return found;
    ASSIGN_OR_RETURN(ReaderPtr fresh, open());
    std::vector<ReaderPtr> closed;  // destroyed without the lock
    return shard.Insert(number, std::move(fresh), shard_files_max_, &closed);
  }

  void Evict(uint64_t number) {
    std::vector<ReaderPtr> closed;
    ShardOf(number).Evict(number, &closed);
  }

  // Closes the files that have no user.
  void CloseIdle() {
    std::vector<ReaderPtr> closed;
    for (Shard& shard : shards_) shard.EvictIdle(&closed);
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Shard& shard : shards_) shard.ForEach(visit);
  }
  size_t count() const {
    size_t files = 0;
    ForEach([&](const Reader&) { ++files; });
    return files;
  }

 private:
  static constexpr size_t kShardsMax = 16;
  static constexpr size_t kFilesOfShardMin = 16;

  class Shard {
   public:
    ReaderPtr Find(uint64_t number) {  // null if the file is not open
      Lock lock(mutex_);
      const auto found = places_.find(number);
      if (found == places_.end()) return nullptr;
      if (found->second != used_.begin()) used_.splice(used_.begin(), used_, found->second);
      return found->second->reader;
    }

    // Returns the reader that the cache keeps: `fresh`, or the one that another thread inserted first. Appends the
    // evicted files to *closed; the caller destroys them without the lock.
    ReaderPtr Insert(uint64_t number, ReaderPtr fresh, size_t files_max, std::vector<ReaderPtr>* closed) {
      Lock lock(mutex_);
      if (const auto found = places_.find(number); found != places_.end()) return found->second->reader;
      Places place;  // WHY: if memory runs out, neither of the two has the file
      place.push_front({number, fresh});
      places_.emplace(number, place.begin());
      used_.splice(used_.begin(), place);
      while (used_.size() > files_max) Remove(std::prev(used_.end()), closed);
      return fresh;
    }

    void Evict(uint64_t number, std::vector<ReaderPtr>* closed) {
      Lock lock(mutex_);
      if (const auto found = places_.find(number); found != places_.end()) Remove(found->second, closed);
    }

    void EvictIdle(std::vector<ReaderPtr>* closed) {
      Lock lock(mutex_);
      for (auto at = used_.begin(); at != used_.end();) {
        const auto next = std::next(at);
        if (at->reader.use_count() == 1) Remove(at, closed);
        at = next;
      }
    }

    template <typename Visit>
    void ForEach(Visit& visit) const {
      Lock lock(mutex_);
      for (const Place& place : used_) visit(*place.reader);
    }

   private:
    struct Place {
      uint64_t number;
      ReaderPtr reader;
    };
    using Places = std::list<Place>;

    void Remove(typename Places::iterator at, std::vector<ReaderPtr>* closed) REQUIRES_LOCK(mutex_) {
      closed->push_back(std::move(at->reader));
      places_.erase(at->number);
      used_.erase(at);
    }

    mutable Mutex mutex_;
    Places used_ GUARDED_BY(mutex_);  // most recently used first
    std::unordered_map<uint64_t, typename Places::iterator> places_ GUARDED_BY(mutex_);
  };

  // File numbers are consecutive, so the number modulo the count of shards spreads the files evenly.
  Shard& ShardOf(uint64_t number) { return shards_[number % shards_.size()]; }

  std::vector<Shard> shards_;
  const size_t shard_files_max_;
};

}  // namespace mergedb::base
