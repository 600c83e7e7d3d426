// Goal: a handle reaches its own object or no object. Method: a new table for each test; the last tests use
// threads that race for the same handle.
#include "c/handles.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "base/random.h"

namespace mergedb::c {
namespace {

struct Counted final : Object {
  explicit Counted(std::atomic<int>* count) : alive(count) { ++*alive; }
  ~Counted() override { --*alive; }
  std::atomic<int>* alive;
};

class HandleTableTest : public testing::Test {
 protected:
  uint64_t Add(HandleKind kind) { return table_->Add(kind, std::make_unique<Counted>(&alive_)); }
  PinOutcome Close(uint64_t handle, HandleKind kind) {
    std::unique_ptr<Object> object;
    const PinOutcome outcome = table_->Close(handle, kind, &object);
    EXPECT_EQ(object != nullptr, outcome == PinOutcome::kPinned);
    return outcome;
  }

  std::atomic<int> alive_{0};
  std::unique_ptr<HandleTable> table_ = std::make_unique<HandleTable>();
  Object* object_ = nullptr;
};

TEST_F(HandleTableTest, PinsTheObjectThatWasAdded) {
  const uint64_t handle = Add(HandleKind::kDatabase);
  ASSERT_NE(handle, 0u);
  EXPECT_EQ(table_->Pin(handle, HandleKind::kDatabase, &object_), PinOutcome::kPinned);
  EXPECT_EQ(static_cast<Counted*>(object_)->alive, &alive_);
  table_->Unpin(handle);
  EXPECT_EQ(Close(handle, HandleKind::kDatabase), PinOutcome::kPinned);
  EXPECT_EQ(alive_, 0);
}

// See c.h. Symptom: a loop over the texts of a report ends early and without an error, if another thread
// reads it too.
TEST_F(HandleTableTest, DatabasesSnapshotsAndReportsAreForManyThreadsAtOnce) {
  for (const auto kind : {HandleKind::kDatabase, HandleKind::kIterator, HandleKind::kSnapshot, HandleKind::kBatch,
                          HandleKind::kTransaction, HandleKind::kCursor, HandleKind::kReport}) {
    const bool is_shared =
        kind == HandleKind::kDatabase || kind == HandleKind::kSnapshot || kind == HandleKind::kReport;
    const uint64_t handle = Add(kind);
    ASSERT_EQ(table_->Pin(handle, kind, &object_), PinOutcome::kPinned);
    const PinOutcome second = table_->Pin(handle, kind, &object_);
    EXPECT_EQ(second, is_shared ? PinOutcome::kPinned : PinOutcome::kInUse) << static_cast<int>(kind);
    if (second == PinOutcome::kPinned) table_->Unpin(handle);
    table_->Unpin(handle);
    EXPECT_EQ(Close(handle, kind), PinOutcome::kPinned);
  }
}

TEST_F(HandleTableTest, RefusesAHandleOfAnotherKind) {
  const uint64_t handle = Add(HandleKind::kSnapshot);
  EXPECT_EQ(table_->Pin(handle, HandleKind::kDatabase, &object_), PinOutcome::kBadHandle);
  // The right slot and generation with a forged kind.
  const uint64_t forged = (handle & ~(uint64_t{15} << 60)) | uint64_t{1} << 60;
  EXPECT_EQ(table_->Pin(forged, HandleKind::kDatabase, &object_), PinOutcome::kBadHandle);
  EXPECT_EQ(Close(handle, HandleKind::kSnapshot), PinOutcome::kPinned);
}

TEST_F(HandleTableTest, RefusesAStaleHandleWhoseSlotIsTakenAgain) {
  const uint64_t first = Add(HandleKind::kBatch);
  EXPECT_EQ(Close(first, HandleKind::kBatch), PinOutcome::kPinned);
  const uint64_t second = Add(HandleKind::kBatch);
  EXPECT_NE(first, second);
  EXPECT_EQ(static_cast<uint32_t>(first >> 32), static_cast<uint32_t>(second >> 32)) << "the slot was not reused";
  EXPECT_EQ(table_->Pin(first, HandleKind::kBatch, &object_), PinOutcome::kBadHandle);
  EXPECT_EQ(Close(first, HandleKind::kBatch), PinOutcome::kBadHandle);
  EXPECT_EQ(Close(second, HandleKind::kBatch), PinOutcome::kPinned);
}

TEST_F(HandleTableTest, LetsOneCallInToAnExclusiveObject) {
  const uint64_t handle = Add(HandleKind::kIterator);
  EXPECT_EQ(table_->Pin(handle, HandleKind::kIterator, &object_), PinOutcome::kPinned);
  EXPECT_EQ(table_->Pin(handle, HandleKind::kIterator, &object_), PinOutcome::kInUse);
  EXPECT_EQ(Close(handle, HandleKind::kIterator), PinOutcome::kInUse);
  table_->Unpin(handle);
  EXPECT_EQ(Close(handle, HandleKind::kIterator), PinOutcome::kPinned);
}

TEST_F(HandleTableTest, GrowsAndKeepsHandlesApart) {
  std::set<uint64_t> handles;
  for (int i = 0; i < 1000; ++i) handles.insert(Add(HandleKind::kSnapshot));
  EXPECT_EQ(handles.size(), 1000u);
  for (uint64_t handle : handles) EXPECT_EQ(Close(handle, HandleKind::kSnapshot), PinOutcome::kPinned);
  EXPECT_EQ(alive_, 0);
}

TEST_F(HandleTableTest, RefusesRandomNumbers) {
  Add(HandleKind::kDatabase);
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  base::Random random(kSeed);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t handle = random.Next() >> random.Uniform(64);
    for (int kind = 0; kind < 16; ++kind) {
      ASSERT_EQ(table_->Pin(handle, static_cast<HandleKind>(kind), &object_), PinOutcome::kBadHandle);
    }
  }
}

TEST_F(HandleTableTest, ClosesOnceAndOnlyWhenNobodyIsIn) {
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t handle = Add(HandleKind::kDatabase);
    std::atomic<int> closed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        Object* object = nullptr;
        while (table_->Pin(handle, HandleKind::kDatabase, &object) == PinOutcome::kPinned) {
          EXPECT_EQ(static_cast<Counted*>(object)->alive->load(), 1);
          table_->Unpin(handle);
        }
      });
      threads.emplace_back([&] {
        std::unique_ptr<Object> object;
        if (table_->Close(handle, HandleKind::kDatabase, &object) == PinOutcome::kPinned) ++closed;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(closed, 1);
    EXPECT_EQ(alive_, 0);
  }
}

// A call that has the object pinned may wait for another one that only Close can end.
TEST_F(HandleTableTest, CloseTellsTheObjectBeforeItWaitsForCalls) {
  struct Told final : Object {
    Told(HandleTable& in, uint64_t& of) : table(in), handle(of) {}
    void BeginClose() override { table.Unpin(handle); }
    HandleTable& table;
    uint64_t& handle;
  };
  uint64_t handle = 0;
  handle = table_->Add(HandleKind::kDatabase, std::make_unique<Told>(*table_, handle));
  ASSERT_EQ(table_->Pin(handle, HandleKind::kDatabase, &object_), PinOutcome::kPinned);
  EXPECT_EQ(Close(handle, HandleKind::kDatabase), PinOutcome::kPinned) << "it waits for ever otherwise";
}

}  // namespace
}  // namespace mergedb::c
