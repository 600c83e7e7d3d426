// Goal: the cache opens each blob file once and keeps it. It closes files if there are too many or if
// descriptors run out, and forgets a file on request.
#include "blob/cache.h"

#include "env/descriptors.h"
#include "tests/unit/blob/blob_rows.h"

namespace mergedb::blob {
namespace {

using testing::BytewiseOrder;
using testing::MemoryFiles;
using testing::SomeValues;
using testing::WriteValues;

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t number = 1; number <= 100; ++number) {
      auto rows = SomeValues(3, 100);
      metas_.push_back(WriteValues(&files_, number, &rows));
    }
    files_.opens = 0;
  }
  MemoryFiles files_;
  std::vector<format::BlobFilePtr> metas_;
};

TEST_F(CacheTest, OpensAFileOnceAndKeepsAtMostSoMany) {
  Cache cache(&files_, "", BytewiseOrder(), nullptr, 16);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(cache.Open(*metas_[0]).has_value());
  EXPECT_EQ(files_.opens, 1u);
  for (const auto& meta : metas_) ASSERT_TRUE(cache.Open(*meta).has_value());
  EXPECT_EQ(cache.open_files(), 16u);
}

TEST_F(CacheTest, ClosesIdleFilesWhenDescriptorsRunOut) {
  Cache cache(&files_, "", BytewiseOrder(), nullptr, 100);
  auto held = cache.Open(*metas_[0]);
  for (int i = 1; i < 10; ++i) ASSERT_TRUE(cache.Open(*metas_[static_cast<size_t>(i)]).has_value());
  env::CloseIdleFiles();
  EXPECT_EQ(cache.open_files(), 1u) << "the one in use";
  EXPECT_TRUE(cache.Open(*metas_[5]).has_value());
}

TEST_F(CacheTest, AFileThatIsGoneIsNoMissingKey) {
  Cache cache(&files_, "", BytewiseOrder(), nullptr, 16);
  format::BlobFileMeta gone = *metas_[0];
  gone.number = kv::FileNumber{999};
  const auto opened = cache.Open(gone);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), Code::kIOError) << opened.error().ToString();
  EXPECT_NE(opened.error().message().find("000999.val"), std::string_view::npos) << opened.error().ToString();
}

TEST_F(CacheTest, ForgetsAFileAndItsValues) {
  base::BlockCache blocks(1 << 20);
  Cache cache(&files_, "", BytewiseOrder(), &blocks, 100);
  auto rows = SomeValues(3, 100);
  const auto meta = WriteValues(&files_, 200, &rows);
  auto reader = cache.Open(*meta);
  Found found;
  ASSERT_TRUE((*reader)->Get(rows[1].reference, rows[1].key, {}, &found).ok());
  EXPECT_TRUE(blocks.Find(200, rows[1].reference.offset));
  cache.Evict(meta->number);
  EXPECT_FALSE(blocks.Find(200, rows[1].reference.offset));
  EXPECT_EQ(cache.open_files(), 0u);
}

}  // namespace
}  // namespace mergedb::blob
