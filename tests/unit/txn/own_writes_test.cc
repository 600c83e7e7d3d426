// A transaction's own writes as a source of versions: which versions are found, in which order they are shown,
// and which are left after a rollback. Method: examples. tests/unit/txn/cursor_test.cc reads them with random
// writes and rollbacks.
#include "txn/own_writes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

}  // namespace
}  // namespace mergedb::txn
