// A map from keys to values with a bounded sum of charges: what is not in use goes, least recently used first. A
// program may supply its own. THREADS: all methods, any thread.
#ifndef STORAGE_LEVELDB_INCLUDE_CACHE_H_
#define STORAGE_LEVELDB_INCLUDE_CACHE_H_

#include <cstddef>
#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/slice.h"

namespace leveldb {

class LEVELDB_EXPORT Cache;

// Holds entries with charges up to `capacity` together, but for those in use.
LEVELDB_EXPORT Cache* NewLRUCache(size_t capacity);

class LEVELDB_EXPORT Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  virtual ~Cache();  // gives each entry to its deleter

  struct Handle {};  // an entry in use; what it is made of is the cache's affair

  // Map `key` to `value`; `deleter` gets both when nobody needs the entry any more. Returns a handle to be released.
  virtual Handle* Insert(const Slice& key, void* value, size_t charge,
                         void (*deleter)(const Slice& key, void* value)) = 0;
  // A handle to be released, or null.
  virtual Handle* Lookup(const Slice& key) = 0;
  // REQUIRES: the handle came from this cache and was not released yet.
  virtual void Release(Handle* handle) = 0;
  virtual void* Value(Handle* handle) = 0;
  // Forget the key; its entry stays until the last handle is released.
  virtual void Erase(const Slice& key) = 0;
  // A number never returned before: users of one cache tell their keys apart by it.
  virtual uint64_t NewId() = 0;
  // Forget what is not in use.
  virtual void Prune() {}
  // Of all entries, about.
  virtual size_t TotalCharge() const = 0;

 private:
  struct Rep;
  Rep* rep_ = nullptr;  // never used: part of the layout that programs were compiled against
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_CACHE_H_
