// Goal: what a merge settles is never more than it saw: nothing that a newer run still shows. Method: trees as text, in which a
// table's sequences are its run's position, times 10.
#include "tree/version.h"

#include <gtest/gtest.h>

#include "testing/tree_text.h"

namespace mergedb::tree {
namespace {

const kv::Order kOrder(BytewiseComparator());

std::optional<kv::Sequence> Settled(uint64_t newest, uint64_t oldest, const format::Bounds& bounds = {}) {
  const auto version = testing::ParseTree(kOrder,
                                          "position 9 level 0: 000019[a..c] 000020[x..z]\n"
                                          "position 5 level 0: 000015[b..m]\n"
                                          "position 2 level bottom: 000012[a..m) 000013[p..z]\n");
  EXPECT_TRUE(version.has_value()) << version.status().ToString();
  return SettledSequence(kOrder, **version, kv::Position{newest}, kv::Position{oldest}, bounds);
}

TEST(SettledSequence, OfAllRunsIsTheLargestThereIs) { EXPECT_EQ(Settled(9, 2), kv::Sequence{90}); }

TEST(SettledSequence, StaysBelowWhatNewerRunsShowThere) {
  EXPECT_EQ(Settled(5, 2), kv::Sequence{89});
  EXPECT_EQ(Settled(2, 2), kv::Sequence{49});
  EXPECT_EQ(Settled(2, 2, {.lower = "n", .upper = "x"}), kv::Sequence{90}) << "no newer run has keys there";
}

TEST(SettledSequence, NothingIsSettledAboveAnOlderRun) {
  EXPECT_EQ(Settled(9, 5), std::nullopt);
  EXPECT_EQ(Settled(9, 5, {.lower = "n", .upper = "p"}), kv::Sequence{90}) << "the older run has no keys there";
}

}  // namespace
}  // namespace mergedb::tree
