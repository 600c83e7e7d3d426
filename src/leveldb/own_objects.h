// Which of the objects that programs hand in this library made itself: the engine then does the work in its own, faster way.
//
// WHY not a dynamic_cast: a program that was compiled without type information may own the object.
// THREADS: any.
#pragma once

#include <pthread.h>

#include <map>
#include <optional>

#include "base/block_cache.h"
#include "base/sync.h"
#include "leveldb/cache.h"
#include "leveldb/filter_policy.h"

namespace leveldb {

// Bits per key of a policy that NewBloomFilterPolicy made; nothing for a program's own.
std::optional<int> BitsOf(const FilterPolicy* policy);
// Where a cache that NewLRUCache made keeps the engine's blocks; null for a program's own.
mergedb::base::BlockCache* BlocksOf(const Cache* cache);

// What is known of each. Never destroyed: objects may outlive main. The lock is held across a fork: the child has none of the threads
// that could unlock it there.
template <typename Object, typename Fact>
class OwnObjects {
 public:
  static OwnObjects& Get() {
    static auto* const all = [] {
      static auto* made = new OwnObjects;
      pthread_atfork([] { made->mutex_.lock(); }, [] { made->mutex_.unlock(); }, [] { made->mutex_.unlock(); });
      return made;
    }();
    return *all;
  }
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
  mergedb::base::Mutex mutex_;
  std::map<const Object*, Fact> facts_ GUARDED_BY(mutex_);
};

}  // namespace leveldb
