// Goal: printed bytes are unambiguous; prefixes and comparisons agree with memcmp.
#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace mergedb::base {
namespace {

using namespace std::string_literals;

TEST(Bytes, EscapeShowsPrintableAsciiAndHexForTheRest) {
  EXPECT_EQ(Escape("apple pie"), "apple pie");
  EXPECT_EQ(Escape("a\0b\n\\\xff"s), "a\\x00b\\x0a\\x5c\\xff");
}

TEST(Bytes, EscapeCutsLongBytes) {
  EXPECT_EQ(Escape("abcdef", 3), "abc...");
  EXPECT_EQ(Escape("abc", 3), "abc");
}

TEST(Bytes, HexGoesBothWays) {
  EXPECT_EQ(ToHex("\x00\x7f\xa5"s), "007fa5");
  std::string bytes;
  ASSERT_TRUE(FromHex("007FA5", &bytes));
  EXPECT_EQ(bytes, "\x00\x7f\xa5"s);
  EXPECT_FALSE(FromHex("0", &bytes));
  EXPECT_FALSE(FromHex("0x", &bytes));
}

TEST(Bytes, CommonPrefixStopsAtTheFirstDifference) {
  EXPECT_EQ(CommonPrefixBytes("", "abc"), 0u);
  const std::string a(40, 'x');
  for (size_t index = 0; index < a.size(); ++index) {
    std::string b = a;
    b[index] = 'y';
    ASSERT_EQ(CommonPrefixBytes(a, b), index);
    ASSERT_EQ(CommonPrefixBytes(a, a.substr(0, index)), index);
  }
  EXPECT_EQ(CommonPrefixBytes(a, a), a.size());
}

TEST(Bytes, PrefixesThatDifferOrderAsTheKeysDo) {
  const uint64_t seed = 6;
  SCOPED_TRACE(seed);
  Random random(seed);
  const auto key = [&] {
    std::string bytes(random.Uniform(12), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Uniform(3) * 127);  // 0x00, 0x7f, 0xfe
    return bytes;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::string a = key(), b = key();
    const int order = CompareBytes(a, b);
    ASSERT_EQ(order < 0, a < b);
    ASSERT_EQ(order == 0, a == b);
    if (Prefix8(a) != Prefix8(b)) { ASSERT_EQ(Prefix8(a) < Prefix8(b), order < 0) << Escape(a) << " " << Escape(b); }
  }
}

TEST(Bytes, PrefixIsBigEndianAndPaddedWithZeros) {
  const std::string bytes = "\x81\x92\xa3\xb4\xc5\xd6\xe7\xf8\x99";
  for (size_t count = 0; count <= bytes.size(); ++count) {
    uint64_t expected = 0;
    for (size_t i = 0; i < 8; ++i) expected = expected << 8 | (i < count ? static_cast<uint8_t>(bytes[i]) : 0);
    const std::string exactly = bytes.substr(0, count);  // no readable byte follows it
    EXPECT_EQ(Prefix8(exactly), expected) << count;
  }
  EXPECT_EQ(Prefix8({}), 0u);
}

TEST(Bytes, PrefixEndIsTheFirstKeyAfterAllOfAPrefix) {
  EXPECT_EQ(PrefixEnd("user:"), "user;");
  EXPECT_EQ(PrefixEnd("a\xff\xff"), "b");
  EXPECT_EQ(PrefixEnd("\x7f"), "\x80");
  EXPECT_EQ(PrefixEnd(""), std::nullopt);
  EXPECT_EQ(PrefixEnd("\xff\xff"), std::nullopt);
}

TEST(Bytes, PrintAppendsAsPrintfDoesWithoutALimit) {
  std::string text = "a";
  Print(&text, "%s", "");
  EXPECT_EQ(text, "a");
  Print(&text, "%3d|%.1f|", 7, 0.25);
  EXPECT_EQ(text, "a  7|0.2|");
  const std::string longer(5'000, 'x');
  Print(&text, "%s%%", longer.c_str());
  EXPECT_EQ(text, "a  7|0.2|" + longer + "%");
}

}  // namespace
}  // namespace mergedb::base
