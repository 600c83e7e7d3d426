// Goal: count, sum and maximum of the waits are right.
#include "base/wait_counter.h"

#include <gtest/gtest.h>

namespace mergedb::base {
namespace {

TEST(WaitCounter, KeepsCountSumAndLongest) {
  WaitCounter waits;
  EXPECT_EQ(waits.count(), 0u);
  for (const uint64_t nanos : {30u, 50u, 20u}) waits.Add(nanos);
  EXPECT_EQ(waits.count(), 3u);
  EXPECT_EQ(waits.nanos(), 100u);
  EXPECT_EQ(waits.nanos_max(), 50u);
}

}  // namespace
}  // namespace mergedb::base
