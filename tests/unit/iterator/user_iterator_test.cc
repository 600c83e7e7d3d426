// Goal: a reader at a sequence sees, between its bounds and in both directions, exactly a map to which all
// changes up to that sequence were applied.
#include "iterator/user_iterator.h"

#include <gtest/gtest.h>

#include <map>
#include <new>

#include "base/perf.h"
#include "tests/unit/iterator/iterator_inputs.h"

namespace mergedb::iterator {
namespace {

std::unique_ptr<UserCursor> VisibleOf(std::vector<OwnedEntry> entries, UserIteratorOptions options = {}) {
  return NewUserIterator(kOrder, std::move(options), Input(std::move(entries)));
}

std::string PrintVisibleBackward(kv::Iterator& iterator) {
  std::string out;
  for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev()) out += Print(iterator.entry()) + " ";
  if (!iterator.status().ok()) out += iterator.status().ToString();
  return out;
}

TEST(UserIterator, ShowsTheNewestVersionUpToItsSequence) {
  const std::vector<OwnedEntry> entries = {Put("a", 9, "9"), Put("a", 4, "4"), Delete("b", 5),
                                           Put("b", 3, "3"), Put("c", 6, "6"), Delete("c", 2)};
  EXPECT_EQ(PrintAll(*VisibleOf(entries)), "a#9,PUT=9 c#6,PUT=6 ");
  EXPECT_EQ(PrintAll(*VisibleOf(entries, {.sequence = 4})), "a#4,PUT=4 b#3,PUT=3 ");
  EXPECT_EQ(PrintAll(*VisibleOf(entries, {.sequence = 2})), "");
  EXPECT_EQ(PrintVisibleBackward(*VisibleOf(entries)), "c#6,PUT=6 a#9,PUT=9 ");
  EXPECT_EQ(PrintVisibleBackward(*VisibleOf(entries, {.sequence = 4})), "b#3,PUT=3 a#4,PUT=4 ");
}

TEST(UserIterator, StaysBetweenItsBounds) {
  const std::vector<OwnedEntry> entries = {Put("a", 1), Put("b", 2), Put("c", 3), Put("d", 4)};
  const auto visible = VisibleOf(entries, {.lower = "b", .upper = "d"});
  EXPECT_EQ(PrintAll(*visible), "b#2,PUT= c#3,PUT= ");
  EXPECT_EQ(PrintVisibleBackward(*visible), "c#3,PUT= b#2,PUT= ");
  visible->Seek("a", kv::kTagMax);
  EXPECT_EQ(PrintRest(*visible), "b#2,PUT= c#3,PUT= ");
  visible->Seek("d", kv::kTagMax);
  EXPECT_FALSE(visible->Valid());
  EXPECT_EQ(PrintAll(*VisibleOf(entries, {.lower = "c", .upper = "b"})), "");
  EXPECT_EQ(PrintVisibleBackward(*VisibleOf(entries, {.lower = "c", .upper = "b"})), "");
}

// Skips key `gone` from the first seek to that key on, as if its block could be read once and then failed and
// was skipped.
class ForgettingIterator final : public kv::Iterator {
 public:
  ForgettingIterator(std::vector<OwnedEntry> entries, std::string gone)
      : input_(Input(std::move(entries))), gone_(std::move(gone)) {}
  void SeekToFirst() override {
    input_->SeekToFirst();
    ShowForward();
  }
  void SeekToLast() override {
    input_->SeekToLast();
    ShowBackward();
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    is_gone_ |= key == gone_;
    input_->Seek(key, tag);
    ShowForward();
  }
  void Next() override {
    input_->Next();
    ShowForward();
  }
  void Prev() override {
    input_->Prev();
    ShowBackward();
  }

