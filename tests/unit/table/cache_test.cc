// Goal: the table cache opens each table once, keeps at most its limit of tables, and closes no table that is
// in use.
#include "table/cache.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "env/descriptors.h"
#include "format/file_name.h"
#include "tests/unit/table/table_rows.h"

namespace mergedb::table {
namespace {

using testing::Bytewise;
using testing::MemoryFiles;

class CacheTest : public ::testing::Test {
 protected:
  format::FileMetaPtr Make(uint64_t number) {
    const std::string path = format::TablePath("dir", kv::FileNumber{number});
    auto writer = Writer::Create(&files_, path, kv::FileNumber{number}, number, Bytewise(), {});
    const std::string value = "value of " + std::to_string(number);
    EXPECT_TRUE((*writer)->Add({.prefix = base::Prefix8("key"), .key = "key", .tag = 1 << 8 | 1, .value = value}).ok());
    return *(*writer)->Finish();
  }
  std::string Read(Cache& cache, const format::FileMetaPtr& meta) {
    auto reader = cache.Open(meta);
    if (!reader) return reader.status().ToString();
    Found found;
    const Status status = (*reader)->Get("key", kv::kSequenceMax, {}, &found);
    return status.ok() ? std::string(found.value) : status.ToString();
  }

  MemoryFiles files_;
  base::BlockCache blocks_{1 << 20};
};

TEST_F(CacheTest, OpensEachTableOnce) {
  const auto cache = Cache::New(&files_, "dir", Bytewise(), &blocks_, 100);
  const auto seven = Make(7), eight = Make(8);
  files_.opens = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Read(*cache, seven), "value of 7");
    EXPECT_EQ(Read(*cache, eight), "value of 8");
  }
  EXPECT_EQ(files_.opens, 2u);
  EXPECT_EQ(cache->open_tables(), 2u);
  EXPECT_GT(cache->memory_bytes(), 0u);
}

TEST_F(CacheTest, KeepsAtMostItsNumberOfTables) {
  const auto cache = Cache::New(&files_, "dir", Bytewise(), &blocks_, 40);
  std::vector<format::FileMetaPtr> metas;
  for (uint64_t number = 1; number <= 100; ++number) metas.push_back(Make(number));
  for (int round = 0; round < 2; ++round) {
    for (const auto& meta : metas) ASSERT_EQ(Read(*cache, meta), "value of " + std::to_string(ToInt(meta->number)));
  }
  EXPECT_LE(cache->open_tables(), 40u);
  EXPECT_GE(cache->open_tables(), 30u);
}

TEST_F(CacheTest, ClosesATableFirstThatWasNotUsedAgain) {
  const auto cache = Cache::New(&files_, "dir", Bytewise(), &blocks_, 16);
  std::vector<format::FileMetaPtr> metas;
  for (uint64_t number = 1; number <= 17; ++number) metas.push_back(Make(number));
  for (size_t i = 0; i < 16; ++i) (void)Read(*cache, metas[i]);
  (void)Read(*cache, metas[0]);   // table 1 is used again,
  (void)Read(*cache, metas[16]);  // so table 17 displaces another one
  files_.opens = 0;
  (void)Read(*cache, metas[0]);
  (void)Read(*cache, metas[16]);
  EXPECT_EQ(files_.opens, 0u);
  EXPECT_EQ(cache->open_tables(), 16u);
}

TEST_F(CacheTest, LeavesATableInUseAlone) {
  const auto cache = Cache::New(&files_, "dir", Bytewise(), &blocks_, 100);
  const auto meta = Make(7);
  const auto held = *cache->Open(meta);
  cache->Evict(meta->number);
  EXPECT_EQ(cache->open_tables(), 0u);
  Found found;
  EXPECT_TRUE(held->Get("key", kv::kSequenceMax, {}, &found).ok());
}

TEST_F(CacheTest, ForgetsTheBlocksOfAnEvictedTable) {
  const auto cache = Cache::New(&files_, "dir", Bytewise(), &blocks_, 100);
  const auto meta = Make(7);
  EXPECT_EQ(Read(*cache, meta), "value of 7");
  EXPECT_GT(blocks_.bytes(), 0u);
  cache->Evict(meta->number);
  EXPECT_EQ(blocks_.bytes(), 0u);
}

TEST_F(CacheTest, GivesBackIdleTablesWhenDescriptorsRunOut) {
  const auto cache = Cache::New(&files_, "dir", Bytewise(), &blocks_, 100);
  const auto seven = Make(7), eight = Make(8);
  const auto held = *cache->Open(seven);
  EXPECT_EQ(Read(*cache, eight), "value of 8");
  env::CloseIdleFiles();
  EXPECT_EQ(cache->open_tables(), 1u) << "8 was idle";
  EXPECT_EQ(Read(*cache, eight), "value of 8");
}

TEST_F(CacheTest, PassesOnWhatIsWrongWithATable) {
  const auto cache = Cache::New(&files_, "dir", Bytewise(), &blocks_, 100);
  const auto meta = Make(7);
  files_.bytes("dir/000007.tbl").resize(100);
  EXPECT_TRUE(cache->Open(meta).status().IsCorruption());
  ASSERT_TRUE(files_.Remove("dir/000007.tbl").ok());
  const Status missing = cache->Open(meta).status();
  EXPECT_TRUE(missing.IsIOError()) << "a missing file must not pass for a missing key";
  EXPECT_EQ(missing.message().rfind("dir/000007.tbl"), 0u) << "the path once: " << missing.ToString();
  EXPECT_EQ(cache->open_tables(), 0u);
}

}  // namespace
}  // namespace mergedb::table
