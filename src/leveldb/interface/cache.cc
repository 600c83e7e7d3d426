// NewLRUCache: sixteen shards. Each is a hash map and a list of the unused entries, least recently used first.
// The blocks of databases lie in a block cache of the engine with the same capacity, which finds a block by
// numbers and pins it without a handle.
#include "leveldb/cache.h"

#include <array>
#include <atomic>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/assert.h"
#include "base/block_cache.h"
#include "base/hash.h"
#include "base/sync.h"
#include "leveldb/interface/own_objects.h"

namespace leveldb {
namespace {

using mergedb::base::Lock;
using mergedb::base::Mutex;
using Deleter = void (*)(const Slice& key, void* value);

struct Entry {
  std::string key;
  void* value = nullptr;
  size_t charge = 0;
  Deleter deleter = nullptr;
  uint32_t users = 0;                     // handles given out
  bool is_mapped = false;                 // a look-up finds it
  std::list<Entry*>::iterator idle_at{};  // in idle_, if the entry is mapped and has no users
};

// Entries that were unmapped and have no users. Their deleters run without the lock.
using Unreferenced = std::list<Entry*>;
void DeleteEntries(const Unreferenced& unreferenced) {
  for (Entry* entry : unreferenced) {
    entry->deleter(entry->key, entry->value);
    delete entry;
  }
}

class Shard {
 public:
  ~Shard() {
    Unreferenced unreferenced;
    for (const auto& [key, entry] : map_) {
      ASSERT(entry->users == 0, "handles are released before their cache is deleted");
      unreferenced.push_back(entry);
    }
    DeleteEntries(unreferenced);
  }

  Entry* Insert(Entry* entry, size_t capacity) {
    Unreferenced unreferenced;
    {
      Lock lock(mutex_);
      entry->users = 1;
      if (capacity > 0) {
        Unmap(entry->key, &unreferenced);
        map_.emplace(entry->key, entry);
        entry->is_mapped = true;
        charge_ += entry->charge;
      }
      while (charge_ > capacity && !idle_.empty()) Unmap(idle_.front()->key, &unreferenced);
    }
    DeleteEntries(unreferenced);
    return entry;
  }

  Entry* Lookup(std::string_view key) {
    Lock lock(mutex_);
    const auto found = map_.find(key);
    if (found == map_.end()) return nullptr;
    if (found->second->users++ == 0) idle_.erase(found->second->idle_at);
    return found->second;
  }

  void Release(Entry* entry, size_t capacity) {
    Unreferenced unreferenced;
    {
      Lock lock(mutex_);
      ASSERT(entry->users > 0, "a handle is released once");
      if (--entry->users == 0) {
        if (entry->is_mapped) {
          entry->idle_at = idle_.insert(idle_.end(), entry);
          while (charge_ > capacity && !idle_.empty()) Unmap(idle_.front()->key, &unreferenced);
        } else {
          unreferenced.push_back(entry);
        }
      }
    }
    DeleteEntries(unreferenced);
  }

  void Erase(std::string_view key) {
    Unreferenced unreferenced;
    {
      Lock lock(mutex_);
      Unmap(std::string(key), &unreferenced);
    }
    DeleteEntries(unreferenced);
  }

  void Prune() {
    Unreferenced unreferenced;
    {
      Lock lock(mutex_);
      while (!idle_.empty()) Unmap(idle_.front()->key, &unreferenced);
    }
    DeleteEntries(unreferenced);
  }

  size_t charge() const {
    Lock lock(mutex_);
    return charge_;
  }

 private:
  // WHY by value: the key may be the entry's own.
  void Unmap(std::string key, Unreferenced* unreferenced) REQUIRES_LOCK(mutex_) {
    const auto found = map_.find(key);
    if (found == map_.end()) return;
    Entry* const entry = found->second;
    map_.erase(found);
    charge_ -= entry->charge;
    entry->is_mapped = false;
    if (entry->users > 0) return;
    idle_.erase(entry->idle_at);
    unreferenced->push_back(entry);
  }

  mutable Mutex mutex_;
  std::unordered_map<std::string_view, Entry*> map_ GUARDED_BY(mutex_);  // a key is a view of its entry's key
  std::list<Entry*> idle_ GUARDED_BY(mutex_);                            // least recently used first
  size_t charge_ GUARDED_BY(mutex_) = 0;
};

using OwnCaches = OwnObjects<Cache, mergedb::base::BlockCache*>;

class ShardedCache final : public Cache {
 public:
  explicit ShardedCache(size_t capacity) : shard_capacity_((capacity + kShards - 1) / kShards), blocks_(capacity) {
    OwnCaches::Get().Add(this, &blocks_);
  }
  ~ShardedCache() override { OwnCaches::Get().Drop(this); }

  Handle* Insert(const Slice& key, void* value, size_t charge, Deleter deleter) override {
    auto* const entry = new Entry{.key = key.ToString(), .value = value, .charge = charge, .deleter = deleter};
    return reinterpret_cast<Handle*>(ShardOf(entry->key).Insert(entry, shard_capacity_));
  }
  Handle* Lookup(const Slice& key) override {
    const std::string_view view(key.data(), key.size());
    return reinterpret_cast<Handle*>(ShardOf(view).Lookup(view));
  }
  void Release(Handle* handle) override {
    auto* const entry = reinterpret_cast<Entry*>(handle);
    ShardOf(entry->key).Release(entry, shard_capacity_);
  }
  void* Value(Handle* handle) override { return reinterpret_cast<Entry*>(handle)->value; }
  void Erase(const Slice& key) override {
    const std::string_view view(key.data(), key.size());
    ShardOf(view).Erase(view);
  }
  uint64_t NewId() override { return ++last_id_; }
  void Prune() override {
    for (Shard& shard : shards_) shard.Prune();
  }
  size_t TotalCharge() const override {
    size_t total = blocks_.bytes();
    for (const Shard& shard : shards_) total += shard.charge();
    return total;
  }

 private:
  static constexpr size_t kShards = 16;
  Shard& ShardOf(std::string_view key) { return shards_[mergedb::base::Hash64(key) >> 60]; }

  const size_t shard_capacity_;
  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> last_id_{0};
  mergedb::base::BlockCache blocks_;
};

}  // namespace

mergedb::base::BlockCache* BlocksOf(const Cache* cache) { return OwnCaches::Get().Find(cache).value_or(nullptr); }

Cache* NewLRUCache(size_t capacity) { return new ShardedCache(capacity); }

}  // namespace leveldb
