// Goal: databases that share a cache never see each other's blocks, whatever ids the cache hands out in
// between.
#include "leveldb/interface/block_keeper.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "leveldb/cache.h"

namespace leveldb {
namespace {

using mergedb::base::BlockCache;

BlockKeeper::Pin PinOf(std::string_view bytes) {
  BlockKeeper::Pin pin(BlockCache::Allocate(bytes.size()));
  std::memcpy(pin.block()->data(), bytes.data(), bytes.size());
  return pin;
}

TEST(BlockKeeper, FindsWhatItsOwnDatabaseInserted) {
  const std::unique_ptr<Cache> cache(NewLRUCache(1 << 20));
  BlockKeeper first(cache.get()), second(cache.get());
  first.Insert(7, 4096, PinOf("the first one's"));
  second.Insert(7, 8192, PinOf("the second one's"));
  ASSERT_TRUE(first.Find(7, 4096));
  EXPECT_EQ(first.Find(7, 4096).bytes(), "the first one's");
  EXPECT_EQ(second.Find(7, 8192).bytes(), "the second one's");
  EXPECT_FALSE(first.Find(7, 8192));
  EXPECT_FALSE(second.Find(7, 4096));
  first.EvictFile(7);
  EXPECT_FALSE(first.Find(7, 4096));
  EXPECT_TRUE(second.Find(7, 8192));
}

// Symptom: one database shows a block of another. Cause: the keeper keeps 24 bits of the cache's id, which
// also counts tables and the program's own uses.
TEST(BlockKeeper, TellsDatabasesApartAfterManyIds) {
  const std::unique_ptr<Cache> cache(NewLRUCache(1 << 20));
  BlockKeeper first(cache.get());
  first.Insert(7, 4096, PinOf("the first one's"));
  for (int i = 1; i < 1 << 24; ++i) (void)cache->NewId();
  BlockKeeper second(cache.get());
  EXPECT_FALSE(second.Find(7, 4096));
  EXPECT_TRUE(first.Find(7, 4096));
}

}  // namespace
}  // namespace leveldb
