// Goal: every reader reads the same before and after a compaction, and no version is kept that no reader can
// read.
#include "iterator/compaction_iterator.h"

#include <gtest/gtest.h>
#include <strings.h>

#include <set>

#include "iterator/user_iterator.h"
#include "tests/unit/iterator/iterator_inputs.h"

namespace mergedb::iterator {
namespace {

std::string Collapse(std::vector<OwnedEntry> entries, CompactionIteratorOptions options,
                     CompactionIteratorCounts* counts = nullptr) {
  CompactionIteratorCounts own;
  return PrintAll(
      *NewCompactionIterator(kOrder, std::move(options), Input(std::move(entries)), counts == nullptr ? &own : counts));
}

TEST(CompactionIterator, KeepsOneVersionInEachStripe) {
  const std::vector<OwnedEntry> entries = {Put("k", 9), Put("k", 8), Put("k", 6), Put("k", 5),
                                           Put("k", 3), Put("k", 2), Put("k", 1)};
  EXPECT_EQ(Collapse(entries, {.stripes = kv::Stripes({2, 7})}), "k#9,PUT= k#6,PUT= k#2,PUT= ");
  EXPECT_EQ(Collapse(entries, {}), "k#9,PUT= ");
}

TEST(CompactionIterator, KeepsATombstoneAboveTheBottom) {
  EXPECT_EQ(Collapse({Delete("a", 5), Put("a", 3)}, {}), "a#5,DELETE= ");
}

TEST(CompactionIterator, DropsATombstoneAtTheBottomAndZeroesWhatAllCanSee) {
  CompactionIteratorCounts counts;
  EXPECT_EQ(
      Collapse({Delete("a", 5), Put("a", 3), Put("b", 4, "v"), Put("b", 4, "v")}, {.is_bottommost = true}, &counts),
      "b#0,PUT=v ");
  EXPECT_EQ(counts.entries_in, 4u);
  EXPECT_EQ(counts.entries_out, 1u);
  EXPECT_EQ(counts.hidden, 2u);
  EXPECT_EQ(counts.tombstones, 1u);
}

TEST(CompactionIterator, KeepsATombstoneThatASnapshotNeeds) {
  EXPECT_EQ(Collapse({Delete("a", 5), Put("a", 3, "v")}, {.stripes = kv::Stripes({3}), .is_bottommost = true}),
            "a#5,DELETE= a#0,PUT=v ");
  EXPECT_EQ(Collapse({Put("a", 5, "v"), Delete("a", 3)}, {.stripes = kv::Stripes({3}), .is_bottommost = true}),
            "a#5,PUT=v ");
}

TEST(CompactionIterator, KeepsABlobIndexAsAPut) {
  const auto ref = [](std::string key, kv::Sequence sequence) -> OwnedEntry {
    return {std::move(key), kv::MakeTag(sequence, kv::Kind::kPutBlobIndex), "r"};
  };
  EXPECT_EQ(Collapse({ref("a", 5), Put("a", 3), Delete("b", 4), ref("b", 2)}, {.is_bottommost = true}),
            "a#0,PUT_REF=r ");
  // The same change twice, once with its value in a blob file: one of the two is kept.
  EXPECT_EQ(Collapse({ref("a", 5), Put("a", 5)}, {}), "a#5,PUT_REF=r ");
}

TEST(CompactionIterator, RefusesAKindThatItCannotFold) {
  // Also if a newer version hides it.
  CompactionIteratorCounts counts;
  const auto collapsing = NewCompactionIterator(
      kOrder, {}, Input({Put("a", 9), {"a", kv::MakeTag(2, kv::Kind::kRangeDelete), "v"}}), &counts);
  collapsing->SeekToFirst();
  ASSERT_TRUE(collapsing->Valid());
  collapsing->Next();
  EXPECT_FALSE(collapsing->Valid());
  EXPECT_EQ(collapsing->status().code(), Code::kNotSupported);
}

// "r:x" is a blob index of the value "x"; "bad" cannot be resolved.
class FoldedValues final : public kv::ValueSource {
 public:
  Status Resolve(const kv::Entry& entry, std::string_view* value) override {
    EXPECT_EQ(entry.key, "a");
    if (entry.value == "bad") return Status::Corruption("no value there");
    last_.assign(entry.value.substr(2));
    *value = last_;
    return {};
  }

