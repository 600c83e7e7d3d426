// Goal: the iterator shows the merged entries that no range tombstone visible to the reader masks, in both
// directions, also after it skipped ranges. Method: examples, then random histories split into sources, with
// random moves compared with a loop over everything.
#include "iterator/masking_iterator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <new>

#include "testing/reverse_comparator.h"
#include "tests/unit/iterator/iterator_inputs.h"

namespace mergedb::iterator {
namespace {

const testing::ReverseComparator kReverse;

class ListSource final : public MaskSource {
 public:
  ListSource(const kv::Order& order, std::vector<kv::RangeTombstone> tombstones, kv::Sequence sequence, int* asked)
      : order_(order),
        list_(kv::RangeTombstones::Fragment(order, std::move(tombstones), kv::Stripes({sequence}),
                                            kv::RangeTombstones::Keys::kCopies)),
        sequence_(sequence),
        asked_(asked) {}
  Status Find(std::string_view key, kv::Mask* mask) override {
    if (asked_ != nullptr) ++*asked_;
    *mask = list_.Find(order_, key, sequence_);
    return {};
  }

 private:
  const kv::Order order_;
  const kv::RangeTombstones list_;
  const kv::Sequence sequence_;
  int* const asked_;
};

class FailingSource final : public MaskSource {
  Status Find(std::string_view, kv::Mask*) override { return Status::IOError("no tombstones to be had"); }
};

struct Source {
  std::vector<OwnedEntry> entries;
  std::vector<kv::RangeTombstone> tombstones;
};

std::unique_ptr<kv::Iterator> Uncovered(const std::vector<Source>& sources, kv::Sequence sequence,
                                        const Comparator* comparator = BytewiseComparator(), int* asked = nullptr) {
  MaskingInput input;
  const kv::Order order(comparator);
  for (const Source& source : sources) {
    if (!source.entries.empty()) input.children.push_back(Input(source.entries, comparator));
    if (source.tombstones.empty()) continue;
    input.masks.push_back({.source = std::make_unique<ListSource>(order, source.tombstones, sequence, asked),
                           .first_older = input.children.size()});
  }
  return NewMaskingIterator(order, std::move(input));
}

std::string PrintBackward(kv::Iterator& iterator) {
  std::string out;
  for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev()) out += Print(iterator.entry()) + " ";
  if (!iterator.status().ok()) out += iterator.status().ToString();
  return out;
}

TEST(MaskingIterator, HidesWhatIsOlderThanATombstoneOverIt) {
  const std::vector<Source> sources = {
      {{Put("c", 12)}, {{"b", "m", 9}}},
      {{Put("a", 3), Put("b", 4), Delete("c", 5), Put("c", 2), Put("m", 6)}, {}},
  };
  EXPECT_EQ(PrintAll(*Uncovered(sources, 100)), "a#3,PUT= c#12,PUT= m#6,PUT= ");
  EXPECT_EQ(PrintBackward(*Uncovered(sources, 100)), "m#6,PUT= c#12,PUT= a#3,PUT= ");
  EXPECT_EQ(PrintAll(*Uncovered(sources, 8)), "a#3,PUT= b#4,PUT= c#12,PUT= c#5,DELETE= c#2,PUT= m#6,PUT= ");
}

TEST(MaskingIterator, AnOldTombstoneHidesNothingNewer) {
  const std::vector<Source> sources = {{{Put("b", 7), Put("c", 4), Put("d", 5)}, {{"a", "z", 5}}}};
  EXPECT_EQ(PrintAll(*Uncovered(sources, 100)), "b#7,PUT= d#5,PUT= ");
}

TEST(MaskingIterator, SkipsALongStretchInAFewSteps) {
  std::vector<OwnedEntry> entries;
  for (int i = 1000; i < 9000; ++i) entries.push_back(Put(std::to_string(i), 1));
  int asked = 0;
  const std::vector<Source> sources = {{{Put("4000", 60)}, {{"2000", "5000", 50}, {"5000", "8000", 40}}},
                                       {entries, {}}};
  const auto uncovered = Uncovered(sources, 100, BytewiseComparator(), &asked);
  uncovered->Seek("1999", kv::kTagMax);
  EXPECT_EQ(uncovered->entry().key, "1999");
  uncovered->Next();
  EXPECT_EQ(uncovered->entry().key, "4000");
  uncovered->Next();
  EXPECT_EQ(uncovered->entry().key, "8000");
  uncovered->Prev();
  EXPECT_EQ(uncovered->entry().key, "4000");
  uncovered->Prev();
  EXPECT_EQ(uncovered->entry().key, "1999");
  EXPECT_LT(asked, 40);
}

TEST(MaskingIterator, OutsideOfItsBoundsItSpendsNoTime) {
  std::vector<OwnedEntry> entries;
  for (int i = 1000; i < 9000; ++i) entries.push_back(Put(std::to_string(i), 1));
  MaskingInput input;
  input.children.push_back(Input(entries));
  input.masks.push_back({.source = std::make_unique<ListSource>(
                             kOrder, std::vector<kv::RangeTombstone>{{"2000", "8000", 5}}, 100, nullptr),
                         .first_older = 1});  // the child may be newer: the iterator steps through it
  input.lower = "1500";
  input.upper = "2004";
  const auto uncovered = NewMaskingIterator(kOrder, std::move(input));
  uncovered->Seek("1999", kv::kTagMax);
  EXPECT_EQ(uncovered->entry().key, "1999");
  uncovered->Next();
  EXPECT_EQ(uncovered->entry().key, "2004") << "covered, but nobody looks there";
}

TEST(MaskingIterator, ReportsTombstonesThatCannotBeRead) {
  MaskingInput input;
  input.children.push_back(Input({Put("a", 1)}));
  input.masks.push_back({.source = std::make_unique<FailingSource>(), .first_older = 0});
  const auto uncovered = NewMaskingIterator(kOrder, std::move(input));
  EXPECT_EQ(PrintAll(*uncovered), "IOError: no tombstones to be had");
  EXPECT_EQ(PrintBackward(*uncovered), "IOError: no tombstones to be had");
}

// Throws at key `throws_at`, after it has overwritten its last answer.
class ThrowingSource final : public MaskSource {
 public:
  ThrowingSource(std::vector<kv::RangeTombstone> tombstones, const std::string* throws_at)
      : source_(kOrder, std::move(tombstones), 100, nullptr), throws_at_(*throws_at) {}
  Status Find(std::string_view key, kv::Mask* mask) override {
    *mask = {};
    if (key == throws_at_) throw std::bad_alloc();
    return source_.Find(key, mask);
  }

