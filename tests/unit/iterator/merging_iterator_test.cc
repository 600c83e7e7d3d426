// Goal: a merging iterator over K children shows one sorted vector of all their entries, in both directions,
// with equal entries side by side, and stops at the first child that fails.
#include "iterator/merging_iterator.h"

#include <gtest/gtest.h>

#include "tests/unit/iterator/iterator_inputs.h"

namespace mergedb::iterator {
namespace {

using testing::CheckIteratorContract;
using testing::OpenIterator;

class ReverseComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return base::CompareBytes(b, a); }
  std::string_view Name() const override { return "reverse"; }
};

std::unique_ptr<kv::Iterator> MergeOf(const std::vector<std::vector<OwnedEntry>>& runs,
                                      const Comparator* comparator = BytewiseComparator()) {
  std::vector<std::unique_ptr<kv::Iterator>> children;
  for (const auto& run : runs) children.push_back(Input(run, comparator));
  return NewMergingIterator(kv::Order(comparator), std::move(children));
}

// Distributes the entries to `width` children: one by one, in long sequences, or nearly all to one child.
std::vector<std::vector<OwnedEntry>> Deal(const std::vector<OwnedEntry>& entries, size_t width, base::Random& random) {
  std::vector<std::vector<OwnedEntry>> runs(width);
  const uint64_t stretch = 1 + random.Uniform(20);
  size_t to = 0;
  for (const OwnedEntry& entry : entries) {
    if (random.OneIn(stretch)) to = random.Uniform(width);
    runs[to].push_back(entry);
  }
  return runs;
}

TEST(MergingIterator, ShowsAllChildrenInOrder) {
  const auto merged = MergeOf({{Put("b", 5, "2"), Put("d", 7, "4")}, {Put("a", 1, "1"), Put("b", 2, "3")}, {}});
  EXPECT_EQ(PrintAll(*merged), "a#1,PUT=1 b#5,PUT=2 b#2,PUT=3 d#7,PUT=4 ");
}

TEST(MergingIterator, OfNothingIsEmpty) {
  const auto merged = MergeOf({});
  merged->SeekToFirst();
  EXPECT_FALSE(merged->Valid());
  EXPECT_TRUE(merged->status().ok());
}

TEST(MergingIterator, KeepsTheContract) {
  for (const size_t width : {1, 2, 3, 7, 16}) {
    SCOPED_TRACE(width);
    CheckIteratorContract({.build = [width](const std::vector<OwnedEntry>& entries) -> OpenIterator {
                             base::Random random(width);
                             const auto runs = Deal(entries, width, random);
                             return [runs] { return MergeOf(runs); };
                           },
                           .value_bytes_max = 100});
  }
}

TEST(MergingIterator, KeepsTheContractUnderAnotherOrder) {
  static const ReverseComparator reverse;
  CheckIteratorContract({.build = [](const std::vector<OwnedEntry>& entries) -> OpenIterator {
                           base::Random random(5);
                           const auto runs = Deal(entries, 5, random);
                           return [runs] { return MergeOf(runs, &reverse); };
                         },
                         .comparator = &reverse,
                         .value_bytes_max = 100});
}

TEST(MergingIterator, KeepsTheContractForwardOnly) {
  CheckIteratorContract({.build = [](const std::vector<OwnedEntry>& entries) -> OpenIterator {
                           base::Random random(5);
                           const auto runs = Deal(entries, 5, random);
                           const auto merge = [runs](const std::optional<std::string>& lower) {
                             std::vector<std::unique_ptr<kv::ForwardIterator>> children;
                             for (std::vector<OwnedEntry> run : runs) {
                               std::erase_if(run, [&](const auto& entry) { return lower && entry.key < *lower; });
                               children.push_back(Input(std::move(run)));
                             }
                             return NewMergingIterator(kOrder, std::move(children));
                           };
                           return [merge] { return std::make_unique<testing::Rewalked>(merge); };
                         },
                         .value_bytes_max = 100});
}

TEST(MergingIterator, NeverSkipsWhatAChildCannotRead) {
  CheckIteratorContract({
      .build = [](const std::vector<OwnedEntry>& entries) -> OpenIterator {
        return [entries] { return MergeOf({entries, {}}); };
      },
      .build_damaged = [](const std::vector<OwnedEntry>& entries) -> OpenIterator {
        base::Random random(3);
        const auto runs = Deal(entries, 3, random);
        return [runs] {
          std::vector<std::unique_ptr<kv::Iterator>> children;
          for (const auto& run : runs) children.push_back(Input(run, BytewiseComparator(), run.size() / 2));
          return NewMergingIterator(kOrder, std::move(children));
        };
      },
      .value_bytes_max = 100,
  });
}

