// Goal: a table's iterator goes over blocks in both directions; adjacent misses become large reads that leave the cache
// alone; a block that cannot be read ends it, or is skipped on request. Method: stored blocks, some damaged, in a file
// whose reads are counted. reader_test.cc checks the contract of iterators.
#include "table/iterator.h"

#include <gtest/gtest.h>

#include <array>

#include "testing/status_matchers.h"
#include "tests/unit/table/stored_blocks.h"

namespace mergedb::table {
namespace {

using testing::EqualBlocks;
using testing::KeyOfBlock;
using testing::PutRow;
using testing::StatusIs;
using testing::StoredBlocks;

std::string At(const kv::Iterator& it) {
  return it.Valid() ? std::string(it.entry().key) + "#" + std::to_string(kv::SequenceOf(it.entry().tag)) : "none";
}

std::string Forward(kv::Iterator* it) {
  std::string shown;
  for (it->SeekToFirst(); it->Valid(); it->Next()) shown += At(*it) + " ";
  return shown;
}

std::string Backward(kv::Iterator* it) {
  std::string shown;
  for (it->SeekToLast(); it->Valid(); it->Prev()) shown += At(*it) + " ";
  return shown;
}

// Blocks of two entries: a b | c d | e f | g h
StoredBlocks::Blocks Letters() {
  StoredBlocks::Blocks blocks;
  for (char c = 'a'; c <= 'h'; c += 2)
    blocks.push_back({PutRow(std::string(1, c), 1, "v"), PutRow(std::string(1, static_cast<char>(c + 1)), 1, "v")});
  return blocks;
}

TEST(TableBlocksIterator, GoesOverBlocksInBothDirections) {
  StoredBlocks blocks(Letters());
  const BlockSource source = blocks.Source(nullptr);
  const auto it = NewIterator(source, {}, nullptr);
  EXPECT_EQ(Forward(it.get()), "a#1 b#1 c#1 d#1 e#1 f#1 g#1 h#1 ");
  EXPECT_EQ(Backward(it.get()), "h#1 g#1 f#1 e#1 d#1 c#1 b#1 a#1 ");
  EXPECT_OK(it->status());
}

TEST(TableBlocksIterator, FindsVersionsThatGoOnInLaterBlocks) {
  StoredBlocks blocks({{PutRow("a", 1, ""), PutRow("k", 9, "")},
                       {PutRow("k", 7, ""), PutRow("k", 5, "")},
                       {PutRow("k", 3, ""), PutRow("m", 1, "")}});
  const BlockSource source = blocks.Source(nullptr);
  const auto it = NewIterator(source, {}, nullptr);
  const std::array<const char*, 11> wanted = {"m#1", "m#1", "m#1", "k#3", "k#3", "k#5",
                                              "k#5", "k#7", "k#7", "k#9", "k#9"};
  for (kv::Sequence sequence = 0; sequence < wanted.size(); ++sequence) {
    it->Seek("k", kv::SeekTag(sequence));
    EXPECT_EQ(At(*it), wanted[sequence]) << sequence;
  }
  it->Seek("m", kv::SeekTag(0));
  EXPECT_EQ(At(*it), "none");
  EXPECT_OK(it->status());
}

TEST(TableBlocksIterator, LooksAheadToTheEndOfItsBlock) {
  StoredBlocks blocks(
      {{PutRow("a", 1, ""), PutRow("b", 2, ""), PutRow("c", 3, ""), PutRow("d", 4, "")}, {PutRow("e", 5, "")}});
  const BlockSource source = blocks.Source(nullptr);
  const auto it = NewIterator(source, {}, nullptr);
  std::array<kv::Entry, 8> ahead;
  it->SeekToFirst();
  EXPECT_EQ(it->LookAhead(std::span(ahead).first(2)), 2u);
  EXPECT_EQ(ahead[1].key, "c");
  EXPECT_EQ(it->LookAhead(ahead), 3u);
  EXPECT_EQ(ahead[2].key, "d");
  it->Skip(3);
  EXPECT_EQ(At(*it), "d#4");
  EXPECT_EQ(it->LookAhead(ahead), 0u);
  it->Next();
  EXPECT_EQ(At(*it), "e#5");
}

TEST(TableBlocksIterator, FromTheThirdAdjacentMissOnReadsMuchAndCachesNothing) {
  StoredBlocks blocks(EqualBlocks(16, kDirectIoAlign));
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  const auto it = NewIterator(source, {}, nullptr);
  std::vector<uint64_t> reads_after;
  for (it->SeekToFirst(); it->Valid(); it->Next()) reads_after.push_back(blocks.files.reads);
  // The first read of a scan has 8 of these blocks, the second one 16.
  EXPECT_EQ(reads_after, (std::vector<uint64_t>{1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4}));
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(bool(source.FindCached(i)), i < 2) << i;
}

TEST(TableBlocksIterator, BackwardToo) {
  StoredBlocks blocks(EqualBlocks(16, kDirectIoAlign));
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  const auto it = NewIterator(source, {}, nullptr);
  std::vector<uint64_t> reads_after;
  for (it->SeekToLast(); it->Valid(); it->Prev()) reads_after.push_back(blocks.files.reads);
  EXPECT_EQ(reads_after, (std::vector<uint64_t>{1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4}));
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(bool(source.FindCached(i)), i >= 14) << i;
}

TEST(TableBlocksIterator, AMissThatIsNotAdjacentBeginsTheCountAnew) {
  StoredBlocks blocks(EqualBlocks(16, kDirectIoAlign));
  base::BlockCache cache(1 << 20);
  const BlockSource source = blocks.Source(&cache);
  const auto it = NewIterator(source, {}, nullptr);
  for (const size_t block : {1, 2, 4, 5, 7, 8}) {
    it->Seek(KeyOfBlock(block), kv::kTagMax);
    EXPECT_EQ(At(*it), KeyOfBlock(block) + "#" + std::to_string(block + 1));
    EXPECT_TRUE(source.FindCached(static_cast<uint32_t>(block))) << block;
  }
  EXPECT_EQ(blocks.files.reads, 6u);
  it->Next();
  EXPECT_FALSE(source.FindCached(9)) << "the third of 7, 8 and 9";
}

TEST(TableBlocksIterator, EndsAtABlockThatCannotBeRead) {
  StoredBlocks blocks(Letters());
  const BlockSource source = blocks.Source(nullptr);
  blocks.Damage(source, 2);
  const auto it = NewIterator(source, {}, nullptr);
  EXPECT_EQ(Forward(it.get()), "a#1 b#1 c#1 d#1 ");
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption));
  EXPECT_EQ(Backward(it.get()), "h#1 g#1 ");
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption));
  it->Seek("e", kv::kTagMax);
  EXPECT_EQ(At(*it), "none");
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption));
  it->Seek("g", kv::kTagMax);
  EXPECT_EQ(At(*it), "g#1");
  EXPECT_OK(it->status());
}

