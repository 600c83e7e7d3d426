// Goal: whoever could read before a compaction reads the same after it, and nothing that nobody can read is kept.
#include "stream/collapsing.h"

#include <gtest/gtest.h>

#include <set>

#include "stream/visible.h"
#include "tests/unit/stream/stream_inputs.h"

namespace mergedb::stream {
namespace {

const kv::Order kOrder(BytewiseComparator());

std::string Collapse(std::vector<OwnedEntry> entries, CollapseOptions options, CollapseCounts* counts = nullptr) {
  CollapseCounts own;
  return PrintAll(*NewCollapsingIterator(kOrder, std::move(options), Input(std::move(entries)),
                                         counts == nullptr ? &own : counts));
}

TEST(CollapsingIterator, KeepsOneVersionInEachStripe) {
  const std::vector<OwnedEntry> entries = {Put("k", 9), Put("k", 8), Put("k", 6), Put("k", 5),
                                           Put("k", 3), Put("k", 2), Put("k", 1)};
  EXPECT_EQ(Collapse(entries, {.snapshots = {2, 7}}), "k#9,PUT= k#6,PUT= k#2,PUT= ");
  EXPECT_EQ(Collapse(entries, {}), "k#9,PUT= ");
}

TEST(CollapsingIterator, KeepsATombstoneAboveTheBottom) {
  EXPECT_EQ(Collapse({Delete("a", 5), Put("a", 3)}, {}), "a#5,DELETE= ");
}

TEST(CollapsingIterator, DropsATombstoneAtTheBottomAndZeroesWhatAllCanSee) {
  CollapseCounts counts;
  EXPECT_EQ(Collapse({Delete("a", 5), Put("a", 3), Put("b", 4, "v"), Put("b", 4, "v")}, {.is_bottom = true}, &counts),
            "b#0,PUT=v ");
  EXPECT_EQ(counts.entries_in, 4u);
  EXPECT_EQ(counts.entries_out, 1u);
  EXPECT_EQ(counts.hidden, 2u);
  EXPECT_EQ(counts.tombstones, 1u);
}

TEST(CollapsingIterator, KeepsATombstoneThatASnapshotNeeds) {
  EXPECT_EQ(Collapse({Delete("a", 5), Put("a", 3, "v")}, {.snapshots = {3}, .is_bottom = true}),
            "a#5,DELETE= a#0,PUT=v ");
  EXPECT_EQ(Collapse({Put("a", 5, "v"), Delete("a", 3)}, {.snapshots = {3}, .is_bottom = true}), "a#5,PUT=v ");
}

TEST(CollapsingIterator, KeepsAReferenceLikeThePutThatItIs) {
  const auto ref = [](std::string key, kv::Sequence sequence) -> OwnedEntry {
    return {std::move(key), kv::MakeTag(sequence, kv::Kind::kPutRef), "r"};
  };
  EXPECT_EQ(Collapse({ref("a", 5), Put("a", 3), Delete("b", 4), ref("b", 2)}, {.is_bottom = true}), "a#0,PUT_REF=r ");
  // One change in two places, its value in a file in one of them: one of the two is enough.
  EXPECT_EQ(Collapse({ref("a", 5), Put("a", 5)}, {}), "a#5,PUT_REF=r ");
}

TEST(CollapsingIterator, RefusesAKindThatItCannotFold) {
  for (const kv::Kind kind : {kv::Kind::kMerge, kv::Kind::kRangeDelete}) {
    // Even where a newer version hides it.
    CollapseCounts counts;
    const auto collapsing =
        NewCollapsingIterator(kOrder, {}, Input({Put("a", 9), {"a", kv::MakeTag(2, kind), "v"}}), &counts);
    collapsing->SeekToFirst();
    ASSERT_TRUE(collapsing->Valid());
    collapsing->Next();
    EXPECT_FALSE(collapsing->Valid());
    EXPECT_EQ(collapsing->status().code(), Code::kNotSupported);
  }
}

TEST(CollapsingIterator, ReportsWhatItsInputCannotRead) {
  CollapseCounts counts;
  const auto collapsing = NewCollapsingIterator(
      kOrder, {}, Input({Put("a", 1), Put("a", 0), Put("b", 2)}, BytewiseComparator(), 1), &counts);
  EXPECT_EQ(PrintAll(*collapsing), "a#1,PUT= IOError: gap");
}

TEST(CollapsingIterator, SeeksToWhatAFullWalkWouldShow) {
  const std::vector<OwnedEntry> entries = {Put("a", 9), Put("a", 5), Put("a", 2), Put("b", 4), Put("b", 3)};
  CollapseCounts counts;
  const auto collapsing = NewCollapsingIterator(kOrder, {.snapshots = {4}}, Input(entries), &counts);
  collapsing->Seek("a", kv::SeekTag(6));  // version 5 is hidden by 9
  EXPECT_EQ(PrintRest(*collapsing), "a#2,PUT= b#4,PUT= ");
  collapsing->Seek("b", kv::SeekTag(3));
  EXPECT_EQ(PrintRest(*collapsing), "");
}

// What a reader at `sequence` sees, without the tags: those of the bottom become zero.
std::string ReadAt(kv::Sequence sequence, std::unique_ptr<kv::Iterator> input) {
  const auto visible = NewVisibleIterator(kOrder, {.sequence = sequence}, std::move(input));
  std::string out;
  for (visible->SeekToFirst(); visible->Valid(); visible->Next()) {
    out.append(visible->entry().key).append("=").append(visible->entry().value).append(" ");
  }
  EXPECT_TRUE(visible->status().ok());
  return out;
}

TEST(CollapsingIterator, ChangesNothingForAnyReader) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    std::vector<OwnedEntry> entries = RandomHistory(random, 150, 1 + random.Uniform(20));
    for (int i = 0; i < 5; ++i) entries.push_back(entries[random.Uniform(150)]);  // replayed twice
    SortEntries(&entries, kOrder);
    std::set<kv::Sequence> snapshots;
    for (uint64_t i = random.Uniform(5); i > 0; --i) snapshots.insert(random.Uniform(152));
    const bool is_bottom = random.OneIn(2);

