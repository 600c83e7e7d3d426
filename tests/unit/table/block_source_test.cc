// Goal: a block comes from the mapping, from the cache or from the file, whichever has it, and is checked once; a
// window reads adjacent blocks in few growing reads. Damage and failed reads are errors of their block, and later reads
// are right. Method: stored blocks in a file whose reads are counted.
#include "table/block_source.h"

#include <gtest/gtest.h>

#include "format/block.h"
#include "testing/status_matchers.h"
#include "tests/unit/table/stored_blocks.h"

namespace mergedb::table {
namespace {

using testing::EqualBlocks;
using ::testing::HasSubstr;
using testing::KeyOfBlock;
using testing::StatusIs;
using testing::StoredBlocks;

constexpr size_t kPage = kDirectIoAlign;

std::string FirstKey(std::string_view raw) {
  format::BlockCursor cursor(testing::Bytewise());
  cursor.Open(format::Block(raw));
  kv::Entry entry;
  cursor.Show(0, &entry);
  return std::string(entry.key);
}

Status Read(const BlockSource& source, uint32_t block, const ReadControl& control = {}) {
  base::BlockCache::Pin pin;
  std::string_view raw;
  RETURN_IF_ERROR(source.Read(block, control, &pin, &raw));
  EXPECT_EQ(FirstKey(raw), KeyOfBlock(block));
  return {};
}

TEST(BlockSource, ReadsABlockOnceAndThenFromTheCache) {
  StoredBlocks blocks(EqualBlocks(3, kPage));
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  for (uint32_t i = 0; i < 6; ++i) ASSERT_OK(Read(source, i % 3));
  EXPECT_EQ(blocks.files.reads, 3u);
}

TEST(BlockSource, WithoutACacheOrUnlessItMayFillItReadsEachTime) {
  StoredBlocks blocks(EqualBlocks(1, kPage));
  base::BlockCache cache(1 << 20);
  const BlockSource cached = blocks.Source(&cache), alone = blocks.Source(nullptr);
  for (int i = 0; i < 2; ++i) ASSERT_OK(Read(cached, 0, {.fill_cache = false}));
  EXPECT_EQ(blocks.files.reads, 2u);
  EXPECT_EQ(cache.bytes(), 0u);
  for (int i = 0; i < 2; ++i) ASSERT_OK(Read(alone, 0));
  EXPECT_EQ(blocks.files.reads, 4u);
}

TEST(BlockSource, CachesCompressedBlocksAsTheyAreShown) {
  StoredBlocks blocks(EqualBlocks(2, 4 * kPage), Compression::kLz4);
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  ASSERT_LT(source.index.stored_bytes(1), kPage);
  for (int i = 0; i < 2; ++i) ASSERT_OK(Read(source, 1));
  EXPECT_EQ(blocks.files.reads, 1u);
  EXPECT_GT(cache.Find(7, source.index.offset(1)).bytes().size(), 3 * kPage);
}

TEST(BlockSource, DamageIsAnErrorWithFileAndOffset) {
  StoredBlocks blocks(EqualBlocks(3, kPage));
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  blocks.Damage(source, 1);
  EXPECT_THAT(Read(source, 1), StatusIs(Code::kCorruption, HasSubstr("7.tbl: block at 4096")));
  EXPECT_FALSE(source.FindCached(1));
  EXPECT_OK(Read(source, 0));
  EXPECT_OK(Read(source, 2));
}

TEST(BlockSource, ABlockThatIsCutShortIsCorruption) {
  StoredBlocks blocks(EqualBlocks(2, kPage));
  const BlockSource source = blocks.Source(nullptr);
  blocks.files.bytes(testing::kBlocksPath).resize(2 * kPage - 1);
  EXPECT_OK(Read(source, 0));
  EXPECT_THAT(Read(source, 1), StatusIs(Code::kCorruption, HasSubstr("ends at 8191, expected at least 8192")));
}

TEST(BlockSource, WhatWasNotVerifiedIsCachedOnlyIfItIsWhole) {
  StoredBlocks blocks(EqualBlocks(2, kPage));
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  blocks.Damage(source, 0);  // of its checksum: the entries are right
  const ReadControl unverified{.verify_checksums = false};
  EXPECT_OK(Read(source, 0, unverified));
  EXPECT_OK(Read(source, 1, unverified));
  EXPECT_FALSE(source.FindCached(0));
  EXPECT_TRUE(source.FindCached(1));
  EXPECT_THAT(Read(source, 0), StatusIs(Code::kCorruption));
}

TEST(MappedBlockSource, ShowsCheckedBlocksWhereTheyLie) {
  StoredBlocks blocks(EqualBlocks(2, kPage));
  const BlockSource source = blocks.Source(nullptr, /*is_mapped=*/true);
  EXPECT_TRUE(source.FindMapped(1).empty());
  base::BlockCache::Pin pin;
  std::string_view raw;
  ASSERT_OK(source.Read(1, {.verify_checksums = false}, &pin, &raw));
  EXPECT_TRUE(source.FindMapped(1).empty()) << "a read without checksums checks nothing";
  ASSERT_OK(source.Read(1, {}, &pin, &raw));
  EXPECT_FALSE(pin);
  EXPECT_EQ(raw.data(), source.mapping->data() + kPage);
  EXPECT_EQ(source.FindMapped(1).data(), raw.data());
  EXPECT_EQ(source.FindMapped(1).size(), raw.size());
  EXPECT_TRUE(source.FindMapped(0).empty());
  EXPECT_EQ(blocks.files.reads, 0u);
}

TEST(MappedBlockSource, CachesCompressedBlocks) {
  StoredBlocks blocks(EqualBlocks(2, 4 * kPage), Compression::kLz4);
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache, /*is_mapped=*/true);
  ASSERT_OK(Read(source, 0));
  EXPECT_TRUE(source.FindMapped(0).empty());
  EXPECT_TRUE(source.FindCached(0));
  EXPECT_EQ(blocks.files.reads, 0u);
}

TEST(MappedBlockSource, DamageIsAnErrorEachTime) {
  StoredBlocks blocks(EqualBlocks(2, kPage));
  const BlockSource source = blocks.Source(nullptr, /*is_mapped=*/true);
  blocks.Damage(source, 0);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Read(source, 0), StatusIs(Code::kCorruption, HasSubstr("block at 0")));
  EXPECT_OK(Read(source, 1));
}