 private:
  ListSource source_;
  const std::string& throws_at_;
};

// Symptom: after a read that ran out of memory, a seek of the same cursor showed deleted keys. Cause: the
// source's answer was overwritten and still counted as known.
TEST(MaskingIterator, AsksAgainAfterASourceThatThrew) {
  std::string throws_at = "d";
  MaskingInput input;
  input.children.push_back(Input({Put("a", 1), Put("b", 2), Put("d", 3), Put("f", 4)}));
  input.masks.push_back({.source = std::make_unique<ThrowingSource>(
                             std::vector<kv::RangeTombstone>{{"b", "c", 9}, {"d", "e", 9}}, &throws_at),
                         .first_older = 1});
  const auto uncovered = NewMaskingIterator(kOrder, std::move(input));
  EXPECT_THROW(PrintAll(*uncovered), std::bad_alloc);
  throws_at.clear();
  uncovered->Seek("b", kv::kTagMax);
  EXPECT_EQ(PrintRest(*uncovered), "f#4,PUT= ");
  throws_at = "b";
  EXPECT_THROW(PrintBackward(*uncovered), std::bad_alloc);
  throws_at.clear();
  EXPECT_EQ(PrintAll(*uncovered), "a#1,PUT= f#4,PUT= ");
}

// Every seek ends at the first entry, as if the entries were out of order.
class Disordered final : public kv::Iterator {
 public:
  explicit Disordered(std::vector<OwnedEntry> entries) : entries_(std::move(entries)) {}
  void SeekToFirst() override { GoTo(0); }
  void SeekToLast() override { GoTo(entries_.size() - 1); }
  void Seek(std::string_view, kv::Tag) override { GoTo(0); }
  void Next() override { GoTo(at_ + 1); }
  void Prev() override { GoTo(at_ - 1); }

