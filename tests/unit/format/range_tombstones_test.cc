// Goal: the range tombstones of a table have the bytes of docs/formats/table.md and decode to the same list;
// other bytes are errors that name the place.
#include "format/range_tombstones.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/random.h"

namespace mergedb::format::range_tombstones_test {
namespace {

const kv::Order kOrder(BytewiseComparator());

kv::RangeTombstones Example() {
  return kv::RangeTombstones::Fragment(kOrder, {{"apple", "fig", 300}, {"banana", "cherry", 7}, {"fig", "plum", 9}},
                                       kv::Stripes({10}), kv::RangeTombstones::Keys::kViews);
}

// The example of docs/formats/table.md.
constexpr char kGolden[] =
    "04"
    "05"
    "6170706c65"
    "06"
    "62616e616e61"
    "01"
    "ac02"
    "06"
    "62616e616e61"
    "06"
    "636865727279"
    "02"
    "ac02"
    "a502"
    "06"
    "636865727279"
    "03"
    "666967"
    "01"
    "ac02"
    "03"
    "666967"
    "04"
    "706c756d"
    "01"
    "09";

TEST(RangeTombstonesFormat, IsTheBytesOfTheSpecification) {
  EXPECT_EQ(base::ToHex(EncodeRangeTombstones(Example())), kGolden);
}

TEST(RangeTombstonesFormat, StoredBytesStillDecode) {
  std::string bytes;
  ASSERT_TRUE(base::FromHex(kGolden, &bytes));
  kv::RangeTombstones back;
  const Status status = DecodeRangeTombstones(bytes, kOrder, &back);
  ASSERT_TRUE(status.ok()) << status.ToString();
  bytes.assign(bytes.size(), 'x');  // the decoded list has its own copy
  ASSERT_EQ(back.size(), 4u);
  EXPECT_EQ(back.tombstones(), 5u);
  EXPECT_EQ(back.begin(1), "banana");
  EXPECT_EQ(back.end(1), "cherry");
  EXPECT_EQ(back.sequences(1)[0], 300u);
  EXPECT_EQ(back.sequences(1)[1], 7u);
  EXPECT_EQ(EncodeRangeTombstones(back), EncodeRangeTombstones(Example()));
}

TEST(RangeTombstonesFormat, RefusesWhatTheSpecificationForbids) {
  const auto decode = [](std::string_view hex) {
    std::string bytes;
    EXPECT_TRUE(base::FromHex(hex, &bytes));
    kv::RangeTombstones back;
    return DecodeRangeTombstones(bytes, kOrder, &back);
  };
  EXPECT_TRUE(decode("00").ok());
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0162"
                     "01"
                     "05")
                  .ok());
  EXPECT_TRUE(decode("").IsCorruption());
  EXPECT_TRUE(decode("0000").IsCorruption()) << "more than it says";
  EXPECT_TRUE(decode("02"
                     "0161"
                     "0162"
                     "01"
                     "05")
                  .IsCorruption())
      << "less than it says";
  EXPECT_TRUE(decode("01"
                     "0162"
                     "0161"
                     "01"
                     "05")
                  .IsCorruption())
      << "end before begin";
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0161"
                     "01"
                     "05")
                  .IsCorruption())
      << "no key";
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0162"
                     "00")
                  .IsCorruption())
      << "no sequence";
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0162"
                     "01"
                     "00")
                  .IsCorruption())
      << "sequence 0";
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0162"
                     "02"
                     "05"
                     "00")
                  .IsCorruption())
      << "a sequence twice";
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0162"
                     "02"
                     "05"
                     "05")
                  .IsCorruption())
      << "down to 0";
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0162"
                     "02"
                     "05"
                     "06")
                  .IsCorruption())
      << "below 0";
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0162"
                     "01"
                     "808080808080808001")
                  .IsCorruption())
      << "57 bits";
  EXPECT_TRUE(decode("01"
                     "0161"
                     "0162"
                     "ffffffff0f"
                     "05")
                  .IsCorruption())
      << "four billion sequences";
  EXPECT_TRUE(decode("02"
                     "0161"
                     "0163"
                     "01"
                     "05"
                     "0162"
                     "0164"
                     "01"
                     "05")
                  .IsCorruption())
      << "they overlap";
  EXPECT_EQ(decode("01"
                   "0162"
                   "0161"
                   "01"
                   "05")
                .ToString(),
            "Corruption: range tombstones at offset 1 of 7: expected fragments that ascend, found 016201610105");
}

TEST(RangeTombstonesFormat, DamageIsAnErrorOrOtherTombstonesAndNeverMore) {
  base::Random random(31);
  const std::string good = EncodeRangeTombstones(Example());
  for (size_t length = 0; length < good.size(); ++length) {
    kv::RangeTombstones back;
    EXPECT_TRUE(DecodeRangeTombstones(good.substr(0, length), kOrder, &back).IsCorruption()) << length;
  }
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = good;
    for (uint64_t n = 1 + random.Uniform(3); n > 0; --n) {
      bytes[random.Uniform(bytes.size())] = static_cast<char>(random.Next());
    }
    kv::RangeTombstones back;
    const Status status = DecodeRangeTombstones(bytes, kOrder, &back);
    ASSERT_TRUE(status.ok() || status.IsCorruption());
    if (status.ok() && !back.empty()) (void)back.Find(kOrder, "banana", 8);
  }
}

}  // namespace
}  // namespace mergedb::format::range_tombstones_test
