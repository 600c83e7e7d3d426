// Goal: the user's iterator shows memtables and runs as one list, within its bounds, in both directions, and
// returns errors after its database is closed.
#include "read/db_iterator.h"

#include <gtest/gtest.h>

#include "tests/unit/read/super_versions.h"

namespace mergedb::read {
namespace {

using testing::DeleteEntry;
using testing::PutEntry;
using testing::StatusIs;

class DbIteratorTest : public ::testing::Test {
 protected:
  std::unique_ptr<Iterator> New(const IteratorOptions& options = {}, kv::Sequence sequence = kv::kSequenceMax) {
    const DbIteratorContext context{.order = tables_.order,
                                    .tables = *tables_.cache,
                                    .values = *tables_.values,
                                    .is_closed = is_closed_,
                                    .keep = nullptr};
    return NewDbIterator(context, view_, sequence, options);
  }
  static std::string Forward(Iterator& it) {
    std::string text;
    for (it.SeekToFirst(); it.Valid(); it.Next()) text += std::string(it.key()) + "=" + std::string(it.value()) + " ";
    return text + (it.status().ok() ? "" : it.status().ToString());
  }
  static std::string Backward(Iterator& it) {
    std::string text;
    for (it.SeekToLast(); it.Valid(); it.Prev()) text += std::string(it.key()) + " ";
    return text + (it.status().ok() ? "" : it.status().ToString());
  }

  testing::Tables tables_;
  std::shared_ptr<std::atomic<bool>> is_closed_ = std::make_shared<std::atomic<bool>>(false);
  SuperVersionPtr view_ = std::make_shared<const SuperVersion>(testing::ViewOf(
      tables_, {PutEntry("d", 9, "active"), DeleteEntry("a", 10)}, {PutEntry("ba", 7, "sealed")},
      {{PutEntry("b", 5, "new"), PutEntry("c", 6, "c")}, {PutEntry("a", 1, "a"), PutEntry("b", 2, "old")}}));
};

TEST_F(DbIteratorTest, ShowsOneListBothWays) {
  auto it = New();
  EXPECT_EQ(Forward(*it), "b=new ba=sealed c=c d=active ");
  EXPECT_EQ(Backward(*it), "d c ba b ");
  EXPECT_EQ(Forward(*New({}, 5)), "a=a b=new ");
}

TEST_F(DbIteratorTest, KeepsToPrefixAndBounds) {
  EXPECT_EQ(Forward(*New({.prefix = "b"})), "b=new ba=sealed ");
  EXPECT_EQ(Backward(*New({.prefix = "b"})), "ba b ");
  EXPECT_EQ(Forward(*New({.lower = "ba", .upper = "d"})), "ba=sealed c=c ");
  EXPECT_EQ(Forward(*New({.lower = "c", .prefix = "b"})), "");
}

TEST_F(DbIteratorTest, SeeksToBothSidesOfAKey) {
  auto it = New();
  it->Seek("bb");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "c");
  it->SeekForPrev("bb");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "ba");
  it->SeekForPrev("z");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "d");
  it->SeekForPrev("a");
  EXPECT_FALSE(it->Valid());
  it->Next();  // no effect
  EXPECT_OK(it->status());
}

TEST_F(DbIteratorTest, IsAnErrorOnceTheDatabaseIsClosed) {
  auto it = New();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  *is_closed_ = true;
  EXPECT_FALSE(it->Valid());
  EXPECT_THAT(it->status(), StatusIs(Code::kShuttingDown));
  it->SeekToFirst();
  it->Next();
  EXPECT_FALSE(it->Valid());
}

TEST_F(DbIteratorTest, ReportsATableThatCannotBeRead) {
  ASSERT_OK(tables_.files.Remove("dir/000001.tbl"));
  auto it = New();
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid()) << "what stands in the table may come first";
  EXPECT_FALSE(it->status().ok());
}

TEST_F(DbIteratorTest, ReleasesItsSuperVersionWhenItIsDestroyed) {
  const std::weak_ptr<const SuperVersion> view = view_;
  auto it = New();
  view_ = nullptr;
  EXPECT_FALSE(view.expired());
  it = nullptr;
  EXPECT_TRUE(view.expired());
}

}  // namespace
}  // namespace mergedb::read
