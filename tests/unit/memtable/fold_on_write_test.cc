// Goal: folds on write make reads of a hot key short, never change a value at any sequence, and never take
// memory that is reserved for other records.
#include "memtable/fold_on_write.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "memtable/memtable.h"
#include "mergedb/merge.h"

namespace mergedb::memtable {
namespace {

const kv::Order kHotOrder(BytewiseComparator());

class PlainComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return "plain"; }
};

// A memtable with one key, and the expected value at each sequence.
class HotKey {
 public:
  explicit HotKey(const kv::Order& order = kHotOrder, size_t bytes = size_t{4} << 20)
      : table_(order, NewMemory(bytes)) {}

  Memtable& table() { return table_; }
  kv::Sequence newest() const { return newest_; }

  void Put(std::string_view value) { Add(kv::Kind::kPut, value); }
  void Merge(const std::string& operand, bool is_reserved = true) {
    if (is_reserved) { ASSERT_TRUE(table_.Reserve(1, 1 + operand.size())); }
    Add(kv::Kind::kMerge, operand);
  }

  // Returns the value at `sequence`. *looks is the number of versions that the read needed.
  std::string Get(kv::Sequence sequence, size_t* looks) const {
    Memtable::Found found;
    kv::Chain chain(nullptr);
    kv::Base base;
    *looks = 0;
    for (bool is_found = table_.Get("k", sequence, &found); is_found; is_found = table_.GetOlder("k", &found)) {
      ++*looks;
      if (kv::KindOf(found.tag) != kv::Kind::kMerge) {
        base = {kv::KindOf(found.tag), found.value};
        break;
      }
      chain.AddOlder("k", found.tag, found.value);
    }
    std::string value;
    const Status status = kv::FoldAndShow("k", base, chain, &value);
    return status.ok() ? value : std::string(CodeName(status.code()));
  }

 private:
  void Add(kv::Kind kind, std::string_view value) { table_.Add("k", kv::MakeTag(++newest_, kind), value); }

  Memtable table_;
  kv::Sequence newest_ = 0;
};

TEST(FoldOnWrite, ACounterIsOneLookAtEverySequence) {
  HotKey hot;
  for (int i = 0; i < 1000; ++i) hot.Merge(merge::AddU64(2));
  size_t looks = 0;
  for (kv::Sequence sequence = 1; sequence <= 1000; ++sequence) {
    ASSERT_EQ(hot.Get(sequence, &looks), merge::FromU64(2 * sequence));
    ASSERT_EQ(looks, 1u);
  }
  hot.Put(merge::FromU64(7));
  hot.Merge(merge::AddU64(1));
  EXPECT_EQ(hot.Get(hot.newest(), &looks), merge::FromU64(8));
  EXPECT_EQ(looks, 1u);
}

TEST(FoldOnWrite, OtherNumbersAreOneLookToo) {
  for (const std::string& operand :
       {merge::AddI64(INT64_MAX), merge::AddF64(0.5), merge::MaxU64(3), merge::MinI64(-3)}) {
    HotKey hot;
    for (int i = 0; i < 100; ++i) hot.Merge(operand);
    size_t looks = 0;
    (void)hot.Get(hot.newest(), &looks);
    EXPECT_EQ(looks, 1u) << merge::Print(operand);
  }
}

TEST(FoldOnWrite, AListIsAFewLooksAndTakesNoMoreThanTwiceItsBytes) {
  HotKey hot(kHotOrder, size_t{16} << 20);
  std::string expected;
  size_t looks = 0, looks_max = 0;
  for (int i = 1; i <= 20'000; ++i) {
    hot.Merge(merge::Append("0123456789"));
    expected += "0123456789";
    if (i % 997 != 0) continue;
    ASSERT_EQ(hot.Get(hot.newest(), &looks), expected);
    looks_max = std::max(looks_max, looks);
    // The operands after the last fold have at most about as many bytes as that fold.
    ASSERT_LE(looks, std::max<size_t>(40, static_cast<size_t>(i) * 14 / 10 / 2 + 2));
  }
  const size_t records = 20'000 * RecordBytes(1, merge::Append("0123456789").size() + kCountsBytes);
  EXPECT_LT(hot.table().bytes_used(), records + 2 * expected.size() * 14 / 10);
  ASSERT_EQ(hot.Get(5000, &looks), expected.substr(0, 50'000));
}

TEST(FoldOnWrite, TheIteratorShowsOperandsAsTheyWere) {
  HotKey hot;
  for (uint64_t i = 1; i <= 500; ++i) hot.Merge(i % 3 == 0 ? merge::Append("x") : merge::AddU64(i));
  for (const auto& iterator : {hot.table().NewIterator(), hot.table().NewFlushIterator()}) {
    uint64_t i = 500;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), --i) {
      ASSERT_EQ(iterator->entry().tag, kv::MakeTag(i, kv::Kind::kMerge));
      ASSERT_EQ(iterator->entry().value, i % 3 == 0 ? merge::Append("x") : merge::AddU64(i));
    }
    EXPECT_EQ(i, 0u);
  }
}

