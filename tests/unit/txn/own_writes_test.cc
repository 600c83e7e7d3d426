// A transaction's own writes as a source of versions: which versions are found, in which order they are shown,
// and which are left after a rollback. Method: examples. tests/unit/txn/cursor_test.cc reads them with random
// writes and rollbacks.
#include "txn/own_writes.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/random.h"
#include "testing/seed.h"
#include "testing/strict_iterator.h"

namespace mergedb::txn {
namespace {

using kv::Kind;
using Says = OwnWrites::Says;

std::string Show(const kv::Entry& entry) {
  const kv::Tag relative = kv::MakeTag(kv::SequenceOf(entry.tag) - OwnWrites::kSequenceFirst, kv::KindOf(entry.tag));
  return kv::PrintKey(entry.key, relative) + "=" + std::string(entry.value) + " ";
}

class OwnWritesTest : public ::testing::Test {
 protected:
  std::string Forward() {
    std::string shown;
    auto it = own_.NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) shown += Show(it->entry());
    return shown;
  }
  std::string Backward() {
    std::string shown;
    auto it = own_.NewIterator();
    for (it->SeekToLast(); it->Valid(); it->Prev()) shown.insert(0, Show(it->entry()));
    return shown;
  }
  Says Find(std::string_view key) { return own_.Find(key, &value_, &operands_); }