 private:
  void GoTo(size_t index) {
    at_ = index;
    valid_ = index < entries_.size() && ++moves_ < 10'000;
    status_ = moves_ < 10'000 ? Status() : Status::Aborted("the walk does not end");
    if (valid_) entry_ = testing::ViewOf(entries_[index], kOrder);
  }
  const std::vector<OwnedEntry> entries_;
  size_t at_ = 0;
  int moves_ = 0;
};

// Symptom: a move did not return. Cause: the iterator moved the child past the same masked range again and
// again.
TEST(MaskingIterator, AChildOutOfOrderIsCorruption) {
  for (const bool is_merged : {false, true}) {
    SCOPED_TRACE(is_merged);
    MaskingInput input;
    input.children.push_back(
        std::make_unique<Disordered>(std::vector<OwnedEntry>{Put("b", 4), Put("b", 3), Put("b", 2), Put("b", 1)}));
    if (is_merged) input.children.push_back(Input({Put("a", 1), Put("d", 1)}));
    input.masks.push_back(
        {.source = std::make_unique<ListSource>(kOrder, std::vector<kv::RangeTombstone>{{"b", "c", 9}}, 100, nullptr),
         .first_older = 0});
    const auto uncovered = NewMaskingIterator(kOrder, std::move(input));
    for (int i = 0; i < 2; ++i) {
      uncovered->SeekToFirst();
      EXPECT_EQ(PrintRest(*uncovered),
                std::string(is_merged ? "a#1,PUT= " : "") +
                    "Corruption: entries out of order: expected an entry at or after key \"c\", found b#2,PUT");
    }
  }
}

TEST(MaskingIterator, WithoutTombstonesIsAMergingIterator) {
  testing::CheckIteratorContract({.build = [](const std::vector<OwnedEntry>& entries) -> testing::OpenIterator {
    std::vector<Source> sources(3);
    for (size_t i = 0; i < entries.size(); ++i) sources[i % 3].entries.push_back(entries[i]);
    sources[1].tombstones = {{"\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff", 1}};
    return [sources] { return Uncovered(sources, kv::kSequenceMax); };
  }});
}

struct History {
  std::deque<std::string> keys;  // the bounds of the tombstones
  std::vector<Source> sources;   // newest first
  std::vector<OwnedEntry> shown;
};

// Changes 1, 2, ..., of which some are range deletes. Each source holds consecutive changes.
History RandomCase(base::Random& random, const kv::Order& order, kv::Sequence sequence) {
  History history;
  std::vector<OwnedEntry> entries;
  std::vector<kv::RangeTombstone> tombstones;
  const uint64_t keys = 5 + random.Uniform(60);
  history.sources.resize(1);
  for (kv::Sequence change = 1; change <= 300; ++change) {
    if (random.OneIn(60)) history.sources.insert(history.sources.begin(), Source());
    if (random.OneIn(8)) {
      const std::string& begin = history.keys.emplace_back(std::to_string(100 + random.Uniform(keys)));
      const std::string& end = history.keys.emplace_back(std::to_string(100 + random.Uniform(keys)));
      tombstones.push_back({begin, end, change});
      history.sources.front().tombstones.push_back(tombstones.back());
    } else {
      entries.push_back(Put(std::to_string(100 + random.Uniform(keys)), change));
      history.sources.front().entries.push_back(entries.back());
    }
  }
  for (Source& source : history.sources) SortEntries(&source.entries, order);
  SortEntries(&entries, order);
  for (const OwnedEntry& entry : entries) {
    const bool is_hidden = std::any_of(tombstones.begin(), tombstones.end(), [&](const kv::RangeTombstone& each) {
      return order.CompareKeys(each.begin, entry.key) <= 0 && order.CompareKeys(entry.key, each.end) < 0 &&
             each.sequence > kv::SequenceOf(entry.tag) && each.sequence <= sequence;
    });
    if (!is_hidden) history.shown.push_back(entry);
  }
  return history;
}

// Checks that the entries of LookAhead follow shown[at]. Returns their number.
size_t LookAhead(kv::Iterator& uncovered, const std::vector<OwnedEntry>& shown, size_t at, const kv::Order& order) {
  std::vector<kv::Entry> ahead(20);
  ahead.resize(uncovered.LookAhead(ahead));
  for (const kv::Entry& entry : ahead) {
    if (++at < shown.size()) {
      EXPECT_EQ(Print(entry), Print(testing::ViewOf(shown[at], order)));
    } else {
      ADD_FAILURE() << Print(entry) << " behind the end";
    }
  }
  return ahead.size();
}

TEST(MaskingIterator, ShowsWhatALoopOverAllTombstonesLeavesOnRandomMoves) {
  size_t looked_ahead = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const Comparator* comparator = random.OneIn(3) ? static_cast<const Comparator*>(&kReverse) : BytewiseComparator();
    const kv::Order order(comparator);
    const kv::Sequence sequence = random.OneIn(2) ? kv::kSequenceMax : random.Uniform(301);
    const History history = RandomCase(random, order, sequence);
    const auto& shown = history.shown;
    const auto uncovered = Uncovered(history.sources, sequence, comparator);
    size_t at = shown.size();  // shown.size() or more, also wrapped below 0: not valid
    for (int step = 0; step < 400; ++step) {
      const uint64_t choice = random.Uniform(at < shown.size() ? 24 : 4);
      if (choice == 0) {
        uncovered->SeekToFirst();
        at = 0;
      } else if (choice == 1) {
        uncovered->SeekToLast();
        at = shown.size() - 1;
      } else if (choice < 4) {
        const std::string key = std::to_string(99 + random.Uniform(70));
        uncovered->Seek(key, kv::kTagMax);
        at = static_cast<size_t>(
            std::partition_point(shown.begin(), shown.end(),
                                 [&](const OwnedEntry& entry) { return order.CompareKeys(entry.key, key) < 0; }) -
            shown.begin());
      } else if (choice < 9) {
        uncovered->Next();
        ++at;
      } else if (choice < 14) {
        const size_t ready = LookAhead(*uncovered, shown, at, order);
        if (ready == 0) continue;
        looked_ahead += ready;
        const size_t steps = 1 + random.Uniform(ready);
        uncovered->Skip(steps);
        at += steps;
      } else {
        uncovered->Prev();
        --at;
      }
      ASSERT_TRUE(uncovered->status().ok()) << uncovered->status().ToString();
      ASSERT_EQ(uncovered->Valid(), at < shown.size()) << "step " << step;
      if (at < shown.size()) {
        ASSERT_EQ(Print(uncovered->entry()), Print(testing::ViewOf(shown[at], order))) << "step " << step;
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(looked_ahead, 1000u);
}

}  // namespace
}  // namespace mergedb::iterator