TEST(TableBlocksIterator, SkipsABlockThatCannotBeReadIfAsked) {
  for (const uint32_t damaged : {0, 2, 3}) {
    SCOPED_TRACE(damaged);
    StoredBlocks blocks(Letters());
    const BlockSource source = blocks.Source(nullptr);
    blocks.Damage(source, damaged);
    std::string wanted, turned;
    for (char c = 'a'; c <= 'h'; ++c) {
      if (static_cast<uint32_t>(c - 'a') / 2 == damaged) continue;
      wanted += std::string(1, c) + "#1 ";
      turned = std::string(1, c) + "#1 " + turned;
    }
    kv::SkippedErrors forward, backward, sought;
    EXPECT_EQ(Forward(NewIterator(source, {.skipped = &forward}, nullptr).get()), wanted);
    EXPECT_EQ(Backward(NewIterator(source, {.skipped = &backward}, nullptr).get()), turned);
    const auto it = NewIterator(source, {.skipped = &sought}, nullptr);
    it->Seek(std::string(1, static_cast<char>('a' + 2 * damaged)), kv::kTagMax);
    EXPECT_EQ(At(*it), damaged == 3 ? "none" : std::string(1, static_cast<char>('c' + 2 * damaged)) + "#1");
    EXPECT_OK(it->status());
    for (const kv::SkippedErrors* each : {&forward, &backward, &sought})
      EXPECT_THAT(each->first(), StatusIs(Code::kCorruption));
  }
}

}  // namespace
}  // namespace mergedb::table
