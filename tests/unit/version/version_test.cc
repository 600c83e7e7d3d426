// Goal: the ranges that a compaction marks as compacted contain no version that a newer or an older run still
// shows. Method: trees as text. Each table's sequences are 10 times the position of its run.
#include "version/version.h"

#include <gtest/gtest.h>

#include <tuple>

#include "testing/tree_text.h"
#include "tests/unit/version/order.h"
#include "version/version_builder.h"

namespace mergedb::version {
namespace {

// For example "[-,b) 0-90 [b,-) 0-49": bounds, first and last sequence.
std::string CompactedRange(uint64_t newest, uint64_t oldest, const format::Bounds& bounds = {}) {
  const auto version = testing::ParseTree(kOrder,
                                          "position 9 level 0: 000019[a..c] 000020[x..z]\n"
                                          "position 5 level 0: 000015[b..m]\n"
                                          "position 2 level bottom: 000012[a..m) 000013[p..z]\n");
  EXPECT_TRUE(version.has_value()) << version.status().ToString();
  std::string text;
  for (const format::CompactedRange& each :
       CompactedRangesBy(kOrder, **version, kv::Position{newest}, kv::Position{oldest}, bounds, 0)) {
    text += (text.empty() ? "[" : " [") + each.bounds.lower.value_or("-") + "," + each.bounds.upper.value_or("-") +
            ") " + std::to_string(each.from) + "-" + std::to_string(each.sequence);
  }
  return text;
}

TEST(CompactedRangesBy, AllRunsIsAllThereIs) { EXPECT_EQ(CompactedRange(9, 2), "[-,-) 0-90"); }

TEST(CompactedRangesBy, CountsWhatWasFlushedThoughTablesForgotIt) {
  const auto version = testing::ParseTree(kOrder, "position 2 level bottom: 000012[a..z]\n");
  const auto compacted_ranges = CompactedRangesBy(kOrder, **version, kv::Position{2}, kv::Position{2}, {}, 1000);
  ASSERT_EQ(compacted_ranges.size(), 1u);
  EXPECT_EQ(compacted_ranges[0].sequence, 1000u);
}

TEST(CompactedRangesBy, StaysBelowWhatNewerRunsShowThere) {
  EXPECT_EQ(CompactedRange(5, 2), "[-,a) 0-90 [a,-) 0-89");
  EXPECT_EQ(CompactedRange(2, 2), "[-,a) 0-90 [a,b) 0-89 [b,x) 0-49 [x,-) 0-89")
      << "m is the last key of a table, so a piece begins with it";
  EXPECT_EQ(CompactedRange(2, 2, {.lower = "n", .upper = "x"}), "[n,x) 0-90") << "no newer run has keys there";
}

TEST(CompactedRangesBy, StaysAboveWhatOlderRunsShowThere) {
  EXPECT_EQ(CompactedRange(9, 5), "[-,a) 1-90 [a,m) 21-90 [m,p) 1-90 [p,-) 21-90");
  EXPECT_EQ(CompactedRange(5, 5), "[-,a) 1-90 [a,m) 21-89 [m,p) 1-90 [p,x) 21-90 [x,-) 21-89");
  EXPECT_EQ(CompactedRange(9, 5, {.lower = "n", .upper = "p"}), "[n,p) 1-90") << "the older run has no keys there";
}

// The properties of a table stay small, whatever keys the other runs have.
TEST(CompactedRangesBy, HasFewPiecesAndNoLongBorders) {
  std::string few = "position 9 level 0:";
  for (int i = 100; i < 400; i += 2)
    few += " 000" + std::to_string(i) + "[k" + std::to_string(i) + "..k" + std::to_string(i) + "x]";
  few += " 000500[l.." + std::string(2000, 'l') + "]\nposition 2 level bottom: 000012[a..z]\n";
  const auto version = testing::ParseTree(kOrder, few);
  ASSERT_TRUE(version.has_value()) << version.status().ToString();
  const auto compacted_ranges = CompactedRangesBy(kOrder, **version, kv::Position{2}, kv::Position{2}, {}, 0);
  EXPECT_LE(compacted_ranges.size(), 64u);
  for (const format::CompactedRange& each : compacted_ranges) {
    EXPECT_LE(each.bounds.lower.value_or("").size(), 1024u);
    EXPECT_LE(each.bounds.upper.value_or("").size(), 1024u);
  }
}

TEST(CompactedRangesBy, NothingWhereTheRunsAboveAndBelowMix) {
  format::VersionEdit edit;
  for (const auto& [position, smallest, largest] :
       {std::tuple(9, 10, 45), std::tuple(5, 15, 40), std::tuple(2, 5, 35)}) {
    auto file = std::make_shared<format::FileMeta>();
    file->number = kv::FileNumber{static_cast<uint64_t>(position)};
    file->entries = 1;
    file->smallest = "a";
    file->largest = "c";
    file->smallest_sequence = static_cast<kv::Sequence>(smallest);
    file->largest_sequence = static_cast<kv::Sequence>(largest);
    edit.adds.push_back(
        {.position = kv::Position{static_cast<uint64_t>(position)}, .level = 0, .file = file, .bounds = {}});
  }
  const auto version = ApplyEdit(kOrder, Version(), edit);
  ASSERT_TRUE(version.has_value()) << version.status().ToString();
  EXPECT_TRUE(
      CompactedRangesBy(kOrder, **version, kv::Position{5}, kv::Position{5}, {.lower = "a", .upper = "c"}, 0).empty());
}

}  // namespace
}  // namespace mergedb::version