    CollapseCounts counts;
    const auto collapsing =
        NewCollapsingIterator(kOrder, {.snapshots = {snapshots.begin(), snapshots.end()}, .is_bottom = is_bottom},
                              Input(entries), &counts);
    std::vector<OwnedEntry> kept;
    for (collapsing->SeekToFirst(); collapsing->Valid(); collapsing->Next()) {
      const kv::Entry& entry = collapsing->entry();
      kept.push_back({std::string(entry.key), entry.tag, std::string(entry.value)});
    }
    ASSERT_TRUE(collapsing->status().ok());
    EXPECT_EQ(counts.entries_in, entries.size());
    EXPECT_EQ(counts.entries_out, kept.size());
    EXPECT_EQ(counts.entries_in, counts.entries_out + counts.hidden + counts.tombstones);
    if (is_bottom && snapshots.empty()) {
      EXPECT_EQ(ReadAt(0, Input(kept)), ReadAt(kv::kSequenceMax, Input(entries)));
    }

    snapshots.insert(kv::kSequenceMax);
    for (const kv::Sequence sequence : snapshots) {
      EXPECT_EQ(ReadAt(sequence, Input(kept)), ReadAt(sequence, Input(entries))) << "at " << sequence;
    }
    if (!is_bottom) {  // over older data, a tombstone still hides it
      std::vector<OwnedEntry> older;
      for (size_t i = 0; i < 20; ++i) older.push_back(Put("some/directory/" + std::to_string(i), 0, "older"));
      std::vector<OwnedEntry> before = entries, after = kept;
      before.insert(before.end(), older.begin(), older.end());
      after.insert(after.end(), older.begin(), older.end());
      SortEntries(&before, kOrder);
      SortEntries(&after, kOrder);
      for (const kv::Sequence sequence : snapshots) {
        EXPECT_EQ(ReadAt(sequence, Input(after)), ReadAt(sequence, Input(before))) << "at " << sequence;
      }
    }
  }
}

}  // namespace
}  // namespace mergedb::stream
