// Goal: a block ends nearest to its target, and stores keys, tags and offsets in the smallest width. Method: the entry
// before and behind each limit. block_test.cc reads blocks back.
#include "format/block_builder.h"

#include <gtest/gtest.h>

#include <string>

#include "format/block.h"

namespace mergedb::format {
namespace {

TEST(BlockBuilder, IsUsedAgainAfterReset) {
  BlockBuilder builder(true);
  builder.Add("first", 1, std::string(3 << 20, 'x'));
  (void)builder.Finish();
  builder.Reset();
  EXPECT_TRUE(builder.empty());
  builder.Add("second", 1, "y");
  BlockBuilder fresh(true);
  fresh.Add("second", 1, "y");
  EXPECT_EQ(builder.Finish(), fresh.Finish());
}

TEST(BlockBuilder, EndsABlockNearestToItsTarget) {
  BlockBuilder builder(true);
  EXPECT_FALSE(builder.IsFullFor(1, 1 << 20, 4096)) << "an empty block takes anything";
  for (int i = 0; i < 3; ++i) builder.Add("key" + std::to_string(i), 1, std::string(1000, 'v'));
  EXPECT_FALSE(builder.IsFullFor(4, 1000, 4096)) << "4048 is nearer than 3036";
  EXPECT_TRUE(builder.IsFullFor(4, 1 << 20, 4096)) << "a large value gets a block of its own";
  builder.Add("key3", 1, std::string(1000, 'v'));
  EXPECT_TRUE(builder.IsFullFor(4, 1000, 4096));
}

TEST(BlockBuilder, CountsSharedPrefixesOnce) {
  BlockBuilder builder(true);
  const std::string shared(200, 's');
  int count = 0;
  while (!builder.IsFullFor(204, 8, 4096)) builder.Add(shared + std::to_string(1000 + count++), 1, "12345678");
  EXPECT_GT(count, 150);
  EXPECT_LT(builder.Finish().size(), 4096u);
}

TEST(BlockBuilder, IsFullOnceOneMoreEntryIsFurtherFromTheTarget) {
  const auto is_full = [](bool shares_prefix, size_t target) {
    BlockBuilder builder(shares_prefix);
    builder.Add("key0", 1, std::string(1000, 'v'));
    builder.Add("key1", 1, std::string(1000, 'v'));
    return builder.IsFullFor(4, 1000, target);
  };
  EXPECT_FALSE(is_full(false, 2530)) << "2,024 and 3,036 bytes are equally near";
  EXPECT_TRUE(is_full(false, 2529));
  EXPECT_FALSE(is_full(true, 2524)) << "the prefix saves 6 bytes";
  EXPECT_TRUE(is_full(true, 2523));
}

TEST(BlockBuilder, KnowsItsFirstAndItsLastKey) {
  BlockBuilder builder(true);
  builder.Add("", 1, "v");
  EXPECT_EQ(builder.first_key(), "");
  EXPECT_EQ(builder.last_key(), "");
  builder.Add("a", 2, "");
  builder.Add("bcd", 1, "v");
  EXPECT_EQ(builder.first_key(), "");
  EXPECT_EQ(builder.last_key(), "bcd");
  builder.Reset();
  builder.Add("x", 1, "");
  EXPECT_EQ(builder.first_key(), "x");
  EXPECT_EQ(builder.last_key(), "x");
}

// The last byte of a block has both widths.
int TagWidth(std::string_view block) { return static_cast<unsigned char>(block.back()) >> 4; }
int OffsetWidth(std::string_view block) { return block.back() & 0xf; }

TEST(BlockBuilder, TagsTakeAsManyBytesAsTheDistanceOfTheirSequences) {
  const auto width = [](kv::Sequence smallest, kv::Sequence largest) {
    BlockBuilder builder(true);
    builder.Add("a", kv::MakeTag(largest, kv::Kind::kPut), "");
    builder.Add("b", kv::MakeTag(smallest, kv::Kind::kPut), "");
    return TagWidth(builder.Finish());
  };
  EXPECT_EQ(width(5, 5), 1);
  EXPECT_EQ(width(5, 6), 2);
  EXPECT_EQ(width(5, 5 + 255), 2);
  EXPECT_EQ(width(5, 5 + 256), 3);
  EXPECT_EQ(width(kv::kSequenceMax, kv::kSequenceMax), 1);
  EXPECT_EQ(width(0, kv::kSequenceMax), 8);
}

TEST(BlockBuilder, OffsetsAreWideFor64KibibytesOfValuesOrSuffixes) {
  const auto width = [](bool shares_prefix, size_t prefix_bytes, size_t value_bytes) {
    BlockBuilder builder(shares_prefix);
    builder.Add(std::string(prefix_bytes, 'p') + "a", 1, std::string(value_bytes, 'v'));
    builder.Add(std::string(prefix_bytes, 'p') + "b", 1, "");
    return OffsetWidth(builder.Finish());
  };
  EXPECT_EQ(width(true, 0, 65'535), 2);
  EXPECT_EQ(width(true, 0, 65'536), 4);
  EXPECT_EQ(width(true, 40'000, 0), 2) << "the prefix is stored once";
  EXPECT_EQ(width(false, 32'766, 0), 2) << "65,534 bytes of keys";
  EXPECT_EQ(width(false, 32'767, 0), 4) << "65,536 bytes of keys";
}

}  // namespace
}  // namespace mergedb::format