TEST(FoldOnWrite, WithoutRoomBeyondWhatIsPromisedNothingIsLeft) {
  size_t looks = 0;
  HotKey unreserved;
  for (int i = 0; i < 100; ++i) unreserved.Merge(merge::AddU64(1), false);
  EXPECT_EQ(unreserved.Get(100, &looks), merge::FromU64(100));
  EXPECT_EQ(looks, 100u);

  // If a memtable's memory is reserved to the last byte, all reserved records fit.
  Memtable table(kHotOrder, NewMemory(64 << 10));
  const std::string operand = merge::AddU64(1);
  uint64_t records = 1;
  while (table.HasRoomFor(records + 1, (records + 1) * (8 + operand.size()))) ++records;
  ASSERT_TRUE(table.Reserve(records, records * (8 + operand.size())));
  for (uint64_t i = 1; i <= records; ++i) table.Add("the key ", kv::MakeTag(i, kv::Kind::kMerge), operand);
  EXPECT_EQ(table.entries(), records);
}

TEST(FoldOnWrite, AProgramsOperandsAndClashesAreLeftToReaders) {
  size_t looks = 0;
  HotKey program;
  for (int i = 0; i < 50; ++i) program.Merge(merge::Named("some.operator", "x"));
  EXPECT_EQ(program.Get(50, &looks), "NotSupported");
  EXPECT_EQ(looks, 50u);
  HotKey clash;
  clash.Put("text");
  for (int i = 0; i < 50; ++i) clash.Merge(merge::AddU64(1));
  EXPECT_EQ(clash.Get(51, &looks), "MergeFailed");
}

TEST(FoldOnWrite, UnderAnotherOrderReadsWalk) {
  const PlainComparator plain;
  const kv::Order order(&plain);
  HotKey hot(order);
  for (int i = 0; i < 100; ++i) hot.Merge(merge::AddU64(1));
  size_t looks = 0;
  EXPECT_EQ(hot.Get(70, &looks), merge::FromU64(70));
  EXPECT_EQ(looks, 70u);
}

// For every mix of operands: a key reads the same with folds and without.
TEST(FoldOnWrite, NeverChangesWhatIsRead) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    HotKey with, without;
    const uint64_t mix = random.Uniform(4);
    for (int i = 0; i < 300; ++i) {
      if (random.OneIn(90)) {
        const std::string value = random.OneIn(2) ? merge::FromU64(random.Next()) : "text";
        with.Put(value);
        without.Put(value);
      }
      const uint64_t choice = mix == 3 ? random.Uniform(3) : mix;
      const std::string operand = choice == 0
                                      ? (random.OneIn(9) ? merge::MaxU64(random.Next()) : merge::AddU64(random.Next()))
                                  : choice == 1 ? merge::Append(std::string(random.Uniform(9), 'x'), {.cap_bytes = 90})
                                                : merge::Last(random.Uniform(50), std::to_string(i));
      with.Merge(operand);
      without.Merge(operand, false);
    }
    size_t looks = 0, looks_without = 0;
    for (kv::Sequence sequence = 1; sequence <= with.newest(); ++sequence) {
      ASSERT_EQ(with.Get(sequence, &looks), without.Get(sequence, &looks_without)) << sequence;
      ASSERT_LE(looks, looks_without);
    }
  }
}

}  // namespace
}  // namespace mergedb::memtable
