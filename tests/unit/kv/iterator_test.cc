// Goal: the empty iterator keeps rules R1, R2 and R6 of the contract.
#include "kv/iterator.h"

#include <gtest/gtest.h>

namespace mergedb::kv {
namespace {

TEST(EmptyIterator, ShowsNothingHoweverItIsMoved) {
  const auto it = NewEmptyIterator();
  EXPECT_FALSE(it->Valid());
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  it->SeekToLast();
  EXPECT_FALSE(it->Valid());
  it->Seek("key", kTagMax);
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().ok());
}

TEST(EmptyIterator, KeepsItsErrorThroughSeeks) {
  const auto it = NewEmptyIterator(Status::Corruption("000012.tbl"));
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_EQ(it->status().ToString(), "Corruption: 000012.tbl");
}

TEST(EmptyIteratorDeathTest, CannotStep) {
  EXPECT_DEATH(NewEmptyIterator()->Next(), "Next needs Valid");
  EXPECT_DEATH(NewEmptyIterator()->Prev(), "Prev needs Valid");
}

}  // namespace
}  // namespace mergedb::kv
