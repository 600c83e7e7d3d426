#include "leveldb/block_keeper.h"

#include "base/coding.h"
#include "leveldb/own_objects.h"

namespace leveldb {
namespace {

using mergedb::base::BlockCache;

constexpr int kFileBits = 40;
bool Fits(uint64_t file) { return file >> kFileBits == 0; }  // no database has made so many files

struct Key {
  Key(uint64_t id, uint64_t offset) {
    mergedb::base::StoreFixed64(bytes, id);
    mergedb::base::StoreFixed64(bytes + 8, offset);
  }
  char bytes[16];
};

void LetGo(const Slice&, void* value) { BlockCache::LetGo(static_cast<BlockCache::Block*>(value)); }

}  // namespace

BlockKeeper::BlockKeeper(Cache* cache)
    : cache_(*cache), own_(BlocksOf(cache)), database_(own_ == nullptr ? 0 : cache->NewId() << kFileBits) {}

uint64_t BlockKeeper::IdOf(uint64_t file) {
  const mergedb::base::Lock lock(mutex_);
  uint64_t& id = ids_[file];
  if (id == 0) id = cache_.NewId() + 1;  // so that 0 is none
  return id - 1;
}

BlockKeeper::Pin BlockKeeper::Find(uint64_t file, uint64_t offset) {
  if (own_ != nullptr) return Fits(file) ? own_->Find(database_ | file, offset) : Pin();
  const Key key(IdOf(file), offset);
  Cache::Handle* const handle = cache_.Lookup({key.bytes, sizeof key.bytes});
  (handle == nullptr ? misses_ : hits_).fetch_add(1, std::memory_order_relaxed);
  if (handle == nullptr) return {};
  auto* const block = static_cast<BlockCache::Block*>(cache_.Value(handle));
  BlockCache::Hold(block);
  cache_.Release(handle);
  return Pin(block);
}

void BlockKeeper::Insert(uint64_t file, uint64_t offset, const Pin& pin) {
  if (own_ != nullptr) {
    if (Fits(file)) own_->Insert(database_ | file, offset, pin);
    return;
  }
  const Key key(IdOf(file), offset);
  BlockCache::Hold(pin.block());
  cache_.Release(cache_.Insert({key.bytes, sizeof key.bytes}, pin.block(), pin.bytes().size(), LetGo));
}

void BlockKeeper::EvictFile(uint64_t file) {
  if (own_ != nullptr) {
    if (Fits(file)) own_->EvictFile(database_ | file);
    return;
  }
  const mergedb::base::Lock lock(mutex_);
  ids_.erase(file);
}

}  // namespace leveldb
