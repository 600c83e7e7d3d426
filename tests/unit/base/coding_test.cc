// Goal: encoded values decode to themselves. No input makes a decoder read out of bounds or accept more bytes
// than there are.
#include "base/coding.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace mergedb::base {
namespace {

const uint64_t kEdges[] = {0,
                           1,
                           127,
                           128,
                           16383,
                           16384,
                           (1u << 21) - 1,
                           1u << 21,
                           (1u << 28) - 1,
                           1u << 28,
                           UINT32_MAX,
                           uint64_t{1} << 32,
                           (uint64_t{1} << 56) - 1,
                           (uint64_t{1} << 63) - 1,
                           uint64_t{1} << 63,
                           UINT64_MAX};

std::string Varint(uint64_t value) {
  std::string bytes;
  AppendVarint64(&bytes, value);
  return bytes;
}

TEST(Coding, FixedIntegersAreLittleEndian) {
  std::string bytes;
  AppendFixed32(&bytes, 0x04030201);
  AppendFixed64(&bytes, 0x0c0b0a0908070605);
  EXPECT_EQ(bytes, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c");

  std::string_view in = bytes;
  uint32_t narrow = 0;
  uint64_t wide = 0;
  ASSERT_TRUE(TakeFixed32(&in, &narrow));
  ASSERT_TRUE(TakeFixed64(&in, &wide));
  EXPECT_EQ(narrow, 0x04030201u);
  EXPECT_EQ(wide, 0x0c0b0a0908070605u);
  EXPECT_TRUE(in.empty());
}

TEST(Coding, FixedIntegersNeedAllTheirBytes) {
  const std::string bytes(7, 'x');
  std::string_view in = bytes;
  uint64_t wide = 0;
  uint32_t narrow = 0;
  EXPECT_FALSE(TakeFixed64(&in, &wide));
  EXPECT_EQ(in, bytes);
  in = std::string_view(bytes).substr(0, 3);
  EXPECT_FALSE(TakeFixed32(&in, &narrow));
  EXPECT_EQ(in.size(), 3u);
}

TEST(Coding, VarintsComeBackAndAreAsLongAsVarintBytesSays) {
  for (const uint64_t value : kEdges) {
    SCOPED_TRACE(value);
    const std::string bytes = Varint(value);
    EXPECT_EQ(bytes.size(), VarintBytes(value));
    std::string_view in = bytes;
    uint64_t wide = ~value;
    ASSERT_TRUE(TakeVarint64(&in, &wide));
    EXPECT_EQ(wide, value);
    EXPECT_TRUE(in.empty());

    in = bytes;
    uint32_t narrow = 0;
    EXPECT_EQ(TakeVarint32(&in, &narrow), value <= UINT32_MAX);
    if (value <= UINT32_MAX) {
      EXPECT_EQ(narrow, value);
    } else {
      EXPECT_EQ(in, bytes) << "a refused varint must stay";
    }
  }
}

TEST(Coding, TruncatedVarintsAreRefusedAndStay) {
  for (const uint64_t value : kEdges) {
    const std::string bytes = Varint(value);
    for (size_t length = 0; length < bytes.size(); ++length) {
      const std::string cut = bytes.substr(0, length);  // a heap copy, so that ASan sees a read past the end
      std::string_view in = cut;
      uint64_t wide = 0;
      uint32_t narrow = 0;
      EXPECT_FALSE(TakeVarint64(&in, &wide));
      EXPECT_FALSE(TakeVarint32(&in, &narrow));
      EXPECT_EQ(in.size(), length);
    }
  }
}

TEST(Coding, VarintsThatDoNotFitAreRefused) {
  uint32_t narrow = 0;
  uint64_t wide = 0;
  std::string_view in = "\xff\xff\xff\xff\x10";
  EXPECT_FALSE(TakeVarint32(&in, &narrow));
  in = "\x80\x80\x80\x80\x80\x01";
  EXPECT_FALSE(TakeVarint32(&in, &narrow));
  in = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
  EXPECT_FALSE(TakeVarint64(&in, &wide));
  in = "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01";
  EXPECT_FALSE(TakeVarint64(&in, &wide));
}

TEST(Coding, LengthPrefixedBytesComeBack) {
  std::string bytes;
  AppendLengthPrefixed(&bytes, "");
  AppendLengthPrefixed(&bytes, std::string(300, 'v'));
  std::string_view in = bytes, value;
  ASSERT_TRUE(TakeLengthPrefixed(&in, &value));
  EXPECT_EQ(value, "");
  ASSERT_TRUE(TakeLengthPrefixed(&in, &value));
  EXPECT_EQ(value, std::string(300, 'v'));
  EXPECT_TRUE(in.empty());
}

TEST(Coding, ALengthBeyondTheBytesIsRefusedAndStays) {
  const std::string bytes = Varint(5) + "four";
  std::string_view in = bytes, value;
  EXPECT_FALSE(TakeLengthPrefixed(&in, &value));
  EXPECT_EQ(in, bytes);
  const std::string huge = Varint(UINT32_MAX) + "x";
  in = huge;
  EXPECT_FALSE(TakeLengthPrefixed(&in, &value));
  EXPECT_EQ(in, huge);
}

TEST(Coding, RandomBytesNeverReadOutOfBounds) {
  const uint64_t seed = 1;
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random.Uniform(14), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Next() | (random.OneIn(2) ? 0x80 : 0));
    std::string_view in = bytes, value;
    uint64_t wide;
    uint32_t narrow;
    if (TakeVarint64(&in, &wide)) { EXPECT_LE(in.size() + VarintBytes(wide), bytes.size()); }
    in = bytes;
    if (TakeVarint32(&in, &narrow)) { EXPECT_LT(in.size(), bytes.size()); }
    in = bytes;
    if (TakeLengthPrefixed(&in, &value)) { EXPECT_EQ(value.data() + value.size(), in.data()); }
  }
}

}  // namespace
}  // namespace mergedb::base
