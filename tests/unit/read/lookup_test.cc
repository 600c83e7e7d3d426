// Goal: a lookup searches from new to old and returns the first version that the sequence can see, wherever it
// is stored.
#include "read/lookup.h"

#include <gtest/gtest.h>

#include "tests/unit/read/super_versions.h"

namespace mergedb::read {
namespace {

using testing::DeleteEntry;
using testing::PutEntry;

class LookupTest : public ::testing::Test {
 protected:
  std::string Get(std::string_view key, kv::Sequence sequence = kv::kSequenceMax) {
    std::string value;
    const Status status = Lookup({.order = tables_.order, .tables = *tables_.cache, .values = *tables_.values}, view_,
                                 key, sequence, {}, &value);
    return status.ok() ? value : std::string(CodeName(status.code()));
  }

  testing::Tables tables_;
  SuperVersion view_ = testing::ViewOf(
      tables_, {PutEntry("a", 9, "active")}, {PutEntry("a", 7, "sealed"), DeleteEntry("b", 8)},
      {{PutEntry("a", 5, "newer run"), PutEntry("c", 6, "c")},
       {PutEntry("a", 1, "older run"), PutEntry("b", 2, "b"), DeleteEntry("d", 4), PutEntry("d", 3, "d")}});
};

TEST_F(LookupTest, FindsTheNewestVersionWhereverItIs) {
  EXPECT_EQ(Get("a"), "active");
  EXPECT_EQ(Get("a", 8), "sealed");
  EXPECT_EQ(Get("a", 6), "newer run");
  EXPECT_EQ(Get("a", 4), "older run");
  EXPECT_EQ(Get("a", 0), "NotFound");
  EXPECT_EQ(Get("c"), "c");
}

TEST_F(LookupTest, ADeleteEndsTheSearch) {
  EXPECT_EQ(Get("b"), "NotFound");
  EXPECT_EQ(Get("b", 7), "b");
  EXPECT_EQ(Get("d"), "NotFound");
  EXPECT_EQ(Get("d", 3), "d");
}

TEST_F(LookupTest, KeysThatNobodyHasAreNotFound) {
  for (const char* key : {"", "aa", "bb", "z"}) EXPECT_EQ(Get(key), "NotFound") << key;
}

TEST_F(LookupTest, MoreRunsThanOneBatchAreSearchedInOrder) {
  std::vector<std::vector<testing::OwnedEntry>> runs;
  for (kv::Sequence sequence = 40; sequence > 0; --sequence)
    runs.push_back({PutEntry("k", sequence, std::to_string(sequence))});
  view_ = testing::ViewOf(tables_, {}, {}, runs);
  for (kv::Sequence sequence = 1; sequence <= 40; ++sequence) EXPECT_EQ(Get("k", sequence), std::to_string(sequence));
}

// Symptom: Get returned NotFound when a table's file was missing. Cause: the NotFound of the missing file was
// returned as the result for the key.
// Consequence: an existing key, or an older value behind the missing table, counted as absent.
TEST_F(LookupTest, AMissingTableIsAnErrorNotAnAbsentKey) {
  ASSERT_OK(tables_.files.Remove("dir/000001.tbl"));
  EXPECT_EQ(Get("a"), "active") << "nobody looks at the tables";
  EXPECT_EQ(Get("a", 6), "IOError");
  EXPECT_EQ(Get("b", 7), "IOError") << "its keys reach from a to c";
  EXPECT_EQ(Get("d", 3), "d");
}

}  // namespace
}  // namespace mergedb::read
