// Goal: a block of a LevelDB table is found by each seek and walked in both directions, wherever its restarts are;
// bytes that are no block end with Corruption. Method: small blocks, byte by byte; forged entries; all keys of blocks
// with each restart interval.
#include "leveldb/format/block.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "testing/status_matchers.h"

namespace mergedb::leveldb_format {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

const UserOrder kOrder{kv::Order(BytewiseComparator())};

std::string Build(const std::vector<std::string>& keys, size_t restart_interval) {
  BlockBuilder builder(restart_interval);
  for (const std::string& key : keys) builder.Add(key, "v" + key);
  const size_t bytes = builder.bytes();
  std::string block(builder.Finish());
  EXPECT_EQ(block.size(), bytes);
  return block;
}

// Entries, and behind them the restarts and their number.
std::string Forge(std::string_view entries, const std::vector<uint32_t>& restarts) {
  std::string block(entries);
  for (const uint32_t restart : restarts) base::AppendFixed32(&block, restart);
  base::AppendFixed32(&block, static_cast<uint32_t>(restarts.size()));
  return block;
}

std::string KeyAt(const BlockIterator& it) { return it.Valid() ? std::string(it.key()) : "none"; }

TEST(LevelDbBlock, SharesPrefixesBetweenRestarts) {
  BlockBuilder builder(2);
  EXPECT_TRUE(builder.empty());
  builder.Add("aab", "1");
  builder.Add("aac", "");
  builder.Add("aad", "3");  // a restart
  EXPECT_EQ(builder.Finish(), Forge({"\0\3\1aab1"
                                     "\2\1\0c"
                                     "\0\3\1aad3",
                                     18},
                                    {0, 11}));
  builder.Reset();
  builder.Add("aae", "");
  EXPECT_EQ(builder.Finish(), Forge({"\0\3\0aae", 6}, {0}));
}

TEST(LevelDbBlock, ANewIntervalHoldsFromTheNextEntryOn) {
  BlockBuilder builder(16);
  builder.Add("a", "");
  builder.Add("b", "");
  builder.set_restart_interval(2);
  builder.Add("c", "");
  const std::string_view block = builder.Finish();
  EXPECT_EQ(base::LoadFixed32(block.data() + block.size() - 4), 2u);
}

TEST(LevelDbBlock, AnEmptyOneHasNoEntries) {
  for (const std::string& block : {Build({}, 1), Forge("", {})}) {
    BlockIterator it(kOrder, block);
    it.SeekToFirst();
    EXPECT_FALSE(it.Valid());
    it.SeekToLast();
    EXPECT_FALSE(it.Valid());
    it.Seek("");
    EXPECT_FALSE(it.Valid());
    EXPECT_OK(it.status());
  }
}

TEST(LevelDbBlock, SeeksAndStepsFromEachKeyWhateverTheInterval) {
  const std::vector<std::string> keys = {"", "b", "bb", "bbb", "bd", "d", "dddd", "f"};
  for (size_t count = 1; count <= keys.size(); ++count) {
    const std::vector<std::string> some(keys.begin(), keys.begin() + static_cast<long>(count));
    for (size_t interval = 1; interval <= count + 1; ++interval) {
      SCOPED_TRACE(std::to_string(count) + " keys, a restart each " + std::to_string(interval));
      const std::string block = Build(some, interval);
      BlockIterator it(kOrder, block);
      for (size_t i = 0; i < count; ++i) {
        it.Seek(some[i]);
        ASSERT_EQ(KeyAt(it), some[i]);
        EXPECT_EQ(it.value(), "v" + some[i]);
        it.Next();
        EXPECT_EQ(KeyAt(it), i + 1 < count ? some[i + 1] : "none");
        it.Seek(some[i]);
        it.Prev();
        EXPECT_EQ(KeyAt(it), i > 0 ? some[i - 1] : "none");
        it.Seek(some[i] + '\0');  // just behind
        EXPECT_EQ(KeyAt(it), i + 1 < count ? some[i + 1] : "none");
      }
      it.SeekToFirst();
      EXPECT_EQ(KeyAt(it), some.front());
      it.SeekToLast();
      EXPECT_EQ(KeyAt(it), some.back());
      EXPECT_OK(it.status());
    }
  }
}

TEST(LevelDbBlock, HasRoomForItsRestarts) {
  EXPECT_THAT(BlockIterator(kOrder, "").status(), StatusIs(Code::kCorruption, HasSubstr("too short")));
  EXPECT_THAT(BlockIterator(kOrder, std::string(3, '\0')).status(),
              StatusIs(Code::kCorruption, HasSubstr("too short")));
  EXPECT_OK(BlockIterator(kOrder, std::string(4, '\0')).status());
  std::string block = Forge("", {0, 0});
  EXPECT_OK(BlockIterator(kOrder, block).status());
  block[block.size() - 4] = 3;
  EXPECT_THAT(BlockIterator(kOrder, block).status(), StatusIs(Code::kCorruption, HasSubstr("3 restarts")));
  block.replace(block.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(BlockIterator(kOrder, block).status(), StatusIs(Code::kCorruption));
}

TEST(LevelDbBlock, RefusesEntriesThatDoNotFit) {
  const auto first = [](std::string_view entries) {
    const std::string block = Forge(entries, {0});
    BlockIterator it(kOrder, block);
    it.SeekToFirst();
    EXPECT_EQ(it.Valid(), it.status().ok());
    return it.status();
  };
  EXPECT_OK(first({"\0\1\1kv", 5}));
  EXPECT_THAT(first({"\0\1\2kv", 5}), StatusIs(Code::kCorruption, HasSubstr("offset 0")));
  EXPECT_THAT(first({"\0\3\0kv", 5}), StatusIs(Code::kCorruption));
  EXPECT_THAT(first({"\1\1\1kv", 5}), StatusIs(Code::kCorruption)) << "no key before shares a byte";
  EXPECT_THAT(first({"\0\1", 2}), StatusIs(Code::kCorruption)) << "cut within the lengths";
  EXPECT_THAT(first({"\0\xff\xff\xff\xff\x0f\1kv", 9}), StatusIs(Code::kCorruption)) << "a sum beyond 32 bits";
}

TEST(LevelDbBlock, AnEntrySharesNoMoreThanTheKeyBeforeIt) {
  for (const char shared : {2, 3}) {
    const std::string entries = std::string("\0\2\0ab", 5) + shared + std::string("\1\0c", 3);
    const std::string block = Forge(entries, {0});
    BlockIterator it(kOrder, block);
    it.SeekToFirst();
    it.Next();
    EXPECT_EQ(KeyAt(it), shared == 2 ? "abc" : "none");
    EXPECT_EQ(it.status().ok(), shared == 2);
    it.SeekToFirst();  // an error is permanent
    EXPECT_EQ(it.Valid(), shared == 2);
  }
}

TEST(LevelDbBlock, ASeekRefusesRestartsThatAreNone) {
  const std::string entries("\0\1\0a\0\1\0c\1\1\0d", 12);  // a, c, cd
  const auto seek = [&](uint32_t restart) {
    const std::string block = Forge(entries, {0, restart});
    BlockIterator it(kOrder, block);
    it.Seek("cd");
    EXPECT_EQ(it.Valid(), it.status().ok());
    return it.status();
  };
  EXPECT_OK(seek(4));
  EXPECT_THAT(seek(8), StatusIs(Code::kCorruption)) << "its entry shares bytes";
  EXPECT_THAT(seek(12), StatusIs(Code::kCorruption, HasSubstr("beyond its entries")));
  EXPECT_THAT(seek(UINT32_MAX), StatusIs(Code::kCorruption, HasSubstr("beyond its entries")));
}

TEST(LevelDbBlock, AFirstRestartBehindItsEntriesIsCorruption) {
  const std::string block = Forge({"\0\1\0a", 4}, {5});
  BlockIterator it(kOrder, block);
  it.SeekToFirst();
  EXPECT_THAT(it.status(), StatusIs(Code::kCorruption, HasSubstr("beyond its entries")));
}

}  // namespace
}  // namespace mergedb::leveldb_format
