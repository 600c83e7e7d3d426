// Lists of operations that failed once in tests/model/model_test.cc, as they were when nothing more could be taken away. Each
// opens with symptom, cause and consequence, and runs under the option set that met it and the plain one.
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

// Symptom: CompactRange("b", "b") never returns and keeps a core busy. Cause: an empty range within a table overlaps it, so the
// pick found it owed, merged nothing, and found it owed again. Consequence: a program that computes its ranges hangs.
TEST(ReplayedLists, CompactingAnEmptyRangeInsideATableEnds) {
  Replay("Reverse", "batch/0,1/1 compact:1,1");
  Replay("Plain", "batch/0/0,1 compact:2,2");
  Replay("Plain", "batch/0/0,1/0,2 compact:3,2");
}

// Symptom: under an order that takes two spellings for one key, a scan backward shows another spelling than one forward. Cause:
// iterator/user_iterator.cc kept the key of the oldest version. Consequence: the key shown was one that is not there any more.
TEST(ReplayedLists, AScanBackwardShowsTheNewestSpelling) { Replay("CaseFolding", "batch/0,48 put:598"); }

}  // namespace
}  // namespace mergedb::testing
