// Goal: the filter drops the versions that range tombstones hide from every reader, and no others. Method: the
// example in the header of range_tombstone_filter.h, then random tombstones and snapshots, compared with a loop
// over everything.
#include "iterator/range_tombstone_filter.h"

#include <gtest/gtest.h>

#include <deque>

#include "tests/unit/iterator/iterator_inputs.h"

namespace mergedb::iterator {
namespace {

std::string Survivors(std::vector<OwnedEntry> entries, std::vector<kv::RangeTombstone> tombstones,
                      std::vector<kv::Sequence> snapshots, uint64_t* dropped) {
  const kv::Stripes stripes(std::move(snapshots));
  const auto list =
      kv::RangeTombstones::Fragment(kOrder, std::move(tombstones), stripes, kv::RangeTombstones::Keys::kViews);
  *dropped = 0;
  const auto surviving = NewRangeTombstoneFilter(kOrder, list, stripes, Input(std::move(entries)), dropped);
  return PrintAll(*surviving);
}

TEST(RangeTombstoneFilter, DropsWhatIsMaskedInEverySnapshot) {
  const std::vector<OwnedEntry> entries = {Put("a", 4), Put("c", 4), Put("d", 2), Put("e", 6), Put("n", 1)};
  uint64_t dropped = 0;
  EXPECT_EQ(Survivors(entries, {{"b", "m", 5}}, {3}, &dropped), "a#4,PUT= d#2,PUT= e#6,PUT= n#1,PUT= ");
  EXPECT_EQ(dropped, 1u);
  EXPECT_EQ(Survivors(entries, {{"b", "m", 5}}, {}, &dropped), "a#4,PUT= e#6,PUT= n#1,PUT= ");
  EXPECT_EQ(Survivors(entries, {{"b", "m", 5}, {"a", "n", 1}}, {3}, &dropped), "a#4,PUT= d#2,PUT= e#6,PUT= n#1,PUT= ");
  EXPECT_EQ(Survivors(entries, {}, {3}, &dropped), "a#4,PUT= c#4,PUT= d#2,PUT= e#6,PUT= n#1,PUT= ");
}

TEST(RangeTombstoneFilter, ReportsWhatItsInputCannotRead) {
  const auto list = kv::RangeTombstones::Fragment(kOrder, {{"a", "b", 9}}, {}, kv::RangeTombstones::Keys::kViews);
  uint64_t dropped = 0;
  const auto surviving = NewRangeTombstoneFilter(
      kOrder, list, {}, Input({Put("a", 1), Put("b", 2), Put("c", 3)}, BytewiseComparator(), 2), &dropped);
  EXPECT_EQ(PrintAll(*surviving), "b#2,PUT= IOError: gap");
}

TEST(RangeTombstoneFilter, KeepsWhatSomeSnapshotSees) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    std::deque<std::string> keys;
    std::vector<OwnedEntry> entries;
    std::vector<kv::RangeTombstone> tombstones;
    for (kv::Sequence change = 1; change <= 120; ++change) {
      const auto draw = [&]() -> const std::string& {
        return keys.emplace_back(std::to_string(100 + random.Uniform(30)));
      };
      if (random.OneIn(6)) {
        const std::string_view begin = draw();
        tombstones.push_back({begin, draw(), change});
      } else {
        entries.push_back(Put(draw(), change));
      }
    }
    SortEntries(&entries, kOrder);
    std::vector<kv::Sequence> snapshots;
    for (uint64_t n = random.Uniform(5); n > 0; --n) snapshots.push_back(random.Uniform(120));
    std::sort(snapshots.begin(), snapshots.end());
    std::vector<kv::Sequence> readers = snapshots;
    readers.push_back(kv::kSequenceMax);

    std::string expected;
    for (const OwnedEntry& entry : entries) {
      const kv::Sequence own = kv::SequenceOf(entry.tag);
      const bool is_seen = std::any_of(readers.begin(), readers.end(), [&](kv::Sequence reader) {
        return own <= reader && std::none_of(tombstones.begin(), tombstones.end(), [&](const kv::RangeTombstone& each) {
                 return each.begin <= entry.key && entry.key < each.end && each.sequence > own &&
                        each.sequence <= reader;
               });
      });
      if (is_seen) expected += Print(testing::ViewOf(entry, kOrder)) + " ";
    }
    uint64_t dropped = 0;
    ASSERT_EQ(Survivors(entries, tombstones, snapshots, &dropped), expected);
  }
}

}  // namespace
}  // namespace mergedb::iterator