 private:
  std::string last_;
};

TEST(CompactionIterator, FoldsOperandsOntoTheValueOfABlobIndex) {
  FoldedValues values;
  const auto entries = [](std::string reference) -> std::vector<OwnedEntry> {
    return {Merge("a", 9, merge::Append("c")),
            {"a", kv::MakeTag(5, kv::Kind::kPutBlobIndex), std::move(reference)},
            Put("a", 3, "x")};
  };
  EXPECT_EQ(Collapse(entries("r:ab"), {.values = &values}), "a#9,PUT=abc ");
  EXPECT_EQ(Collapse(entries("r:ab"), {.is_bottommost = true, .values = &values}), "a#0,PUT=abc ");
  // The bytes of a blob index are never used as a value. If the value cannot be read, operand and base stay as
  // they are.
  const std::string operand = merge::Append("c");
  for (const auto& reference : {"r:ab", "bad"}) {
    const CompactionIteratorOptions options{.values = std::string_view(reference) == "bad" ? &values : nullptr};
    EXPECT_TRUE(Collapse(entries(reference), options).ends_with("a#5,PUT_REF=" + std::string(reference) + " "));
  }
  EXPECT_TRUE(Collapse(entries("bad"), {.is_bottommost = true, .values = &values}).ends_with("a#0,PUT_REF=bad "));
}

TEST(CompactionIterator, FoldsOperandsOntoTheBaseOfTheirStripe) {
  const std::vector<OwnedEntry> entries = {
      Merge("k", 9, merge::Append("d")), Merge("k", 8, merge::Append("c")), Put("k", 7, "b"),
      Merge("k", 5, merge::Append("!")), Merge("k", 3, merge::Append("?")), Put("k", 2, "older")};
  EXPECT_EQ(Collapse(entries, {}), "k#9,PUT=bcd ");
  EXPECT_EQ(Collapse(entries, {.stripes = kv::Stripes({6})}), "k#9,PUT=bcd k#5,PUT=older?! ");
  EXPECT_EQ(Collapse(entries, {.stripes = kv::Stripes({2, 8})}),
            "k#9,MERGE=" + merge::Append("d") + " k#8,PUT=bc k#2,PUT=older ");
}

TEST(CompactionIterator, CombinesOperandsWithoutABaseAndMakesAPutOfThemAtTheBottom) {
  const std::vector<OwnedEntry> entries = {Merge("k", 9, merge::AddU64(4)), Merge("k", 5, merge::AddU64(2)),
                                           Merge("k", 3, merge::AddU64(1))};
  EXPECT_EQ(Collapse(entries, {}), "k#9,MERGE=" + merge::AddU64(7) + " ");
  EXPECT_EQ(Collapse(entries, {.is_bottommost = true}), "k#0,MERGED=\x01" + merge::FromU64(7) + " ");
  EXPECT_EQ(Collapse(entries, {.stripes = kv::Stripes({5}), .is_bottommost = true}),
            "k#9,MERGE=" + merge::AddU64(4) + " k#0,MERGED=\x01" + merge::FromU64(3) + " ");
  EXPECT_EQ(Collapse({Merge("k", 9, merge::Append("b")), Delete("k", 8), Put("k", 2, "x")}, {.is_bottommost = true}),
            "k#0,PUT=b ");
}

TEST(CompactionIterator, AddsCountersToWhateverIsBelowThem) {
  const auto above = [](OwnedEntry base) -> std::vector<OwnedEntry> {
    return {Merge("k", 9, merge::AddU64(4)), Merge("k", 9, merge::AddU64(4)), Merge("k", 8, merge::AddU64(2)),
            std::move(base), Put("k", 1, "hidden")};
  };
  const std::string six = "\x01" + merge::FromU64(6), ten = "\x01" + merge::FromU64(10);
  CompactionIteratorCounts counts;
  EXPECT_EQ(Collapse(above(Put("k", 7, merge::FromU64(4))), {}, &counts), "k#9,MERGED=" + ten + " ");
  EXPECT_EQ(counts.entries_in, 5u);
  EXPECT_EQ(counts.entries_out, 1u);
  EXPECT_EQ(counts.hidden, 4u);
  EXPECT_EQ(
      Collapse(above({"k", kv::MakeTag(7, kv::Kind::kMerged), "\x01" + merge::FromU64(4)}), {.is_bottommost = true}),
      "k#0,MERGED=" + ten + " ");
  EXPECT_EQ(Collapse(above(Delete("k", 7)), {}), "k#9,MERGED=" + six + " ");
  EXPECT_EQ(Collapse(above(Put("k", 7, "abc")), {}), "k#9,MERGE=" + merge::AddU64(6) + " k#7,PUT=abc ");
  // Only operands of the same type are combined.
  const std::string appended = merge::Append("x");
  EXPECT_EQ(Collapse({Merge("k", 9, merge::AddU64(4)), Merge("k", 8, merge::AddU64(2)), Merge("k", 7, appended),
                      Merge("k", 6, appended)},
                     {}),
            "k#9,MERGE=" + merge::AddU64(6) + " k#7,MERGE=" + merge::Append("xx") + " ");
  EXPECT_EQ(
      Collapse({Merge("k", 9, appended), Merge("k", 8, merge::AddU64(2)), Merge("k", 7, merge::AddU64(4)), Put("l", 3)},
               {}),
      "k#9,MERGE=" + appended + " k#8,MERGE=" + merge::AddU64(6) + " l#3,PUT= ");
}

TEST(CompactionIterator, ShowsNoSumOfCountersThatItCannotReadToTheEnd) {
  const std::vector<OwnedEntry> counters = {Merge("k", 9, merge::AddU64(4)),
                                            Merge("k", 8, merge::AddU64(2)),
                                            {"k", kv::MakeTag(7, kv::Kind::kRangeDelete), "l"}};
  CompactionIteratorCounts counts;
  const auto unreadable = NewCompactionIterator(kOrder, {}, Input(counters, BytewiseComparator(), 1), &counts);
  EXPECT_EQ(PrintAll(*unreadable), "IOError: gap");
  const auto unknown = NewCompactionIterator(kOrder, {}, Input(counters), &counts);
  unknown->SeekToFirst();
  EXPECT_FALSE(unknown->Valid());
  EXPECT_EQ(unknown->status().code(), Code::kNotSupported);
}

// Symptom: a snapshot saw an older version under the newer version's spelling of the key.
// Cause: a folded entry took the spelling of the key's first stripe.
TEST(CompactionIterator, ShowsEachStripeUnderItsOwnSpellingOfTheKey) {
  struct Caseless final : Comparator {
    int Compare(std::string_view a, std::string_view b) const override { return strncasecmp(a.data(), b.data(), 1); }
    std::string_view Name() const override { return "caseless"; }
  };
  const Caseless caseless;
  CompactionIteratorCounts counts;
  const auto collapsing = NewCompactionIterator(
      kv::Order(&caseless), {.stripes = kv::Stripes({5})},
      Input({Put("k", 9, "v"), Merge("K", 4, merge::Append("b")), Merge("k", 3, merge::Append("a"))}, &caseless),
      &counts);
  EXPECT_EQ(PrintAll(*collapsing), "k#9,PUT=v K#4,MERGE=" + merge::Append("ab") + " ");
}

TEST(CompactionIterator, LeavesAloneWhatCannotBeFolded) {
  const auto missing = [](kv::Sequence sequence) { return Merge("k", sequence, merge::Named("absent", "x")); };
  const std::string operand = merge::Named("absent", "x");
  CompactionIteratorCounts counts;
  EXPECT_EQ(
      Collapse({missing(9), missing(8), Put("k", 7, "base"), Put("k", 6, "hidden")}, {.is_bottommost = true}, &counts),
      "k#9,MERGE=" + operand + " k#8,MERGE=" + operand + " k#0,PUT=base ");
  EXPECT_EQ(counts.entries_in, counts.entries_out + counts.hidden + counts.tombstones);
  EXPECT_EQ(Collapse({missing(9), Delete("k", 8), Put("k", 2)}, {.is_bottommost = true}), "k#9,MERGE=" + operand + " ");
  EXPECT_EQ(Collapse({missing(9), Delete("k", 8), Put("k", 2)}, {}), "k#9,MERGE=" + operand + " k#8,DELETE= ");
  EXPECT_EQ(Collapse({Merge("k", 9, merge::AddU64(1)), Merge("k", 8, merge::AddU64(1)), Put("k", 7, "abc")}, {}),
            "k#9,MERGE=" + merge::AddU64(2) + " k#7,PUT=abc ");
}

TEST(CompactionIterator, LetsMoreOperandsThanItFoldsPassInOrder) {
  std::vector<OwnedEntry> entries;
  const size_t count = kv::kChainOperandsMax + 10;
  entries.reserve(count + 2);
  for (size_t i = 0; i < count; ++i) entries.push_back(Merge("k", 10 + count - i, merge::Named("absent", "")));
  entries.push_back(Put("k", 5, "base"));
  entries.push_back(Put("k", 4, "hidden"));
  CompactionIteratorCounts counts;
  const auto collapsing =
      NewCompactionIterator(kOrder, {.is_bottommost = true},
                            std::make_unique<VectorIterator>(std::move(entries), kOrder, std::nullopt), &counts);
  size_t seen = 0;
  kv::Tag last = kv::kTagMax;
  for (collapsing->SeekToFirst(); collapsing->Valid(); collapsing->Next(), ++seen) {
    ASSERT_LT(collapsing->entry().tag, last);
    last = collapsing->entry().tag;
  }
  EXPECT_EQ(seen, count + 1);
  EXPECT_EQ(last, kv::MakeTag(0, kv::Kind::kPut));
  EXPECT_EQ(counts.entries_in, counts.entries_out + counts.hidden + counts.tombstones);
}

TEST(CompactionIterator, ReportsWhatItsInputCannotRead) {
  CompactionIteratorCounts counts;
  const auto collapsing = NewCompactionIterator(
      kOrder, {}, Input({Put("a", 1), Put("a", 0), Put("b", 2)}, BytewiseComparator(), 1), &counts);
  EXPECT_EQ(PrintAll(*collapsing), "a#1,PUT= IOError: gap");
}

// The keys and values that a reader at `sequence` sees. Tags are left out: a bottommost compaction sets
// sequences to 0.
std::string ReadAt(kv::Sequence sequence, std::unique_ptr<kv::Iterator> input) {
  const auto visible = NewUserIterator(kOrder, {.sequence = sequence}, std::move(input));
  std::string out;
  for (visible->SeekToFirst(); visible->Valid(); visible->Next()) {
    out.append(visible->entry().key).append("=").append(visible->entry().value).append(" ");
  }
  EXPECT_TRUE(visible->status().ok());
  return out;
}

TEST(CompactionIterator, ChangesNothingForAnyReader) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const size_t keys = 1 + random.Uniform(20);
    std::vector<OwnedEntry> entries =
        random.OneIn(2) ? RandomHistory(random, 150, keys) : RandomMergeHistory(random, 150, keys);
    for (int i = 0; i < 5; ++i) entries.push_back(entries[random.Uniform(150)]);  // as if replayed twice
    SortEntries(&entries, kOrder);
    std::set<kv::Sequence> snapshots;
    for (uint64_t i = random.Uniform(5); i > 0; --i) snapshots.insert(random.Uniform(152));
    const bool is_bottommost = random.OneIn(2);

    CompactionIteratorCounts counts;
    const auto collapsing = NewCompactionIterator(
        kOrder, {.stripes = kv::Stripes({snapshots.begin(), snapshots.end()}), .is_bottommost = is_bottommost},
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
    if (is_bottommost && snapshots.empty()) {
      EXPECT_EQ(ReadAt(0, Input(kept)), ReadAt(kv::kSequenceMax, Input(entries)));
    }

    snapshots.insert(kv::kSequenceMax);
    for (const kv::Sequence sequence : snapshots) {
      EXPECT_EQ(ReadAt(sequence, Input(kept)), ReadAt(sequence, Input(entries))) << "at " << sequence;
    }
    if (!is_bottommost) {  // a kept tombstone still hides older data
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
}  // namespace mergedb::iterator
