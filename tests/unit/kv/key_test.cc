// Goal: tags order versions newest first. A printed key shows its bytes, its sequence and its kind.
#include "kv/key.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace mergedb::kv
