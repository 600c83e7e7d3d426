// Goal: tags order versions newest first. A printed key parses back to the same key, whatever bytes it holds.
#include "kv/key.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace mergedb::kv {
namespace {

using namespace std::string_literals;

TEST(Key, ATagHoldsSequenceAndKind) {
  const Tag tag = MakeTag(kSequenceMax, Kind::kPutBlobIndex);
  EXPECT_EQ(SequenceOf(tag), kSequenceMax);
  EXPECT_EQ(KindOf(tag), Kind::kPutBlobIndex);
  EXPECT_LT(MakeTag(6, Kind::kPutBlobIndex), MakeTag(7, Kind::kDelete));
  EXPECT_EQ(SeekTag(kSequenceMax), kTagMax);
}

TEST(Key, ASeekTagStandsBeforeEveryVersionItMaySee) {
  for (const Kind kind : {Kind::kDelete, Kind::kPut, kKindMax}) {
    EXPECT_GT(SeekTag(7), MakeTag(7, kind));
    EXPECT_LT(SeekTag(7), MakeTag(8, kind));
  }
}

TEST(Key, PrintsKeySequenceAndKind) {
  EXPECT_EQ(PrintKey("foo", MakeTag(7, Kind::kPut)), "foo#7,PUT");
  EXPECT_EQ(PrintKey("a\0"s, MakeTag(0, Kind::kDelete)), "a\\x00#0,DELETE");
  EXPECT_EQ(PrintKey("", MakeTag(kSequenceMax, Kind::kRangeDelete)), "#72057594037927935,RANGE_DELETE");
}

TEST(Key, TextComesBackAsTheKey) {
  const uint64_t seed = 10;
  SCOPED_TRACE(seed);
  base::Random random(seed);
  for (int round = 0; round < 1000; ++round) {
    std::string key(random.Uniform(100), '\0');
    for (char& c : key) c = random.OneIn(4) ? "#,\\x"[random.Uniform(4)] : static_cast<char>(random.Next());
    const Tag tag = MakeTag(random.Next() >> 8, static_cast<Kind>(random.Uniform(5)));
    const auto parsed = ParseKey(PrintKey(key, tag));
    ASSERT_TRUE(parsed) << PrintKey(key, tag);
    EXPECT_EQ(parsed->key, key);
    EXPECT_EQ(parsed->tag, tag);
  }
}

TEST(Key, TextThatIsNoKeyIsRefused) {
  for (const char* text : {"", "foo", "foo#7", "foo,PUT", "foo#,PUT", "foo#7,", "foo#7,put", "foo#-7,PUT", "foo#7 ,PUT",
                           "foo#72057594037927936,PUT", "foo#99999999999999999999999,PUT", "fo\\o#7,PUT", "foo#7,?"}) {
    EXPECT_FALSE(ParseKey(text)) << text;
  }
}

}  // namespace
}  // namespace mergedb::kv
