// Lists of operations that failed once in tests/model/model_test.cc, shrunk as far as possible. Each test
// names symptom, cause and consequence, and runs with the option set that failed and with the plain one.
#include <gtest/gtest.h>

#include "testing/op_runner.h"

namespace mergedb::testing {
namespace {

void Replay(const char* set_name, const char* text) {
  const auto list = ParseOps(ModelOpTable(), text);
  ASSERT_TRUE(list.has_value()) << text;
  for (const char* name : {set_name, "Plain"}) {
    const auto set = FindOptionSet(name);
    ASSERT_TRUE(set.has_value()) << name;
    EXPECT_EQ(RunOps(*list, *set, {.seed = 7}).problem, "") << name << ' ' << text;
  }
}

// Symptom: CompactRange("b", "b") never returns and keeps a core busy. Cause: an empty range within a table
// overlaps it, so each pick chose it, compacted nothing, and the next pick chose it again. Consequence: a
// program that computes its ranges hangs.
TEST(ReplayedLists, CompactingAnEmptyRangeInsideATableEnds) {
  Replay("Reverse", "batch/0,1/1 compact:1,1");
  Replay("Plain", "batch/0/0,1 compact:2,2");
  Replay("Plain", "batch/0/0,1/0,2 compact:3,2");
}

// Symptom: with an order in which two spellings are the same key, a backward scan shows another spelling than
// a forward scan. Cause: iterator/user_iterator.cc kept the key of the oldest version. Consequence: the scan
// shows an overwritten key.
TEST(ReplayedLists, AScanBackwardShowsTheNewestSpelling) { Replay("CaseFolding", "batch/0,48 put:598"); }

}  // namespace
}  // namespace mergedb::testing
