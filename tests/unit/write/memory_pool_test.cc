// Goal: the memory of memtables is reused, pinned memory makes no writer wait, a pool at rest holds no memory, and a
// memtable may outlive its pool.
#include "write/memory_pool.h"

#include <gtest/gtest.h>

namespace mergedb::write {
namespace {

constexpr size_t kBytes = 64 << 10;

class MemoryPoolTest : public ::testing::Test {
 protected:
  static void Add(memtable::Memtable& table, const char* key) { table.Add(key, kv::MakeTag(1, kv::Kind::kPut), "v"); }
  static const char* AddressIn(memtable::Memtable& table) {
    memtable::Memtable::Found found;
    EXPECT_TRUE(table.Get("k", 9, &found));
    return found.value.data();
  }
  const kv::Order order_{BytewiseComparator()};
  std::shared_ptr<MemoryPool> pool_ = std::make_shared<MemoryPool>(kBytes, 2);
};

TEST_F(MemoryPoolTest, ReusesAMemoryThatCameBack) {
  auto table = pool_->NewMemtable(order_);
  Add(*table, "k");
  const char* const address = AddressIn(*table);
  table = nullptr;
  table = pool_->NewMemtable(order_);
  EXPECT_TRUE(table->empty());
  Add(*table, "k");
  EXPECT_EQ(AddressIn(*table), address);
}

TEST_F(MemoryPoolTest, MakesAnotherWhileOneIsPinned) {
  auto pinned = pool_->NewMemtable(order_), next = pool_->NewMemtable(order_);
  Add(*pinned, "k");
  Add(*next, "k");
  EXPECT_NE(AddressIn(*pinned), AddressIn(*next));
}

TEST_F(MemoryPoolTest, MakesOneForARecordThatNoStandardOneHolds) {
  const size_t bytes = memtable::Memtable::BytesNeeded(10, 4 * kBytes);
  auto large = MemoryPool::NewLargeMemtable(order_, bytes);
  EXPECT_FALSE(pool_->NewMemtable(order_)->HasRoom(10, 4 * kBytes));
  EXPECT_TRUE(large->HasRoom(10, 4 * kBytes));
}

TEST_F(MemoryPoolTest, AtRestItKeepsNoMemory) {
  auto early = pool_->NewMemtable(order_), late = pool_->NewMemtable(order_);
  early = nullptr;
  EXPECT_EQ(pool_->free_count(), 1u);
  pool_->Rest();
  EXPECT_EQ(pool_->free_count(), 0u);
  late = nullptr;  // comes back during the rest
  EXPECT_EQ(pool_->free_count(), 0u);
  auto next = pool_->NewMemtable(order_);
  next = nullptr;
  EXPECT_EQ(pool_->free_count(), 1u) << "the rest is over";
}

TEST_F(MemoryPoolTest, DoesNotKeepAMemoryThatGaveItsPagesBack) {
  auto table = pool_->NewMemtable(order_);
  Add(*table, "k");
  while (table->GiveBackUnused(kBytes)) {}
  table = nullptr;
  EXPECT_EQ(pool_->free_count(), 0u);
  Add(*pool_->NewMemtable(order_), "k");
  EXPECT_EQ(pool_->free_count(), 1u);
}

TEST_F(MemoryPoolTest, MayGoBeforeItsMemtables) {
  auto table = pool_->NewMemtable(order_);
  pool_ = nullptr;
  Add(*table, "k");
  EXPECT_NE(AddressIn(*table), nullptr);
}

}  // namespace
}  // namespace mergedb::write
