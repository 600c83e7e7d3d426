// Goal: the index knows the last write of each key. Method: examples; then random writes and queries,
// compared with a list of all writes.
#include "write/write_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "testing/seed.h"
#include "tests/unit/write/written.h"

namespace mergedb::write {
namespace {

using testing::written::Key;
using testing::written::Range;

class WriteIndexTest : public ::testing::Test {
 protected:
  WriteIndex index_{kv::Order(BytewiseComparator())};
};

TEST_F(WriteIndexTest, KnowsTheNewestWriteOfAKey) {
  index_.Add(Key("a") + Key("b"), 3);
  index_.Add(Key("a"), 7);
  EXPECT_TRUE(index_.IsWritten("a", 6));
  EXPECT_FALSE(index_.IsWritten("a", 7));
  EXPECT_TRUE(index_.IsWritten("b", 2));
  EXPECT_FALSE(index_.IsWritten("b", 3));
  EXPECT_FALSE(index_.IsWritten("c", 0));
}

TEST_F(WriteIndexTest, FindsAKeyOfAStretchThatWasWrittenSince) {
  index_.Add(Key("b"), 3);
  index_.Add(Key("d"), 5);
  EXPECT_EQ(index_.FindWritten("a", "z", 3), "d");
  EXPECT_EQ(index_.FindWritten("b", "b", 2), "b");
  EXPECT_EQ(index_.FindWritten("a", "c", 3), std::nullopt);
  EXPECT_EQ(index_.FindWritten(std::nullopt, "b", 0), "b");
  EXPECT_EQ(index_.FindWritten("da", std::nullopt, 0), std::nullopt);
}

TEST_F(WriteIndexTest, KnowsRangesByTheirKeys) {
  index_.Add(Range("c", "f"), 4);
  EXPECT_TRUE(index_.IsWritten("c", 3));
  EXPECT_FALSE(index_.IsWritten("c", 4));
  EXPECT_FALSE(index_.IsWritten("f", 3));
  EXPECT_EQ(index_.FindWritten("a", "z", 3), "c");
  EXPECT_EQ(index_.FindWritten("d", "z", 3), "d");
  EXPECT_EQ(index_.FindWritten("f", "z", 3), std::nullopt);
  EXPECT_EQ(index_.FindWritten("a", "bz", 3), std::nullopt);
}

TEST_F(WriteIndexTest, ForgetsWhatNobodyAsksAbout) {
  index_.Add(Key("a") + Key("b") + Range("x", "y"), 3);
  index_.Add(Key("b"), 4);
  index_.Forget(4);
  EXPECT_FALSE(index_.IsWritten("a", 0));
  EXPECT_TRUE(index_.IsWritten("b", 3));
  EXPECT_FALSE(index_.IsWritten("x", 0));
  index_.Forget(5);
  EXPECT_EQ(index_.bytes(), 0u);
}

TEST_F(WriteIndexTest, AgreesWithAListOfAllWrites) {
  const uint64_t seed = testing::SeedOr(11);
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Random random(seed);
  const auto key = [&] {
    return std::string{static_cast<char>('a' + random.Uniform(6)), static_cast<char>('a' + random.Uniform(6))};
  };
  struct Written {
    std::string begin, end;  // equal: one key
    kv::Sequence last;
  };
  std::vector<Written> all;
  for (kv::Sequence last = 1; last < 200; ++last) {
    std::string a = key(), b = random.OneIn(5) ? key() : a;
    if (b < a) std::swap(a, b);
    all.push_back({a, b, last});
    index_.Add(a == b ? Key(a) : Range(a, b), last);
    const kv::Sequence since = random.Uniform(last + 1);
    const std::string from = key(), to = key();
    bool is_written = false, meets = false;
    for (const Written& each : all) {
      if (each.last <= since) continue;
      const bool is_key = each.begin == each.end;
      is_written |= is_key ? each.begin == from : each.begin <= from && from < each.end;
      meets |= is_key ? from <= each.begin && each.begin <= to : each.begin <= to && from < each.end;
    }
    ASSERT_EQ(index_.IsWritten(from, since), is_written) << last;
    if (from <= to) { ASSERT_EQ(index_.FindWritten(from, to, since).has_value(), meets) << last; }
  }
}

}  // namespace
}  // namespace mergedb::write