 private:
  bool IsPassedOver() const { return is_gone_ && input_->Valid() && input_->entry().key == gone_; }
  void ShowForward() {
    while (IsPassedOver()) input_->Next();
    Show();
  }
  void ShowBackward() {
    while (IsPassedOver()) input_->Prev();
    Show();
  }
  void Show() {
    valid_ = input_->Valid();
    if (valid_) entry_ = input_->entry();
  }
  const std::unique_ptr<kv::Iterator> input_;
  const std::string gone_;
  bool is_gone_ = false;
};

// Symptom: Prev showed a later key again. Cause: going backward, the iterator seeks to a key with many versions.
// If the seek found another key, the iterator showed that key.
TEST(UserIterator, GoesOnBeforeAKeyThatTheSeekFromAboveDoesNotFind) {
  std::vector<OwnedEntry> entries = {Put("a", 1)};
  for (kv::Sequence sequence = 50; sequence > 30; --sequence) entries.push_back(Put("b", sequence));
  entries.push_back(Put("c", 2));
  const auto visible = NewUserIterator(kOrder, {}, std::make_unique<ForgettingIterator>(entries, "b"));
  EXPECT_EQ(PrintVisibleBackward(*visible), "c#2,PUT= a#1,PUT= ");
}

// The same if no key is left after the seek.
TEST(UserIterator, GoesOnBeforeTheLastKeyThatTheSeekFromAboveDoesNotFind) {
  std::vector<OwnedEntry> entries = {Put("a", 1)};
  for (kv::Sequence sequence = 50; sequence > 30; --sequence) entries.push_back(Put("b", sequence));
  const auto visible = NewUserIterator(kOrder, {}, std::make_unique<ForgettingIterator>(entries, "b"));
  EXPECT_EQ(PrintVisibleBackward(*visible), "a#1,PUT= ");
}

// The n-th move throws. Before that, the memory of the entry shown is freed.
class Throwing final : public kv::Iterator {
 public:
  Throwing(std::vector<OwnedEntry> entries, const int* left) : input_(Input(std::move(entries))), left_(*left) {
    looks_ahead_ = true;
  }
  void SeekToFirst() override {
    Move([&] { input_->SeekToFirst(); });
  }
  void SeekToLast() override {
    Move([&] { input_->SeekToLast(); });
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    Move([&] { input_->Seek(key, tag); });
  }
  void Next() override {
    Move([&] { input_->Next(); });
  }
  void Prev() override {
    Move([&] { input_->Prev(); });
  }
  size_t LookAhead(std::span<kv::Entry> ahead) override { return input_->LookAhead(ahead); }
  void Skip(size_t n) override {
    Move([&] { input_->Skip(n); });
  }

 private:
  template <class Function>
  void Move(Function move) {
    if (--const_cast<int&>(left_) == 0) {
      input_->SeekToFirst();
      throw std::bad_alloc();  // valid_ and entry_ keep their old values
    }
    move();
    valid_ = input_->Valid();
    status_ = input_->status();
    if (valid_) entry_ = input_->entry();
  }
  const std::unique_ptr<kv::Iterator> input_;
  const int& left_;
};

// Symptom: after a move that threw, the cursor was valid and showed freed memory, or it skipped entries.
TEST(UserIterator, AMoveThatThrowsLeavesItNotValidUntilTheNextSeek) {
  std::vector<OwnedEntry> entries;
  for (char key = 'a'; key < 'f'; ++key) {
    const std::string name(1, key);
    for (kv::Sequence sequence = 50; sequence > 30; --sequence) entries.push_back(Put(name, sequence));
    entries.push_back(Merge(name + "m", 40, "no operand"));
    entries.push_back(Merge(name + "n", 40, merge::Append("x")));
    entries.push_back(Put(name + "p", 3));
  }
  int left = 0;
  const auto expected = PrintAll(*VisibleOf(entries, {.sequence = 40, .upper = "am"}));
  const auto expected_back = PrintVisibleBackward(*VisibleOf(entries, {.sequence = 40, .lower = "dn"}));
  enum class Way { kForward, kBackward, kZigzag };
  for (const Way way : {Way::kForward, Way::kBackward, Way::kZigzag}) {
    int thrown = 0;
    for (int n = 1;; ++n) {
      SCOPED_TRACE(std::to_string(static_cast<int>(way)) + ": " + std::to_string(n));
      const auto visible = NewUserIterator(kOrder, {.sequence = 40}, std::make_unique<Throwing>(entries, &left));
      left = n;
      try {
        way == Way::kBackward ? visible->SeekForPrev("eq") : visible->Seek("a", kv::kTagMax);
        for (uint64_t step = 1; visible->Valid() || visible->failed_key(); ++step) {
          const bool is_forward = way == Way::kForward || (way == Way::kZigzag && step % 3 != 0);
          if (visible->Valid()) {
            is_forward ? visible->Next() : visible->Prev();
          } else {
            is_forward ? visible->NextFromFailed() : visible->PrevFromFailed();
          }
        }
      } catch (const std::bad_alloc&) {
        ++thrown;
        EXPECT_FALSE(visible->Valid());
        EXPECT_FALSE(visible->failed_key());
        EXPECT_EQ(visible->status().code(), Code::kAborted);
      }
      if (left > 0) break;
      if (n % 2 == 0) {
        visible->Seek("a", kv::kTagMax);
        EXPECT_EQ(Print(visible->entry()) + " ", expected);
      } else {
        std::string shown;
        for (visible->SeekToLast(); visible->Valid(); visible->Prev()) shown += Print(visible->entry()) + " ";
        EXPECT_EQ(shown, expected_back.substr(0, shown.size()));
        EXPECT_FALSE(shown.empty());
      }
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(thrown, 90);
  }
}

// A comparator under which two spellings are one key.
class FoldingComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return (a.front() | 0x20) - (b.front() | 0x20); }
  std::string_view Name() const override { return "test.folding"; }
};

