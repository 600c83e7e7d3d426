// Goal: name items and LMDB's data are told from every other bytes; turned keys turn back. Method: each byte of an item
// changed; known bytes.
#include "format/lmdb.h"

#include <gtest/gtest.h>

namespace mergedb::format::lmdb_test {
namespace {

TEST(FormatLmdb, AnItemDecodesToItsFlagsAndNothingElseIsAnItem) {
  for (const unsigned flags : {0u, kLmdbReverseKey, kLmdbIntegerKey, kLmdbReverseKey | kLmdbIntegerKey}) {
    const std::string item = EncodeNameItem(flags);
    ASSERT_EQ(item.size(), 48u);
    EXPECT_EQ(DecodeNameItem(item), flags);
    EXPECT_EQ(DecodeNameItem(item.substr(1)), std::nullopt);
    EXPECT_EQ(DecodeNameItem(item + '\0'), std::nullopt);
    for (size_t i = 0; i < item.size(); ++i) {
      std::string changed = item;
      changed[i] = static_cast<char>(changed[i] ^ 0x40);
      EXPECT_EQ(DecodeNameItem(changed), std::nullopt) << i;
    }
  }
  EXPECT_EQ(DecodeNameItem(""), std::nullopt);
  EXPECT_EQ(DecodeNameItem(std::string(48, 'v')), std::nullopt);
}

TEST(FormatLmdb, KeysTurnAndTurnBack) {
  const auto turned = [](unsigned flags, std::string key) {
    TurnLmdbKey(flags, &key);
    return key;
  };
  EXPECT_EQ(turned(0, "abc"), "abc");
  EXPECT_EQ(turned(kLmdbReverseKey, "abc"), "cba");
  EXPECT_EQ(turned(kLmdbReverseKey, ""), "");
  const bool is_little = std::endian::native == std::endian::little;
  EXPECT_EQ(turned(kLmdbIntegerKey, "abcd"), is_little ? "dcba" : "abcd");
  EXPECT_EQ(turned(kLmdbIntegerKey | kLmdbReverseKey, "abcd"), "dcba");
}

TEST(FormatLmdb, TheMagicNumberIsBehindThePageHeader) {
  std::string head(kLmdbHeadBytes, '\0');
  EXPECT_FALSE(IsLmdbData(head));
  head.replace(16, 4, "\xde\xc0\xef\xbe");
  EXPECT_TRUE(IsLmdbData(head));
  EXPECT_TRUE(IsLmdbData(head + "more"));
  EXPECT_FALSE(IsLmdbData(head.substr(0, 19)));
  EXPECT_FALSE(IsLmdbData(""));
}

}  // namespace
}  // namespace mergedb::format::lmdb_test
