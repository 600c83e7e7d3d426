// Goal: a lookup searches from new to old and returns the first version that the sequence can see, wherever it
// is stored.
#include "read/lookup.h"

#include <gtest/gtest.h>

#include "mergedb/merge.h"
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

// The operands lie in both memtables and in two runs, a run has many blocks of them, and the base is a value, a delete,
// or nothing. A chain that takes only a few of them gives the same answers, at every sequence.
TEST_F(LookupTest, FoldsMoreOperandsThanAChainTakes) {
  constexpr kv::Sequence kOperands = 200;
  for (const char* base : {"value", "delete", "nothing"}) {
    SCOPED_TRACE(base);
    std::vector<testing::OwnedEntry> active, immutable, newer, older;
    for (kv::Sequence sequence = kOperands; sequence > 1; --sequence) {
      const testing::OwnedEntry operand{"k", kv::MakeTag(sequence, kv::Kind::kMerge),
                                        merge::Append(std::to_string(sequence) + std::string(100, '.'))};
      if (sequence > 190) {
        active.insert(active.begin(), operand);
      } else if (sequence > 180) {
        immutable.insert(immutable.begin(), operand);
      } else {
        (sequence > 100 ? newer : older).push_back(operand);
      }
    }
    if (*base == 'v') older.push_back(PutEntry("k", 1, "base"));
    if (*base == 'd') older.push_back(DeleteEntry("k", 1));
    older.push_back(PutEntry("l", 1, "another key"));
    view_ = testing::ViewOf(tables_, active, immutable, {newer, older});
    std::string expected = *base == 'v' ? "base" : "";
    const auto check = [&](kv::Sequence sequence, const LookupContext& context) {
      std::string value;
      ASSERT_OK(Lookup(context, view_, "k", sequence, {}, &value));
      ASSERT_EQ(value, expected);
      const std::string own = merge::Append("own");
      const std::string_view newer_operands[] = {own};
      ASSERT_OK(Lookup(context, view_, "k", sequence, {}, &value, newer_operands));
      ASSERT_EQ(value, expected + "own");
      const std::string_view keys[] = {"j", "k", "l"};
      std::string values[3];
      Status statuses[3];
      MultiLookup(context, view_, {}, {.keys = keys, .sequence = sequence, .values = values, .statuses = statuses});
      EXPECT_TRUE(statuses[0].IsNotFound());
      ASSERT_OK(statuses[1]);
      ASSERT_EQ(values[1], expected);
      EXPECT_EQ(values[2], "another key");
    };
    for (kv::Sequence sequence = 2; sequence <= kOperands; ++sequence) {
      expected += std::to_string(sequence) + std::string(100, '.');
      const size_t fits = sequence - 1;
      for (const size_t operands_max : {size_t{1}, size_t{10}, fits - 1, fits, fits + 1, kv::kChainOperandsMax}) {
        if (operands_max == 0 || (sequence % 20 != 0 && operands_max + 1 < fits)) continue;
        SCOPED_TRACE(std::to_string(sequence) + ", operands_max " + std::to_string(operands_max));
        check(sequence, {.order = tables_.order,
                         .tables = *tables_.cache,
                         .values = *tables_.values,
                         .operands_max = operands_max});
        if (HasFatalFailure()) return;
      }
    }
  }
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
