#include "table/cache.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/sync.h"
#include "format/file_name.h"

namespace mergedb::table {
namespace {

constexpr size_t kShardsMax = 16;
constexpr size_t kTablesOfShardMin = 16;

using ReaderPtr = std::shared_ptr<Reader>;

// Numbers are given out one after the other, so that number modulo shards spreads them evenly.
class Shard {
 public:
  // Null if it is not there.
  ReaderPtr Find(uint64_t number) {
    base::Lock lock(mutex_);
    const auto found = places_.find(number);
    if (found == places_.end()) return nullptr;
    if (found->second != used_.begin()) used_.splice(used_.begin(), used_, found->second);
    return found->second->reader;
  }

  // The reader that stays: `fresh`, or the one that somebody else put there meanwhile. Tables that had to go are
  // appended to *closed, for the caller to drop without the lock.
  ReaderPtr Insert(uint64_t number, ReaderPtr fresh, size_t tables_max, std::vector<ReaderPtr>* closed) {
    base::Lock lock(mutex_);
    if (const auto found = places_.find(number); found != places_.end()) return found->second->reader;
    used_.push_front({number, fresh});
    places_.emplace(number, used_.begin());
    while (used_.size() > tables_max) Remove(std::prev(used_.end()), closed);
    return fresh;
  }

  void Evict(uint64_t number, std::vector<ReaderPtr>* closed) {
    base::Lock lock(mutex_);
    if (const auto found = places_.find(number); found != places_.end()) Remove(found->second, closed);
  }

  // Close what nobody uses.
  void EvictIdle(std::vector<ReaderPtr>* closed) {
    base::Lock lock(mutex_);
    for (auto at = used_.begin(); at != used_.end();) {
      const auto next = std::next(at);
      if (at->reader.use_count() == 1) Remove(at, closed);
      at = next;
    }
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    base::Lock lock(mutex_);
    for (const Place& place : used_) visit(*place.reader);
  }

 private:
  struct Place {
    uint64_t number;
    ReaderPtr reader;
  };
  using Places = std::list<Place>;

  void Remove(Places::iterator at, std::vector<ReaderPtr>* closed) REQUIRES_LOCK(mutex_) {
    closed->push_back(std::move(at->reader));
    places_.erase(at->number);
    used_.erase(at);
  }

  mutable base::Mutex mutex_;
  Places used_ GUARDED_BY(mutex_);  // most recently first
  std::unordered_map<uint64_t, Places::iterator> places_ GUARDED_BY(mutex_);
};

class CacheImpl final : public Cache {
 public:
  CacheImpl(FileSystem* file_system, std::string directory, const kv::Order& order, base::BlockCache* blocks,
            size_t tables_max)
      : file_system_(file_system),
        directory_(std::move(directory)),
        order_(order),
        blocks_(blocks),
        shards_(std::clamp<size_t>(tables_max / kTablesOfShardMin, 1, kShardsMax)),
        shard_tables_max_(std::max<size_t>(tables_max / shards_.size(), 1)) {}

  Result<ReaderPtr> Open(const format::FileMetaPtr& meta) override;
  void Evict(kv::FileNumber number) override;
  size_t open_tables() const override;
  size_t memory_bytes() const override;

 private:
  Shard& ShardOf(uint64_t number) { return shards_[number % shards_.size()]; }
  Result<ReaderPtr> OpenFile(const format::FileMetaPtr& meta);

  // Constant after construction.
  FileSystem* const file_system_;
  const std::string directory_;
  const kv::Order order_;
  base::BlockCache* const blocks_;

  std::vector<Shard> shards_;  // each with its own lock
  const size_t shard_tables_max_;
};

Result<ReaderPtr> CacheImpl::OpenFile(const format::FileMetaPtr& meta) {
  const std::string path = format::TablePath(directory_, meta->number);
  // WHY a copy: when the last holder of the tree's FileMeta lets go the file is removed; a reader kept here is no holder.
  const auto copy = std::make_shared<const format::FileMeta>(*meta);
  auto reader = Reader::Open(file_system_, path, copy, order_, blocks_);
  if (reader || !reader.error().IsBusy()) return reader;
  // The process may be out of file descriptors: give back what is idle and try once more.
  std::vector<ReaderPtr> closed;
  for (Shard& shard : shards_) shard.EvictIdle(&closed);
  if (closed.empty()) return reader;
  closed.clear();
  return Reader::Open(file_system_, path, copy, order_, blocks_);
}

Result<ReaderPtr> CacheImpl::Open(const format::FileMetaPtr& meta) {
  const uint64_t number = kv::ToInt(meta->number);
  Shard& shard = ShardOf(number);
  if (ReaderPtr found = shard.Find(number)) [[likely]] return found;
  // No lock is held while the file is read; if two open it at once, one of the two is dropped.
  auto opened = OpenFile(meta);
  // WHY: a file that is not found must never pass for a key that is not found.
  if (!opened && opened.error().IsNotFound()) {
    return Status::IOError(std::string(opened.error().message()) + ": a table of the tree is gone");
  }
  ASSIGN_OR_RETURN(ReaderPtr fresh, std::move(opened));
  std::vector<ReaderPtr> closed;
  return shard.Insert(number, std::move(fresh), shard_tables_max_, &closed);
}

void CacheImpl::Evict(kv::FileNumber number) {
  std::vector<ReaderPtr> closed;
  ShardOf(kv::ToInt(number)).Evict(kv::ToInt(number), &closed);
  if (blocks_ != nullptr) blocks_->EvictFile(kv::ToInt(number));
}

size_t CacheImpl::open_tables() const {
  size_t tables = 0;
  for (const Shard& shard : shards_) shard.ForEach([&](const Reader&) { ++tables; });
  return tables;
}

size_t CacheImpl::memory_bytes() const {
  size_t bytes = 0;
  for (const Shard& shard : shards_) shard.ForEach([&](const Reader& reader) { bytes += reader.memory_bytes(); });
  return bytes;
}

}  // namespace

Cache::~Cache() = default;

std::unique_ptr<Cache> Cache::New(FileSystem* file_system, std::string directory, const kv::Order& order,
                                  base::BlockCache* blocks, size_t tables_max) {
  return std::make_unique<CacheImpl>(file_system, std::move(directory), order, blocks, tables_max);
}

}  // namespace mergedb::table