// Symptom: a backward scan showed "K", a forward scan "k". Cause: going backward, the iterator kept the key of
// the oldest version and the value of the newest one.
TEST(UserIterator, ShowsTheNewestSpellingInBothDirections) {
  const FoldingComparator folding;
  const std::vector<OwnedEntry> entries = {Put("a", 9), Put("k", 7, "new"), Put("K", 5, "old"), Put("z", 1)};
  const auto visible = NewUserIterator(kv::Order(&folding), {}, Input(entries, &folding));
  EXPECT_EQ(PrintAll(*visible), "a#9,PUT= k#7,PUT=new z#1,PUT= ");
  EXPECT_EQ(PrintVisibleBackward(*visible), "z#1,PUT= k#7,PUT=new a#9,PUT= ");
  const auto older = NewUserIterator(kv::Order(&folding), {.sequence = 6}, Input(entries, &folding));
  EXPECT_EQ(PrintVisibleBackward(*older), "z#1,PUT= K#5,PUT=old ");
}

TEST(UserIterator, DoesNotReadBeyondItsUpperBound) {
  const auto visible =
      NewUserIterator(kOrder, {.upper = "b"}, Input({Put("a", 1), Put("b", 2), Put("c", 3)}, BytewiseComparator(), 2));
  EXPECT_EQ(PrintAll(*visible), "a#1,PUT= ");
}

TEST(UserIterator, ReportsWhatItsInputCannotRead) {
  const std::vector<OwnedEntry> entries = {Put("a", 1), Put("b", 2), Put("c", 3)};
  const auto visible = NewUserIterator(kOrder, {}, Input(entries, BytewiseComparator(), 1));
  EXPECT_EQ(PrintAll(*visible), "a#1,PUT= IOError: gap");
  // Backward, the gap might hold newer versions of "c", so "c" is not shown either.
  EXPECT_EQ(PrintVisibleBackward(*visible), "IOError: gap");
  visible->Seek("c", kv::kTagMax);
  EXPECT_EQ(PrintRest(*visible), "c#3,PUT= ");
}

TEST(UserIterator, RefusesAKindThatItCannotShow) {
  for (const kv::Kind kind : {kv::Kind::kRangeDelete, kv::Kind::kPutBlobIndex}) {
    const auto visible = VisibleOf({Put("a", 1), {"b", kv::MakeTag(2, kind), "v"}, Put("c", 3)});
    visible->SeekToFirst();
    visible->Next();
    EXPECT_FALSE(visible->Valid());
    EXPECT_EQ(visible->status().code(), Code::kNotSupported);
    visible->SeekToLast();
    ASSERT_TRUE(visible->Valid());
    visible->Prev();
    EXPECT_FALSE(visible->Valid());
    EXPECT_EQ(visible->status().code(), Code::kNotSupported);
  }
}