  OwnWrites own_{kv::Order(BytewiseComparator())};
  std::string_view value_;
  std::vector<std::string_view> operands_;
};

TEST_F(OwnWritesTest, ShowsTheVersionsOfAKeyDownToTheNewestThatIsNoOperand) {
  own_.Add(Kind::kPut, "b", "old");
  own_.Add(Kind::kMerge, "b", "older");
  own_.Add(Kind::kPut, "b", "base");
  own_.Add(Kind::kMerge, "b", "m1");
  own_.Add(Kind::kDelete, "a", "");
  own_.Add(Kind::kMerge, "b", "m2");
  own_.Add(Kind::kPut, "c", "3");
  EXPECT_EQ(Forward(), "a#4,DELETE= b#5,MERGE=m2 b#3,MERGE=m1 b#2,PUT=base c#6,PUT=3 ");
  EXPECT_EQ(Backward(), Forward());
}

TEST_F(OwnWritesTest, SeeksByKeyAndTag) {
  for (const char* key : {"a", "c", "c", "e"}) own_.Add(Kind::kMerge, key, key);
  auto it = own_.NewIterator();
  it->Seek("b", kv::kTagMax);
  EXPECT_EQ(Show(it->entry()), "c#2,MERGE=c ");
  it->Seek("c", kv::SeekTag(OwnWrites::kSequenceFirst + 1));
  EXPECT_EQ(Show(it->entry()), "c#1,MERGE=c ");
  it->Seek("c", kv::SeekTag(OwnWrites::kSequenceFirst));
  EXPECT_EQ(Show(it->entry()), "e#3,MERGE=e ");
  it->Seek("c", kv::Tag{0});
  EXPECT_EQ(Show(it->entry()), "e#3,MERGE=e ");
  it->Prev();
  EXPECT_EQ(Show(it->entry()), "c#1,MERGE=c ");
  it->Seek("f", kv::kTagMax);
  EXPECT_FALSE(it->Valid());
}

TEST_F(OwnWritesTest, AnIteratorThatSeeksSeesWhatWasWrittenSince) {
  own_.Add(Kind::kPut, "a", "1");
  auto it = own_.NewIterator();
  it->SeekToFirst();
  own_.Add(Kind::kPut, "b", std::string(100'000, 'v'));  // the batch moves in memory
  it->Seek("b", kv::kTagMax);
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->entry().value.size(), 100'000u);
  it->Prev();
  EXPECT_EQ(it->entry().value, "1");
}

TEST_F(OwnWritesTest, SaysWhatItKnowsOfAKey) {
  own_.Add(Kind::kPut, "put", "1");
  own_.Add(Kind::kDelete, "deleted", "");
  own_.Add(Kind::kMerge, "merged", "a");
  own_.Add(Kind::kMerge, "merged", "b");
  own_.Add(Kind::kMerge, "put", "2");
  own_.Add(Kind::kMerge, "deleted", "3");
  EXPECT_EQ(Find("other"), Says::kNothing);
  EXPECT_EQ(Find("put"), Says::kOperandsOnValue);
  EXPECT_EQ(value_, "1");
  EXPECT_EQ(Find("deleted"), Says::kOperandsAlone);
  EXPECT_EQ(Find("merged"), Says::kOperands);
  EXPECT_EQ(operands_, (std::vector<std::string_view>{"b", "a"}));
  own_.Add(Kind::kDelete, "put", "");
  EXPECT_EQ(Find("put"), Says::kDeleted);
  own_.Add(Kind::kPut, "put", "4");
  EXPECT_EQ(Find("put"), Says::kValue);
  EXPECT_EQ(value_, "4");
}

TEST_F(OwnWritesTest, ARangeDeleteHidesWhatIsBeforeItInTheBatch) {
  own_.Add(Kind::kPut, "b", "1");
  own_.Add(Kind::kMerge, "c", "1");
  own_.Add(Kind::kRangeDelete, "a", "d");
  own_.Add(Kind::kMerge, "c", "2");
  EXPECT_EQ(Find("a"), Says::kDeleted);
  EXPECT_EQ(Find("b"), Says::kDeleted);
  EXPECT_EQ(Find("c"), Says::kOperandsAlone);
  EXPECT_EQ(operands_, std::vector<std::string_view>{"2"});
  EXPECT_EQ(Find("d"), Says::kNothing);
  kv::Mask cover;
  ASSERT_TRUE(own_.NewMaskSource()->Find("b", &cover).ok());
  EXPECT_EQ(cover.sequence, OwnWrites::kSequenceFirst + 2);
}

TEST_F(OwnWritesTest, ARollbackTakesBackRecordsIndexAndRanges) {
  own_.Add(Kind::kPut, "a", "1");
  own_.Add(Kind::kMerge, "b", "1");
  const auto mark = own_.mark();
  const std::string before = Forward();
  const std::string batch(own_.batch());
  own_.Add(Kind::kPut, "a", "2");
  own_.Add(Kind::kMerge, "b", "2");
  own_.Add(Kind::kPut, "c", "2");
  own_.Add(Kind::kRangeDelete, "a", "z");
  EXPECT_EQ(Find("b"), Says::kDeleted);
  own_.Add(Kind::kPut, "d", "not indexed yet");
  const uint64_t generation = own_.generation();
  own_.RollBack(mark);
  EXPECT_NE(own_.generation(), generation);
  EXPECT_EQ(own_.batch(), batch);
  EXPECT_EQ(own_.count(), 2u);
  EXPECT_EQ(Forward(), before);
  EXPECT_EQ(Backward(), before);
  EXPECT_EQ(Find("b"), Says::kOperands);
  EXPECT_EQ(Find("c"), Says::kNothing);
  EXPECT_EQ(own_.NewMaskSource(), nullptr);
  own_.Add(Kind::kPut, "c", "3");
  EXPECT_EQ(Find("c"), Says::kValue);
}

TEST_F(OwnWritesTest, TakesKeysAndValuesThatAreViewsOfItself) {
  own_.Add(Kind::kPut, "key", "value");
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(Find("key"), Says::kValue);
    auto it = own_.NewIterator();
    it->SeekToFirst();
    own_.Add(Kind::kPut, it->entry().key, it->entry().value);
  }
  ASSERT_EQ(Find("key"), Says::kValue);
  EXPECT_EQ(value_, "value");
  EXPECT_EQ(own_.count(), 21u);
}

TEST_F(OwnWritesTest, CountsNoLessThanItTakes) {
  const size_t before = own_.bytes();
  own_.Add(Kind::kPut, "key", std::string(1000, 'v'));
  EXPECT_LE(own_.bytes() - before, OwnWrites::BytesOf(3, 1000));
  EXPECT_GE(own_.bytes() - before, 1000u + 3);
}

TEST_F(OwnWritesTest, ACompactionDropsWhatNewerRecordsReplace) {
  own_.Add(Kind::kPut, "a", "1");
  own_.Add(Kind::kMerge, "a", "2");
  own_.Add(Kind::kPut, "b", "1");
  own_.Add(Kind::kMerge, "c", "1");
  own_.Add(Kind::kRangeDelete, "b", "c");
  own_.Add(Kind::kDelete, "a", "");
  own_.Add(Kind::kPut, "b", "2");
  own_.Add(Kind::kMerge, "b", "3");
  const std::string before = Forward();
  const uint64_t generation = own_.generation();
  own_.Compact();
  EXPECT_GT(own_.generation(), generation);
  EXPECT_EQ(own_.count(), 5u);
  EXPECT_EQ(before, "a#5,DELETE= b#7,MERGE=3 b#6,PUT=2 c#3,MERGE=1 ");
  EXPECT_EQ(Forward(), "a#2,DELETE= b#4,MERGE=3 b#3,PUT=2 c#0,MERGE=1 ");
  EXPECT_EQ(Backward(), Forward());
  EXPECT_EQ(Find("b"), Says::kOperandsOnValue);
  EXPECT_EQ(Find("bb"), Says::kDeleted) << "the range delete is kept";
  const OwnWrites::Mark mark = own_.mark();
  own_.Add(Kind::kPut, "a", "4");
  EXPECT_EQ(Find("a"), Says::kValue);
  own_.RollBack(mark);
  EXPECT_EQ(Find("a"), Says::kDeleted);
}

// The same random writes twice, once with compactions in between: every key reads the same.
TEST_F(OwnWritesTest, CompactionsChangeNoAnswer) {
  const uint64_t seed = testing::SeedOr(1);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  base::Random random(seed);
  OwnWrites plain{kv::Order(BytewiseComparator())};
  const auto name = [&] { return std::string(1, static_cast<char>('a' + random.Uniform(12))); };
  for (int step = 0; step < 5'000; ++step) {
    const std::string key = name(), other = name(), value = std::to_string(step);
    Kind kind = Kind::kPut;
    if (const uint64_t draw = random.Uniform(20); draw < 9) {
      kind = draw < 4 ? Kind::kDelete : Kind::kMerge;
    } else if (draw == 9 && step < 500 && key < other) {
      kind = Kind::kRangeDelete;
    }
    const std::string& second = kind == Kind::kRangeDelete ? other : value;
    for (OwnWrites* each : {&own_, &plain}) each->Add(kind, key, kind == Kind::kDelete ? std::string_view() : second);
    if (random.OneIn(50)) own_.Compact();
    for (char c = 'a'; c < 'n' && step % 10 == 0; ++c) {
      std::string_view expected;
      std::vector<std::string_view> expected_operands;
      const Says says = plain.Find({&c, 1}, &expected, &expected_operands);
      ASSERT_EQ(Find({&c, 1}), says) << step << c;
      ASSERT_EQ(operands_, expected_operands) << step << c;
      if (says == Says::kValue || says == Says::kOperandsOnValue) { ASSERT_EQ(value_, expected) << step << c; }
    }
  }
  EXPECT_LT(own_.count(), plain.count() / 2);
}

TEST_F(OwnWritesTest, WantsACompactionWhenMostBytesAreReplacedAndReadersHaveIndexedThem) {
  const std::string value(100, 'v');
  for (int i = 0; i < 10'000; ++i) own_.Add(Kind::kPut, std::to_string(i), value);
  EXPECT_EQ(Find("1"), Says::kValue);
  EXPECT_FALSE(own_.WantsCompaction()) << "each key has one record";
  const OwnWrites::Mark mark = own_.mark();
  for (int i = 0; i < 20'000; ++i) own_.Add(Kind::kPut, std::to_string(i % 10'000), value);
  EXPECT_EQ(Find("1"), Says::kValue);
  EXPECT_TRUE(own_.WantsCompaction());
  own_.RollBack(mark);
  EXPECT_FALSE(own_.WantsCompaction());
  for (int i = 0; i < 20'000; ++i) own_.Add(Kind::kPut, std::to_string(i % 10'000), value);
  EXPECT_EQ(Find("1"), Says::kValue);
  const size_t bytes = own_.bytes();
  own_.Compact();
  EXPECT_EQ(own_.count(), 10'000u);
  EXPECT_LT(own_.bytes(), bytes / 2);
  EXPECT_FALSE(own_.WantsCompaction());
}

}  // namespace
}  // namespace mergedb::txn