TEST(MergingIterator, WorksAgainAfterAnErrorThatPassed) {
  std::vector<std::unique_ptr<kv::Iterator>> children;
  children.push_back(Input({Put("a", 1), Put("b", 2)}, BytewiseComparator(), 0));
  children.push_back(Input({Put("c", 3)}));
  const auto merged = NewMergingIterator(kOrder, std::move(children));
  merged->SeekToFirst();
  EXPECT_FALSE(merged->Valid());
  EXPECT_EQ(merged->status().code(), Code::kIOError);
  merged->Seek("b", kv::kTagMax);
  EXPECT_EQ(PrintRest(*merged), "b#2,PUT= c#3,PUT= ");
}

TEST(MergingIterator, ShowsEqualEntriesNewerChildFirstAndMirrored) {
  const auto merged =
      MergeOf({{Put("k", 5, "new")}, {Put("a", 1), Put("k", 5, "mid"), Put("z", 9)}, {Put("k", 5, "old")}});
  EXPECT_EQ(PrintAll(*merged), "a#1,PUT= k#5,PUT=new k#5,PUT=mid k#5,PUT=old z#9,PUT= ");
  std::string backward;
  for (merged->SeekToLast(); merged->Valid(); merged->Prev()) backward += merged->entry().value;
  EXPECT_EQ(backward, "oldmidnew");
}

// A change of direction at any entry shows the right neighbour, also among equal entries.
TEST(MergingIterator, TurnsAroundAmongEqualEntries) {
  const std::vector<std::vector<OwnedEntry>> runs = {
      {Put("b", 2, "0"), Put("k", 5, "1")}, {Put("k", 5, "2"), Put("m", 3, "4")}, {Put("a", 1, "-"), Put("k", 5, "3")}};
  const auto merged = MergeOf(runs);
  std::vector<std::string> all;
  for (merged->SeekToFirst(); merged->Valid(); merged->Next()) all.push_back(Print(merged->entry()));
  base::Random random(11);
  size_t at = 0;
  merged->SeekToFirst();
  for (int step = 0; step < 500; ++step) {
    const bool forward = at == 0 || (at + 1 < all.size() && random.OneIn(2));
    forward ? merged->Next() : merged->Prev();
    at += forward ? 1 : -1;
    ASSERT_TRUE(merged->Valid()) << "step " << step;
    ASSERT_EQ(Print(merged->entry()), all[at]) << "step " << step;
  }
}

// Ranks are taken after the bytes that all heads share. Here those bytes change during the scan, in both
// directions.
TEST(MergingIterator, MergesKeysWhoseSharedBytesChangeOnTheWay) {
  std::vector<OwnedEntry> entries;
  for (int i = 0; i < 1000; ++i) {
    char key[32];
    std::snprintf(key, sizeof key, "%c/%012d", "abc"[i / 400], i * 37 % 1000 * 12345);
    entries.push_back(Put(key, 1));
    if (i % 50 == 0) entries.push_back(Put(std::string(i / 50, 'b'), 2));
    if (i % 90 == 0) entries.push_back(Put(std::string(8 + i / 90, '\xff'), 3));
  }
  SortEntries(&entries, kOrder);
  base::Random random(17);
  const auto merged = MergeOf(Deal(entries, 9, random));
  merged->SeekToFirst();
  for (const OwnedEntry& entry : entries) {
    ASSERT_TRUE(merged->Valid());
    ASSERT_EQ(merged->entry().key, entry.key);
    merged->Next();
  }
  EXPECT_FALSE(merged->Valid());
  merged->SeekToLast();
  for (size_t i = entries.size(); i-- > 0; merged->Prev()) {
    ASSERT_TRUE(merged->Valid());
    ASSERT_EQ(merged->entry().key, entries[i].key);
  }
  EXPECT_FALSE(merged->Valid());
}

TEST(MergingIterator, SeeksToItsOwnEntry) {
  const auto merged = MergeOf({{Put("a", 1), Put("c", 3)}, {Put("b", 2), Put("d", 4)}});
  merged->SeekToFirst();
  merged->Seek(merged->entry().key, merged->entry().tag);
  EXPECT_EQ(PrintRest(*merged), "a#1,PUT= b#2,PUT= c#3,PUT= d#4,PUT= ");
}

}  // namespace
}  // namespace mergedb::iterator