TEST(UserIterator, FoldsOperandsOntoTheirBaseInBothDirections) {
  const std::vector<OwnedEntry> entries = {Merge("a", 9, merge::Append("c")),
                                           Merge("a", 6, merge::Append("b")),
                                           Put("a", 3, "a"),
                                           Put("a", 2, "old"),
                                           Merge("b", 5, merge::AddU64(4)),
                                           Delete("b", 4),
                                           Put("b", 1, "older"),
                                           Merge("c", 8, merge::Append("z")),
                                           Put("d", 7, "plain")};
  const std::string four = merge::FromU64(4);
  EXPECT_EQ(PrintAll(*VisibleOf(entries)), "a#9,PUT=abc b#5,PUT=" + four + " c#8,PUT=z d#7,PUT=plain ");
  EXPECT_EQ(PrintVisibleBackward(*VisibleOf(entries)), "d#7,PUT=plain c#8,PUT=z b#5,PUT=" + four + " a#9,PUT=abc ");
  EXPECT_EQ(PrintAll(*VisibleOf(entries, {.sequence = 6})), "a#6,PUT=ab b#5,PUT=" + four + " ");
  EXPECT_EQ(PrintVisibleBackward(*VisibleOf(entries, {.sequence = 6})), "b#5,PUT=" + four + " a#6,PUT=ab ");
}

// Folded from the oldest on, a few at a time: as if all had been folded at once.
TEST(UserIterator, FoldsMoreOperandsThanAChainTakes) {
  std::vector<OwnedEntry> entries = {Put("A", 1, "first")};
  std::string value = "base";
  for (kv::Sequence sequence = 60; sequence > 20; --sequence)
    entries.push_back(Merge("k", sequence, merge::Append(std::to_string(sequence % 10))));
  entries.push_back(Put("k", 20, value));
  entries.push_back(Put("k", 19, "older"));
  entries.push_back(Put("z", 2, "last"));
  for (kv::Sequence sequence = 21; sequence <= 60; ++sequence) {
    value += std::to_string(sequence % 10);
    const std::string shown = "k#" + std::to_string(sequence) + ",PUT=" + value + " ";
    for (const size_t operands_max : {1, 2, 7, 39, 40, 41}) {
      const UserIteratorOptions options{.sequence = sequence, .operands_max = operands_max};
      ASSERT_EQ(PrintAll(*VisibleOf(entries, options)), "A#1,PUT=first " + shown + "z#2,PUT=last ") << operands_max;
      ASSERT_EQ(PrintVisibleBackward(*VisibleOf(entries, options)), "z#2,PUT=last " + shown + "A#1,PUT=first ");
    }
  }
}

// A `put` operand replaces what is below it, also what cannot be folded.
TEST(UserIterator, APutOperandAboveALongChainHidesItsFailure) {
  std::vector<OwnedEntry> entries;
  for (kv::Sequence sequence = 60; sequence > 50; --sequence)
    entries.push_back(Merge("k", sequence, merge::Append("x")));
  entries.push_back(Merge("k", 50, merge::Put("new")));
  for (kv::Sequence sequence = 49; sequence > 20; --sequence)
    entries.push_back(Merge("k", sequence, merge::Named("test.absent", "x")));
  entries.push_back(Put("k", 1, "old"));
  for (const size_t operands_max : {1, 3, 12, 100}) {
    EXPECT_EQ(PrintAll(*VisibleOf(entries, {.operands_max = operands_max})), "k#60,PUT=newxxxxxxxxxx ") << operands_max;
    const auto visible = VisibleOf(entries, {.sequence = 49, .operands_max = operands_max});
    visible->SeekToFirst();
    EXPECT_EQ(visible->failed_key(), "k");
    EXPECT_EQ(visible->status().code(), Code::kNotSupported);
    visible->NextFromFailed();
    EXPECT_FALSE(visible->Valid());
    EXPECT_TRUE(visible->status().ok());
  }
}

TEST(UserIterator, ShowsWhatMergingMade) {
  const std::string five = merge::FromU64(5);
  const auto visible = VisibleOf({{"a", kv::MakeTag(0, kv::Kind::kMerged), "\x01" + five}});
  EXPECT_EQ(PrintAll(*visible), "a#0,PUT=" + five + " ");
  EXPECT_EQ(PrintVisibleBackward(*visible), "a#0,PUT=" + five + " ");
}