class BlockWindowTest : public ::testing::Test {
 protected:
  void Make(size_t count, size_t stored_bytes, Compression codec = Compression::kNone) {
    blocks_.emplace(EqualBlocks(count, stored_bytes), codec);
    source_.emplace(blocks_->Source(nullptr));
  }
  Status Read(BlockWindow* window, uint32_t block) {
    std::string_view raw;
    RETURN_IF_ERROR(window->Read(block, &raw));
    EXPECT_EQ(FirstKey(raw), KeyOfBlock(block));
    return {};
  }
  uint64_t reads() const { return blocks_->files.reads; }

  std::optional<StoredBlocks> blocks_;
  std::optional<BlockSource> source_;
};

TEST_F(BlockWindowTest, DoublesItsReadsUpToTheMaximum) {
  Make(16, kPage);
  BlockWindow window(*source_, source_->file.get(), {.bytes_first = kPage, .bytes_max = 4 * kPage, .verify = true});
  std::vector<uint64_t> reads_after;
  for (uint32_t i = 0; i < 16; ++i) {
    ASSERT_OK(Read(&window, i));
    reads_after.push_back(reads());
  }
  EXPECT_EQ(reads_after, (std::vector<uint64_t>{1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6}));
}

TEST_F(BlockWindowTest, ReadsBackwardAndHintsAtItsNextRead) {
  Make(16, kPage);
  BlockWindow window(*source_, source_->file.get(), {.bytes_first = kPage, .bytes_max = 4 * kPage, .verify = true});
  std::vector<uint64_t> reads_after;
  for (uint32_t i = 16; i-- > 0;) {
    std::string_view raw;
    ASSERT_OK(window.Read(i, &raw, BlockWindow::Direction::kBackward));
    EXPECT_EQ(FirstKey(raw), KeyOfBlock(i));
    reads_after.push_back(reads());
  }
  EXPECT_EQ(reads_after, (std::vector<uint64_t>{1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6}));
  EXPECT_EQ(blocks_->files.hinted_reads, 5u) << "all but the first";
}

