// Goal: an assertion that fails stops the process and names the condition and the place. An assertion that holds
// has no visible effect.
#include "base/assert.h"

#include <gtest/gtest.h>

namespace mergedb::base {
namespace {

TEST(Assert, ThatHoldsEvaluatesItsConditionOnce) {
  int evaluations = 0;
  ASSERT(++evaluations == 1, "counted");
  EXPECT_EQ(evaluations, 1);
}

TEST(AssertDeathTest, ThatFailsNamesFileConditionAndMessage) {
  EXPECT_DEATH(ASSERT(1 + 1 == 3, "arithmetic"), "assert_test.cc:[0-9]+: assertion failed: 1 \\+ 1 == 3: arithmetic");
}

}  // namespace
}  // namespace mergedb::base