TEST(UserIterator, StopsAtAKeyThatCannotBeFoldedAndGoesOnBeyondIt) {
  const auto visible = VisibleOf({Put("a", 1), Merge("b", 3, merge::AddU64(1)), Put("b", 2, "abc"), Put("c", 4)});
  const std::string failure = "MergeFailed: key \"b\": add-u64 needs a value of 8 bytes; the one there has 3";
  EXPECT_EQ(PrintAll(*visible), "a#1,PUT= " + failure);
  visible->Seek("c", kv::kTagMax);
  EXPECT_EQ(PrintRest(*visible), "c#4,PUT= ");
  EXPECT_EQ(PrintVisibleBackward(*visible), "c#4,PUT= " + failure);
  EXPECT_EQ(visible->failed_key(), "b");
  visible->PrevFromFailed();
  ASSERT_TRUE(visible->Valid());
  EXPECT_EQ(visible->entry().key, "a");
  EXPECT_FALSE(visible->failed_key());
  visible->Next();
  EXPECT_EQ(visible->failed_key(), "b");
  visible->NextFromFailed();
  EXPECT_EQ(PrintRest(*visible), "c#4,PUT= ");
}

TEST(UserIterator, HasNoFailedKeyWhereItsInputCannotBeRead) {
  const auto clash = Merge("b", 3, merge::AddU64(1));
  // The gap is after the operand, so it is unknown whether the operand can be folded.
  const auto visible =
      NewUserIterator(kOrder, {}, Input({Put("a", 1), clash, Put("b", 2, "abc")}, BytewiseComparator(), 2));
  EXPECT_EQ(PrintAll(*visible), "a#1,PUT= IOError: gap");
  EXPECT_FALSE(visible->failed_key());
}

TEST(UserIterator, CountsAnOperandThatWasReplayedTwiceOnce) {
  const auto twice = Merge("a", 3, merge::AddU64(1));
  const auto visible = VisibleOf({twice, twice, Merge("a", 2, merge::AddU64(2))});
  EXPECT_EQ(PrintAll(*visible), "a#3,PUT=" + merge::FromU64(3) + " ");
  EXPECT_EQ(PrintVisibleBackward(*visible), "a#3,PUT=" + merge::FromU64(3) + " ");
}

// "r:x" is a blob index of the value "x"; "bad" cannot be resolved.
class Values final : public kv::ValueSource {
 public:
  Status Resolve(const kv::Entry& entry, std::string_view* value) override {
    EXPECT_EQ(kv::KindOf(entry.tag), kv::Kind::kPutBlobIndex);
    ++asked;
    if (entry.value == "bad") return Status::Corruption("no value there");
    last_.assign(entry.value.substr(2));
    *value = last_;
    return {};
  }
  int asked = 0;

 private:
  std::string last_;
};

OwnedEntry Ref(std::string key, kv::Sequence sequence, std::string reference) {
  return {std::move(key), kv::MakeTag(sequence, kv::Kind::kPutBlobIndex), std::move(reference)};
}

TEST(UserIterator, ShowsTheValuesOfBlobIndexes) {
  Values values;
  const std::vector<OwnedEntry> entries = {Ref("a", 9, "r:nine"),  Put("a", 4, "4"), Put("b", 5, "five"),
                                           Ref("c", 3, "r:three"), Delete("d", 8),   Ref("d", 7, "bad")};
  const auto visible = VisibleOf(entries, {.values = &values});
  EXPECT_EQ(PrintAll(*visible), "a#9,PUT=nine b#5,PUT=five c#3,PUT=three ");
  EXPECT_EQ(PrintVisibleBackward(*visible), "c#3,PUT=three b#5,PUT=five a#9,PUT=nine ");
  EXPECT_EQ(PrintAll(*VisibleOf(entries, {.sequence = 4, .values = &values})), "a#4,PUT=4 c#3,PUT=three ");
  EXPECT_EQ(values.asked, 5) << "what is hidden is not read";
}

