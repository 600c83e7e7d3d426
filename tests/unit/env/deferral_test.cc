// Goal: a search waits once for each extent, and never while it reads what it waited for.
#include "env/deferral.h"

#include <gtest/gtest.h>

namespace mergedb::env {
namespace {

constexpr Deferral::Extent kFirst{.file = 1, .offset = 0, .bytes = 10};
constexpr Deferral::Extent kSecond{.file = 1, .offset = 10, .bytes = 20};

TEST(Deferral, WaitsAtTheFirstQuestion) {
  Deferral deferral;
  EXPECT_TRUE(deferral.WouldWait(kFirst.file, kFirst.offset));
  EXPECT_TRUE(deferral.Waits(kFirst));
  EXPECT_FALSE(deferral.WouldWait(kFirst.file, kFirst.offset));
  EXPECT_TRUE(deferral.WouldWait(2, kFirst.offset));
  EXPECT_EQ(deferral.hinted_bytes(), 10u);
}

TEST(Deferral, ReadsEverythingOfAStepThatWaited) {
  Deferral deferral;
  EXPECT_TRUE(deferral.Waits(kFirst));
  deferral.Continue();
  EXPECT_FALSE(deferral.Waits(kSecond)) << "the step may need a block that it did not hint at";
  EXPECT_FALSE(deferral.Waits(kFirst));
}

TEST(Deferral, WaitsAgainInTheNextStepButNotForTheSameExtent) {
  Deferral deferral;
  EXPECT_TRUE(deferral.Waits(kFirst));
  deferral.Continue();
  deferral.Pass();
  EXPECT_FALSE(deferral.Waits(kFirst)) << "an older version in the same block";
  EXPECT_TRUE(deferral.Waits(kSecond));
  EXPECT_EQ(deferral.hinted_bytes(), 20u);
}

}  // namespace
}  // namespace mergedb::env
