#include "leveldb/interface/block_keeper.h"

#include "base/coding.h"
#include "leveldb/interface/own_objects.h"

namespace leveldb {
namespace {

using mergedb::base::BlockCache;

constexpr int kFileBits = 40;

// WHY not the cache's NewId: opened tables and the program take ids from it too, and the database number has
// only 24 bits.
uint64_t NextDatabase() {
  static std::atomic<uint64_t> databases{0};
  return databases.fetch_add(1, std::memory_order_relaxed);
}

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
    : cache_(*cache), own_(BlocksOf(cache)), database_(own_ == nullptr ? 0 : NextDatabase()) {}

bool BlockKeeper::Fits(uint64_t file) const { return file >> kFileBits == 0 && database_ >> (64 - kFileBits) == 0; }
uint64_t BlockKeeper::OwnId(uint64_t file) const { return database_ << kFileBits | file; }

uint64_t BlockKeeper::IdOf(uint64_t file) {
  const mergedb::base::Lock lock(mutex_);
  uint64_t& id = ids_[file];
  if (id == 0) id = cache_.NewId() + 1;  // 0 means: no id yet
  return id - 1;
}

BlockKeeper::Pin BlockKeeper::Find(uint64_t file, uint64_t offset) {
  if (own_ != nullptr) return Fits(file) ? own_->Find(OwnId(file), offset) : Pin();
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
    if (Fits(file)) own_->Insert(OwnId(file), offset, pin);
    return;
  }
  const Key key(IdOf(file), offset);
  BlockCache::Hold(pin.block());
  cache_.Release(cache_.Insert({key.bytes, sizeof key.bytes}, pin.block(), pin.bytes().size(), LetGo));
}

void BlockKeeper::EvictFile(uint64_t file) {
  if (own_ != nullptr) {
    if (Fits(file)) own_->EvictFile(OwnId(file));
    return;
  }
  const mergedb::base::Lock lock(mutex_);
  ids_.erase(file);
}

}  // namespace leveldb
