// Identifies caches and filter policies that this library made itself. For these the engine uses its own,
// faster implementation.
//
// WHY not a dynamic_cast: the program that owns the object may be compiled without type information.
// THREADS: any.
#pragma once

#include <map>
#include <optional>

#include "base/block_cache.h"
#include "base/fork_safe.h"
#include "base/sync.h"
#include "leveldb/cache.h"
#include "leveldb/filter_policy.h"

namespace leveldb {

// Bits per key of a policy from NewBloomFilterPolicy. Nothing for a program's own policy.
std::optional<int> BitsOf(const FilterPolicy* policy);
// The engine's block cache inside a cache from NewLRUCache. Null for a program's own cache.
mergedb::base::BlockCache* BlocksOf(const Cache* cache);

// One fact about each live object.
template <typename Object, typename Fact>
class OwnObjects {
 public:
  static OwnObjects& Get() { return mergedb::base::ForkSafe<OwnObjects>::Get(); }
  void Add(const Object* object, Fact fact) {
    const mergedb::base::Lock lock(mutex_);
    facts_.insert_or_assign(object, fact);
  }
  void Drop(const Object* object) {
    const mergedb::base::Lock lock(mutex_);
    facts_.erase(object);
  }
  std::optional<Fact> Find(const Object* object) {
    const mergedb::base::Lock lock(mutex_);
    const auto found = facts_.find(object);
    return found == facts_.end() ? std::nullopt : std::optional<Fact>(found->second);
  }

 private:
  friend class mergedb::base::ForkSafe<OwnObjects>;
  void ForgetParentLocked() REQUIRES_LOCK(mutex_) {}

  mergedb::base::Mutex mutex_;
  std::map<const Object*, Fact> facts_ GUARDED_BY(mutex_);
};

}  // namespace leveldb
