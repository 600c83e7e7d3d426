// Goal: a compaction's scan shows all entries forwards, past the page cache if the table is large, and ends at the first
// damage, which it always notices. Method: stored blocks, just as many as fit into a buffered read, and one more; damaged
// blocks; a file that cannot be opened.
#include "table/scan_iterator.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "tests/unit/table/stored_blocks.h"

namespace mergedb::table {
namespace {

using testing::EqualBlocks;
using testing::KeyOfBlock;
using testing::PutRow;
using testing::StatusIs;
using testing::StoredBlocks;

constexpr size_t kBlocksBuffered = (256 << 10) / kDirectIoAlign;

size_t Walk(kv::Iterator* it) {
  size_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) EXPECT_EQ(it->entry().key, KeyOfBlock(count++));
  return count;
}

TEST(TableScan, ReadsASmallTableAtOnceThroughItsOpenFile) {
  StoredBlocks blocks(EqualBlocks(kBlocksBuffered, kDirectIoAlign));
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  const auto it = NewScanIterator(source);
  EXPECT_EQ(Walk(it.get()), kBlocksBuffered);
  EXPECT_EQ(blocks.files.reads, 1u);
  EXPECT_EQ(blocks.files.direct_opens, 0u);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(TableScan, OpensALargerTableOnceForDirectReads) {
  StoredBlocks blocks(EqualBlocks(kBlocksBuffered + 1, kDirectIoAlign));
  const BlockSource source = blocks.Source(nullptr);
  const auto it = NewScanIterator(source);
  EXPECT_EQ(blocks.files.direct_opens, 0u) << "opens at its first use";
  EXPECT_EQ(Walk(it.get()), kBlocksBuffered + 1);
  EXPECT_EQ(Walk(it.get()), kBlocksBuffered + 1);
  EXPECT_EQ(blocks.files.direct_opens, 1u);
  EXPECT_EQ(blocks.files.reads, 1u) << "one read has all of it, and still has at the second pass";
}

TEST(TableScan, SeeksToVersionsThatGoOnInLaterBlocks) {
  StoredBlocks blocks({{PutRow("a", 1, "")}, {PutRow("k", 9, ""), PutRow("k", 7, "")}, {PutRow("k", 5, "")}});
  const BlockSource source = blocks.Source(nullptr);
  const auto it = NewScanIterator(source);
  const auto found = [&](std::string_view key, kv::Sequence sequence) {
    it->Seek(key, kv::SeekTag(sequence));
    return it->Valid() ? kv::PrintKey(it->entry().key, it->entry().tag) : "none";
  };
  EXPECT_EQ(found("b", 1), "k#9,PUT");
  EXPECT_EQ(found("k", 8), "k#7,PUT");
  EXPECT_EQ(found("k", 6), "k#5,PUT");
  EXPECT_EQ(found("k", 4), "none");
  EXPECT_EQ(found("l", 9), "none");
  EXPECT_OK(it->status());
}

TEST(TableScan, EndsAtDamageThatItAlwaysNotices) {
  StoredBlocks blocks(EqualBlocks(5, kDirectIoAlign));
  const BlockSource source = blocks.Source(nullptr);
  blocks.Damage(source, 3);  // of its checksum: the entries are right
  const auto it = NewScanIterator(source);
  EXPECT_EQ(Walk(it.get()), 3u);
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption, ::testing::HasSubstr("block at 12288")));
  it->Seek(KeyOfBlock(3), kv::kTagMax);
  EXPECT_FALSE(it->Valid());
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption));
  it->Seek(KeyOfBlock(4), kv::kTagMax);
  EXPECT_TRUE(it->Valid());
  EXPECT_OK(it->status());
}

TEST(TableScan, AFileThatCannotBeOpenedIsAnErrorUntilItCan) {
  StoredBlocks blocks(EqualBlocks(kBlocksBuffered + 1, kDirectIoAlign));
  const BlockSource source = blocks.Source(nullptr);
  const std::string bytes = blocks.files.bytes(testing::kBlocksPath);
  ASSERT_OK(blocks.files.Remove(testing::kBlocksPath));
  const auto it = NewScanIterator(source);
  EXPECT_EQ(Walk(it.get()), 0u);
  EXPECT_FALSE(it->status().ok());
  it->Seek("", kv::kTagMax);
  EXPECT_FALSE(it->Valid());
  EXPECT_FALSE(it->status().ok());
  ASSERT_OK(blocks.files.Open(testing::kBlocksPath, {.access = Access::kCreate}));
  blocks.files.bytes(testing::kBlocksPath) = bytes;
  EXPECT_EQ(Walk(it.get()), kBlocksBuffered + 1);
  EXPECT_OK(it->status());
}

}  // namespace
}  // namespace mergedb::table
