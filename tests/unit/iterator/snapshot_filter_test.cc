// Goal: the filter shows its input as of a sequence. Method: at every sequence, scans in both directions and
// seeks over random versions, compared with the list without the newer versions.
#include "iterator/snapshot_filter.h"

#include <gtest/gtest.h>

#include "tests/unit/iterator/iterator_inputs.h"

namespace mergedb::iterator {
namespace {

std::vector<OwnedEntry> Versions(base::Random& random) {
  std::vector<OwnedEntry> entries;
  for (kv::Sequence sequence = 1; sequence <= 60; ++sequence) {
    const std::string key(1, static_cast<char>('a' + 2 * random.Uniform(5)));
    entries.push_back(random.OneIn(4) ? Delete(key, sequence) : Put(key, sequence, "v"));
  }
  SortEntries(&entries, kOrder);
  return entries;
}

TEST(AsOf, ShowsWhatWasThereThenInBothDirections) {
  base::Random random(3);
  const auto all = Versions(random);
  for (kv::Sequence at = 0; at <= 61; ++at) {
    std::vector<OwnedEntry> then;
    std::copy_if(all.begin(), all.end(), std::back_inserter(then),
                 [&](const OwnedEntry& e) { return kv::SequenceOf(e.tag) <= at; });
    const auto expected = Input(then);
    const auto shown = NewSnapshotFilter(kOrder, at, Input(all));
    ASSERT_EQ(PrintAll(*shown), PrintAll(*expected)) << at;
    shown->SeekToLast();
    for (expected->SeekToLast(); expected->Valid(); expected->Prev(), shown->Prev()) {
      ASSERT_TRUE(shown->Valid());
      ASSERT_EQ(Print(shown->entry()), Print(expected->entry()));
    }
    ASSERT_FALSE(shown->Valid());
    for (char key = 'a'; key < 'l'; ++key) {
      for (const kv::Tag tag : {kv::Tag{0}, kv::SeekTag(20), kv::SeekTag(at), kv::SeekTag(55), kv::kTagMax}) {
        shown->Seek(std::string(1, key), tag);
        expected->Seek(std::string(1, key), tag);
        ASSERT_EQ(shown->Valid(), expected->Valid());
        if (!shown->Valid()) continue;
        ASSERT_EQ(Print(shown->entry()), Print(expected->entry()));
        if (random.OneIn(2)) {
          shown->Prev();
          expected->Prev();
        } else {
          shown->Next();
          expected->Next();
        }
        ASSERT_EQ(shown->Valid() ? Print(shown->entry()) : "", expected->Valid() ? Print(expected->entry()) : "");
      }
    }
  }
}

TEST(AsOf, AnErrorIsNoEnd) {
  const auto shown =
      NewSnapshotFilter(kOrder, 5, Input({Put("a", 1), Put("b", 9), Put("c", 2)}, BytewiseComparator(), 1));
  shown->SeekToFirst();
  ASSERT_TRUE(shown->Valid());
  shown->Next();
  EXPECT_FALSE(shown->Valid());
  EXPECT_EQ(shown->status().code(), Code::kIOError);
}

}  // namespace
}  // namespace mergedb::iterator