TEST(UserIterator, ReadsNoValueForWhoWantsKeysAlone) {
  Values values;
  const auto visible = VisibleOf({Ref("a", 9, "bad"), Put("b", 5, "five")}, {.values = &values, .keys_only = true});
  EXPECT_EQ(PrintAll(*visible), "a#9,PUT= b#5,PUT= ");
  EXPECT_EQ(PrintVisibleBackward(*visible), "b#5,PUT= a#9,PUT= ");
  EXPECT_EQ(values.asked, 0);
}

TEST(UserIterator, FoldsOperandsOntoTheValueOfABlobIndex) {
  Values values;
  std::vector<OwnedEntry> entries = {Merge("a", 40, merge::Append("c")), Merge("a", 39, merge::Append("b")),
                                     Ref("a", 38, "r:a")};
  for (kv::Sequence i = 30; i > 10; --i) entries.push_back(Put("a", i, "old"));  // too many to step over: Prev seeks
  entries.push_back(Merge("b", 5, merge::Append("y")));
  entries.push_back(Ref("b", 4, "r:x"));
  entries.push_back(Delete("c", 9));
  entries.push_back(Merge("c", 8, merge::Append("z")));
  const auto visible = VisibleOf(entries, {.values = &values});
  EXPECT_EQ(PrintAll(*visible), "a#40,PUT=abc b#5,PUT=xy ");
  EXPECT_EQ(PrintVisibleBackward(*visible), "b#5,PUT=xy a#40,PUT=abc ");
  values.asked = 0;
  const auto keys = VisibleOf(entries, {.values = &values, .keys_only = true});
  EXPECT_EQ(PrintAll(*keys), "a#40,PUT= b#5,PUT= ");
  EXPECT_EQ(PrintVisibleBackward(*keys), "b#5,PUT= a#40,PUT= ");
  EXPECT_EQ(values.asked, 0);
}

TEST(UserIterator, EndsAtAValueThatCannotBeRead) {
  Values values;
  const auto visible = VisibleOf({Put("a", 1), Ref("b", 2, "bad"), Put("c", 3)}, {.values = &values});
  EXPECT_EQ(PrintAll(*visible), "a#1,PUT= Corruption: no value there");
  EXPECT_EQ(PrintVisibleBackward(*visible), "c#3,PUT= Corruption: no value there");
  visible->Seek("c", kv::kTagMax);
  EXPECT_EQ(PrintRest(*visible), "c#3,PUT= ");
}

TEST(UserIterator, SeekForPrevDoesNotLookAtTheValueBehind) {
  Values values;
  const auto visible = VisibleOf({Put("a", 1), Ref("b", 2, "bad"), Put("c", 3)}, {.values = &values});
  visible->SeekForPrev("aa");
  ASSERT_TRUE(visible->Valid()) << visible->status().ToString();
  EXPECT_EQ(visible->entry().key, "a");
  EXPECT_EQ(values.asked, 0);
  visible->SeekForPrev("b");
  EXPECT_FALSE(visible->Valid());
  EXPECT_TRUE(visible->status().IsCorruption());
  visible->SeekForPrev("A");
  EXPECT_FALSE(visible->Valid());
  EXPECT_TRUE(visible->status().ok());
}

// The map that a reader at `sequence` should see.
std::map<std::string, OwnedEntry> Model(const std::vector<OwnedEntry>& history, kv::Sequence sequence) {
  std::map<std::string, OwnedEntry> model;
  std::map<std::string, std::string> values;
  for (const OwnedEntry& change : history) {
    if (kv::SequenceOf(change.tag) > sequence) break;
    ApplyChange(change, &values);
    model.erase(change.key);
    if (const auto value = values.find(change.key); value != values.end()) {
      model[change.key] = Put(change.key, kv::SequenceOf(change.tag), value->second);
    }
  }
  return model;
}