TEST_F(BlockWindowTest, ReadsABlockThatIsLargerThanARead) {
  Make(3, 3 * kPage + 100);
  BlockWindow window(*source_, source_->file.get(), {.bytes_first = kPage, .bytes_max = kPage, .verify = true});
  for (uint32_t i = 0; i < 3; ++i) ASSERT_OK(Read(&window, i));
  EXPECT_EQ(reads(), 3u);
  for (uint32_t i = 3; i-- > 0;) {
    std::string_view raw;
    ASSERT_OK(window.Read(i, &raw, BlockWindow::Direction::kBackward));
    EXPECT_EQ(FirstKey(raw), KeyOfBlock(i));
  }
}

TEST_F(BlockWindowTest, ReadsAnyBlockNext) {
  Make(8, kPage + 10);
  BlockWindow window(*source_, source_->file.get(), {.bytes_first = 2 * kPage, .bytes_max = 2 * kPage, .verify = true});
  for (const uint32_t block : {5, 4, 7, 0, 1, 7, 7}) ASSERT_OK(Read(&window, block)) << block;
}

TEST_F(BlockWindowTest, AFailedReadIsForgotten) {
  Make(8, kPage);
  BlockWindow window(*source_, source_->file.get(), {.bytes_first = kPage, .bytes_max = kPage, .verify = true});
  ASSERT_OK(Read(&window, 0));
  blocks_->files.reads_left = 0;
  EXPECT_THAT(Read(&window, 4), StatusIs(Code::kIOError, HasSubstr("7.tbl: block at 16384")));
  blocks_->files.reads_left = 10;
  ASSERT_OK(Read(&window, 0));
  EXPECT_EQ(reads(), 3u) << "after a failure nothing of the window counts";
  EXPECT_OK(Read(&window, 4));
}

TEST_F(BlockWindowTest, DamageIsNoticedUnlessAskedNot) {
  Make(2, kPage);
  BlockWindow verifies(*source_, source_->file.get(), {.bytes_first = kPage, .bytes_max = kPage, .verify = true});
  BlockWindow trusts(*source_, source_->file.get(), {.bytes_first = kPage, .bytes_max = kPage, .verify = false});
  blocks_->Damage(*source_, 1);  // of its checksum
  EXPECT_THAT(Read(&verifies, 1), StatusIs(Code::kCorruption, HasSubstr("block at 4096")));
  EXPECT_OK(Read(&verifies, 0));
  EXPECT_OK(Read(&trusts, 1));
}

TEST_F(BlockWindowTest, ACutFileIsCorruptionOfTheBlockThatIsCut) {
  Make(2, kPage);
  BlockWindow window(*source_, source_->file.get(), {.bytes_first = 8 * kPage, .bytes_max = 8 * kPage, .verify = true});
  blocks_->files.bytes(testing::kBlocksPath).resize(2 * kPage - 1);
  EXPECT_OK(Read(&window, 0));
  EXPECT_THAT(Read(&window, 1), StatusIs(Code::kCorruption, HasSubstr("ends at 8191, expected at least 8192")));
}

TEST_F(BlockWindowTest, DecompressesInMemoryThatItUsesAgain) {
  Make(6, 5 * kPage, Compression::kLz4);
  BlockWindow window(*source_, source_->file.get(), {.bytes_first = kPage, .bytes_max = kPage, .verify = true});
  for (const uint32_t block : {0, 1, 2, 5, 0}) ASSERT_OK(Read(&window, block)) << block;
}

}  // namespace
}  // namespace mergedb::table
