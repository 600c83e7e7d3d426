// Goal: a compaction's scan shows all entries forwards, past the page cache if the table is large, and ends at the
// first damage, which it always notices. Method: stored blocks, just as many as fit into a buffered read, and one more;
// damaged blocks; a file that cannot be opened.
#include "table/scan_iterator.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

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

size_t Walk(kv::ForwardIterator* it) {
  size_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) EXPECT_EQ(it->entry().key, KeyOfBlock(count++));
  return count;
}

TEST(TableScan, ReadsASmallTableAtOnceThroughItsOpenFile) {
  StoredBlocks blocks(EqualBlocks(kBlocksBuffered, kDirectIoAlign));
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  const auto it = NewScanIterator(source, std::nullopt);
  EXPECT_EQ(Walk(it.get()), kBlocksBuffered);
  EXPECT_EQ(blocks.files.reads, 1u);
  EXPECT_EQ(blocks.files.direct_opens, 0u);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(TableScan, OpensALargerTableOnceForDirectReads) {
  StoredBlocks blocks(EqualBlocks(kBlocksBuffered + 1, kDirectIoAlign));
  const BlockSource source = blocks.Source(nullptr);
  const auto it = NewScanIterator(source, std::nullopt);
  EXPECT_EQ(blocks.files.direct_opens, 0u) << "opens at its first use";
  EXPECT_EQ(Walk(it.get()), kBlocksBuffered + 1);
  EXPECT_EQ(Walk(it.get()), kBlocksBuffered + 1);
  EXPECT_EQ(blocks.files.direct_opens, 1u);
  EXPECT_EQ(blocks.files.reads, 1u) << "one read has all of it, and still has at the second pass";
}

TEST(TableScan, BeginsAtTheNewestVersionOfItsLowerKey) {
  StoredBlocks blocks({{PutRow("a", 1, "")}, {PutRow("k", 9, ""), PutRow("k", 7, "")}, {PutRow("k", 5, "")}});
  const BlockSource source = blocks.Source(nullptr);
  const auto first = [&](std::optional<std::string> lower) {
    const auto it = NewScanIterator(source, std::move(lower));
    it->SeekToFirst();
    EXPECT_OK(it->status());
    return it->Valid() ? kv::PrintKey(it->entry().key, it->entry().tag) : "none";
  };
  EXPECT_EQ(first(std::nullopt), "a#1,PUT");
  EXPECT_EQ(first(""), "a#1,PUT");
  EXPECT_EQ(first("b"), "k#9,PUT");
  EXPECT_EQ(first("k"), "k#9,PUT");
  EXPECT_EQ(first("l"), "none");
}

TEST(TableScan, EndsAtDamageThatItAlwaysNotices) {
  StoredBlocks blocks(EqualBlocks(5, kDirectIoAlign));
  const BlockSource source = blocks.Source(nullptr);
  blocks.Damage(source, 3);  // of its checksum: the entries are right
  const auto it = NewScanIterator(source, std::nullopt);
  EXPECT_EQ(Walk(it.get()), 3u);
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption, ::testing::HasSubstr("block at 12288")));
  const auto behind = NewScanIterator(source, KeyOfBlock(4));
  behind->SeekToFirst();
  EXPECT_TRUE(behind->Valid());
  EXPECT_OK(behind->status());
}

// Two scans around the damage that the first scan tells of.
TEST(TableScan, TellsOfTheKeysThatItCannotReadAndReadsTheOthers) {
  StoredBlocks blocks(EqualBlocks(5, kDirectIoAlign));
  const BlockSource source = blocks.Source(nullptr);
  blocks.Damage(source, 2);
  format::Bounds unreadable;
  const auto it = NewScanIterator(source, std::nullopt, {.unreadable = &unreadable});
  EXPECT_EQ(Walk(it.get()), 2u);
  ASSERT_TRUE(unreadable.lower && unreadable.upper);
  EXPECT_LE(*unreadable.lower, KeyOfBlock(2));
  EXPECT_GT(*unreadable.lower, KeyOfBlock(1));
  EXPECT_GT(*unreadable.upper, KeyOfBlock(2));
  EXPECT_LE(*unreadable.upper, KeyOfBlock(3));

  const auto before = NewScanIterator(source, std::nullopt, {.upper = unreadable.lower});
  EXPECT_EQ(Walk(before.get()), 2u);
  EXPECT_OK(before->status());
  const auto behind = NewScanIterator(source, unreadable.upper);
  size_t count = 3;
  for (behind->SeekToFirst(); behind->Valid(); behind->Next()) EXPECT_EQ(behind->entry().key, KeyOfBlock(count++));
  EXPECT_OK(behind->status());
  EXPECT_EQ(count, 5u);
}

// The versions of one key fill several blocks, so a fence is above a key of the block behind it.
TEST(TableScan, TheVersionsOfAKeyThatGoesOnInADamagedBlockAreUnreadableTogether) {
  StoredBlocks blocks({{PutRow("a", 1, ""), PutRow("k", 9, "")}, {PutRow("k", 7, "")}, {PutRow("l", 5, "")}});
  const BlockSource source = blocks.Source(nullptr);
  blocks.Damage(source, 1);
  format::Bounds unreadable;
  const auto it = NewScanIterator(source, std::nullopt, {.unreadable = &unreadable});
  it->SeekToFirst();
  it->Next();
  it->Next();
  EXPECT_FALSE(it->status().ok());
  EXPECT_EQ(unreadable.lower, "k");
  EXPECT_EQ(unreadable.upper, "l");
  // All versions of the keys below a bound are read, also if they go on behind a fence.
  const auto whole = NewScanIterator(source, std::nullopt, {.upper = std::string("k\0", 2)});
  size_t count = 0;
  for (whole->SeekToFirst(); whole->Valid(); whole->Next()) ++count;
  EXPECT_EQ(count, 2u);
  EXPECT_THAT(whole->status(), StatusIs(Code::kCorruption));
  const auto before = NewScanIterator(source, std::nullopt, {.upper = "k"});
  for (before->SeekToFirst(); before->Valid() && before->entry().key < "k";) before->Next();
  EXPECT_OK(before->status());
}

TEST(TableScan, AFileThatCannotBeOpenedIsAnErrorUntilItCan) {
  StoredBlocks blocks(EqualBlocks(kBlocksBuffered + 1, kDirectIoAlign));
  const BlockSource source = blocks.Source(nullptr);
  const std::string bytes = blocks.files.bytes(testing::kBlocksPath);
  ASSERT_OK(blocks.files.Remove(testing::kBlocksPath));
  const auto it = NewScanIterator(source, std::nullopt);
  EXPECT_EQ(Walk(it.get()), 0u);
  EXPECT_FALSE(it->status().ok());
  ASSERT_OK(blocks.files.Open(testing::kBlocksPath, {.access = Access::kCreate}));
  blocks.files.bytes(testing::kBlocksPath) = bytes;
  EXPECT_EQ(Walk(it.get()), kBlocksBuffered + 1);
  EXPECT_OK(it->status());
}

}  // namespace
}  // namespace mergedb::table