TEST(UserIterator, AgreesWithAMapOnRandomMoves) {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const size_t keys =
        random.OneIn(2) ? 1 + random.Uniform(30) : 100 + random.Uniform(300);  // many versions per key, or mostly one
    const std::vector<OwnedEntry> history =
        random.OneIn(2) ? RandomHistory(random, 200, keys) : RandomMergeHistory(random, 200, keys);
    std::vector<OwnedEntry> entries = history;
    SortEntries(&entries, kOrder);
    UserIteratorOptions options = {.sequence = random.OneIn(3) ? kv::kSequenceMax : random.Uniform(201),
                                   .keys_only = random.OneIn(4)};
    if (random.OneIn(2)) options.operands_max = 1 + random.Uniform(4);
    if (random.OneIn(3)) options.lower = "some/directory/" + std::to_string(random.Uniform(keys));
    if (random.OneIn(3)) options.upper = "some/directory/" + std::to_string(random.Uniform(keys));
    auto model = Model(history, options.sequence);
    std::erase_if(model, [&](const auto& each) {
      return (options.lower && each.first < *options.lower) || (options.upper && each.first >= *options.upper);
    });

    const auto visible = VisibleOf(entries, options);
    if (options.keys_only) {
      for (auto& each : model) each.second.value.clear();
    }
    auto at = model.end();
    uint64_t choice = 0;
    for (int step = 0; step < 400; ++step) {
      if (at == model.end()) {
        choice = random.Uniform(4);
      } else if (choice < 4 || random.OneIn(5)) {  // otherwise the last direction again
        choice = random.Uniform(16);
      }
      if (choice == 0) {
        visible->SeekToFirst();
        at = model.begin();
      } else if (choice == 1) {
        visible->SeekToLast();
        at = model.empty() ? model.end() : std::prev(model.end());
      } else if (choice < 4) {
        const std::string key = "some/directory/" + std::to_string(random.Uniform(keys + 1));
        visible->Seek(key, kv::kTagMax);
        at = model.lower_bound(key);
        if (random.OneIn(2)) {
          visible->SeekForPrev(key);
          at = model.upper_bound(key);
          at = at == model.begin() ? model.end() : std::prev(at);
        }
      } else if (choice < 10) {
        visible->Next();
        ++at;
      } else {
        visible->Prev();
        at = at == model.begin() ? model.end() : std::prev(at);
      }
      ASSERT_TRUE(visible->status().ok()) << visible->status().ToString();
      ASSERT_EQ(visible->Valid(), at != model.end()) << "step " << step;
      if (visible->Valid()) {
        ASSERT_EQ(Print(visible->entry()), Print(testing::ViewOf(at->second, kOrder))) << "step " << step;
      }
    }
  }
}

// Counts the entries that LookAhead gives.
class Watched final : public kv::Iterator {
 public:
  explicit Watched(std::unique_ptr<kv::Iterator> input) : input_(std::move(input)) {
    looks_ahead_ = input_->looks_ahead();
  }
  void SeekToFirst() override { input_->SeekToFirst(), Show(); }
  void SeekToLast() override { input_->SeekToLast(), Show(); }
  void Seek(std::string_view key, kv::Tag tag) override { input_->Seek(key, tag), Show(); }
  void Next() override { input_->Next(), Show(); }
  void Prev() override { input_->Prev(), Show(); }
  size_t LookAhead(std::span<kv::Entry> ahead) override {
    const size_t ready = input_->LookAhead(ahead);
    looked += ready;
    return ready;
  }
  void Skip(size_t n) override { input_->Skip(n), Show(); }

  size_t looked = 0;

 private:
  void Show() {
    valid_ = input_->Valid();
    status_ = input_->status();
    if (valid_) entry_ = input_->entry();
  }
  const std::unique_ptr<kv::Iterator> input_;
};

// Symptom: scans of large values executed more than twice as many instructions. Cause: the entries ahead were
// blob indexes, and each step looked at all of them again.
TEST(UserIterator, LooksAheadSeldomWhereNothingThereIsShownAsItIs) {
  Values values;
  std::vector<OwnedEntry> references, plain;
  for (int i = 1000; i < 3000; ++i) {
    references.push_back(Ref("k" + std::to_string(i), 5, "r:v"));
    plain.push_back(Put("k" + std::to_string(i), 5));
  }
  const auto looked_by = [&](std::vector<OwnedEntry> entries) {
    auto input = std::make_unique<Watched>(Input(std::move(entries)));
    const Watched& watched = *input;
    const auto visible = NewUserIterator(kOrder, {.values = &values}, std::move(input));
    size_t shown = 0;
    for (visible->SeekToFirst(); visible->Valid(); visible->Next()) ++shown;
    EXPECT_EQ(shown, 2000u);
    return watched.looked;
  };
  EXPECT_LE(looked_by(references), 2000u / 8);
  const size_t of_plain = looked_by(plain);
  EXPECT_GE(of_plain, 2000u * 3 / 4);
  EXPECT_LE(of_plain, 2000u);
}

// A queue: `hidden` deleted keys, then one live key.
std::vector<OwnedEntry> QueueOf(int hidden) {
  std::vector<OwnedEntry> entries;
  for (int i = 0; i < hidden; ++i) {
    const std::string key = "q" + std::to_string(100'000 + i);
    entries.push_back(Delete(key, 9));
    entries.push_back(Put(key, 3));
  }
  entries.push_back(Put("r", 4));
  return entries;
}

TEST(UserIterator, TellsOfAMoveThatPassesOverVeryMuch) {
  std::vector<TombstoneScan> scans;
  const UserIteratorOptions options{.on_tombstone_scan = [&](TombstoneScan scan) { scans.push_back(std::move(scan)); }};
  const auto visible = VisibleOf(QueueOf(3'000), options);
  visible->SeekToFirst();
  ASSERT_TRUE(visible->Valid());
  ASSERT_EQ(scans.size(), 1u);
  ASSERT_TRUE(scans[0].lower && scans[0].upper);
  EXPECT_LT(*scans[0].lower, "q100100") << "nearly all of it";
  EXPECT_EQ(*scans[0].upper, "r");

  visible->Prev();
  EXPECT_FALSE(visible->Valid());
  ASSERT_EQ(scans.size(), 2u);
  EXPECT_FALSE(scans[1].lower) << "down to the first key there is";
  ASSERT_TRUE(scans[1].upper);
  EXPECT_GT(*scans[1].upper, "q102900");
}

TEST(UserIterator, ReportsATombstoneHeavyScanThatEndsAtABoundOrAtTheEnd) {
  std::vector<TombstoneScan> scans;
  const auto on_tombstone_scan = [&](TombstoneScan scan) { scans.push_back(std::move(scan)); };
  VisibleOf(QueueOf(3'000), {.upper = "q2", .on_tombstone_scan = on_tombstone_scan})->SeekToFirst();
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_EQ(scans[0].upper, "q2");
  VisibleOf(QueueOf(3'000), {.lower = "q100010", .upper = "q2", .on_tombstone_scan = on_tombstone_scan})->SeekToLast();
  ASSERT_EQ(scans.size(), 2u);
  EXPECT_EQ(scans[1].lower, "q100010");
}

TEST(UserIterator, CountsNoEntryThatItShowsAsHidden) {
  const auto skipped = [](const std::vector<OwnedEntry>& entries, bool backward) {
    PerfContext perf;
    base::thread_perf = &perf;
    const auto visible = VisibleOf(entries, {});
    if (backward) {
      PrintVisibleBackward(*visible);
    } else {
      PrintAll(*visible);
    }
    base::thread_perf = nullptr;
    return perf.tombstones_skipped;
  };
  const std::vector<OwnedEntry> live = {Put("a", 1), Put("b", 2), Put("c", 3)};
  EXPECT_EQ(skipped(live, false), 0u);
  EXPECT_EQ(skipped(live, true), 0u);
  const std::vector<OwnedEntry> deleted = {Put("a", 1), Delete("b", 4), Put("c", 3)};
  EXPECT_EQ(skipped(deleted, false), 1u);
  EXPECT_EQ(skipped(deleted, true), 1u);
}

TEST(UserIterator, DoesNotReportShortTombstoneScans) {
  const auto fail = [](TombstoneScan) { FAIL(); };
  const auto visible = VisibleOf(QueueOf(500), {.on_tombstone_scan = fail});
  visible->SeekToFirst();
  ASSERT_TRUE(visible->Valid());
  visible->Prev();
  std::vector<OwnedEntry> live;
  for (int i = 0; i < 5'000; ++i) live.push_back(Put("k" + std::to_string(10'000 + i), 1));
  PrintAll(*VisibleOf(live, {.on_tombstone_scan = fail}));
}

}  // namespace
}  // namespace mergedb::iterator
