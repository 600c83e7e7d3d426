// Goal: the metrics count the bytes that compactions write by the reason of the compaction; the parts add up to the
// total. Method: workloads that cause each reason, in files in memory with background work run by the test; the events
// of the compactions say the same in another way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/event_listener.h"
#include "picker/compaction_pick.h"
#include "testing/counters.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::written_by_reason_test {
namespace {

constexpr uint64_t kSeed = 11;

std::string Key(uint64_t i) { return "key" + std::to_string(1'000'000 + i); }

// Adds up what compactions say at their end.
class Sums : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    const std::lock_guard lock(mutex_);
    if (event.kind == EventKind::kCompactionBegin && event.number("is_move") != 0)
      moved_ += event.number("input_bytes");
    if (event.kind == EventKind::kCompactionEnd)
      written_[std::string(event.text("reason"))] += event.number("bytes_written");
  }
  // REQUIRES: the database is closed.
  const std::map<std::string, uint64_t>& written() const { return written_; }
  uint64_t moved() const { return moved_; }

 private:
  std::mutex mutex_;
  std::map<std::string, uint64_t> written_;
  uint64_t moved_ = 0;
};

class WrittenByReason : public ::testing::Test {
 protected:
  void Open(Style style, uint64_t blob_value_bytes_min, uint64_t write_buffer_bytes = 64 << 10) {
    Options options = sim_.SmallOptions();
    options.style = style;
    options.memory_bytes = 16 * write_buffer_bytes;
    options.write_buffer_bytes = write_buffer_bytes;
    options.blob_value_bytes_min = blob_value_bytes_min;
    options.listener = sums_;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
  }
  void Put(uint64_t i, size_t bytes) { ASSERT_OK(db_->Put({}, Key(i), std::string(bytes, 'v'))); }
  void Fill(int puts, uint64_t keys, size_t bytes) {
    for (int i = 0; i < puts; ++i) {
      Put(random_.Uniform(keys), bytes);
      if (i % 100 == 0) sim_.executor.RunAll(1'000'000);
    }
  }
  uint64_t Written(const std::string& reason) { return Counter(*db_, "compaction_bytes_written_" + reason); }
  // Closes the database and compares its metrics with the events.
  void Check() {
    std::map<std::string, uint64_t> counted;
    uint64_t sum = 0;
    for (size_t i = 0; i < picker::kCompactionReasons; ++i) {
      const auto reason = static_cast<picker::CompactionReason>(i);
      if (reason == picker::CompactionReason::kDisjoint) continue;  // it only moves tables
      const std::string name(picker::CompactionReasonName(reason));
      counted[name] = Written(name);
      sum += counted[name];
    }
    const uint64_t total = Counter(*db_, "compaction_bytes_written");
    const uint64_t moved = Counter(*db_, "table_bytes_moved");
    ASSERT_OK(db_->Close());
    EXPECT_EQ(sum, total);
    EXPECT_EQ(moved, sums_->moved());
    for (const auto& [name, bytes] : counted) {
      const auto said = sums_->written().find(name);
      EXPECT_EQ(bytes, said == sums_->written().end() ? 0 : said->second) << name;
    }
  }

  SimulatedEnv sim_;
  const std::shared_ptr<Sums> sums_ = std::make_shared<Sums>();
  base::Random random_{kSeed};
  std::unique_ptr<DB> db_;
};

TEST_F(WrittenByReason, TiersSpaceCompactRangeAndIdle) {
  Open(Style::kLazy, 0);
  Fill(60'000, 20'000, 100);
  EXPECT_GT(Written("tier_full"), 0u);
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_GT(Written("space"), 0u);
  EXPECT_EQ(Written("manual"), 0u);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  EXPECT_GT(Written("manual"), 0u);
  Fill(1'000, 20'000, 100);
  ASSERT_OK(db_->Flush());
  sim_.PassTime(60);
  EXPECT_GT(Written("idle"), 0u);
  Check();
}

TEST_F(WrittenByReason, LevelsOfCascade) {
  Open(Style::kCascade, 0);
  Fill(40'000, 1'000'000, 400);
  EXPECT_GT(Written("prefix"), 0u);
  EXPECT_GT(Written("adjacent_full"), 0u);
  Check();
}

TEST_F(WrittenByReason, MovesWriteNothing) {
  Open(Style::kLazy, 0);
  for (uint64_t i = 0; i < 10'000; ++i) Put(i, 100);
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_GT(Counter(*db_, "moves"), 0u);
  EXPECT_GT(Counter(*db_, "table_bytes_moved"), 0u);
  Check();
}

TEST_F(WrittenByReason, Seeks) {
  Open(Style::kLazy, 0);
  for (uint64_t i = 0; i < 2'000; ++i) Put(i, 60);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  for (int run = 0; run < 3; ++run) {
    Fill(100, 2'000, 60);
    ASSERT_OK(db_->Flush());
  }
  for (int round = 0; round < 20 && Written("reads") == 0; ++round) {
    auto it = db_->NewIterator({});
    for (int i = 0; i < 3'000; ++i) it->Seek(Key(random_.Uniform(2'000)));
    Put(7, 60);
    sim_.executor.RunTimers();
    sim_.executor.RunAll();
  }
  EXPECT_GT(Written("reads"), 0u);
  Check();
}

TEST_F(WrittenByReason, TombstonesAndScansOverThem) {
  Open(Style::kLazy, 0);
  for (uint64_t i = 0; i < 20'000; ++i) Put(i, 60);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  {
    // The snapshot keeps what is deleted, so the tombstones reach the oldest run.
    const auto snapshot = db_->GetSnapshot();
    for (uint64_t i = 0; i < 8'000; ++i) ASSERT_OK(db_->Delete({}, Key(i)));
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  }
  for (uint64_t i = 10'000; i < 15'000; ++i) {
    ASSERT_OK(db_->Delete({}, Key(i)));
    if (i % 100 == 0) sim_.executor.RunAll(1'000'000);
  }
  EXPECT_GT(Written("tombstones"), 0u);
  for (int round = 0; round < 10 && Written("tombstone_scan") == 0; ++round) {
    auto it = db_->NewIterator({});
    it->Seek(Key(9'999));
    it->Next();
    Put(1, 60);
    sim_.executor.RunTimers();
    sim_.executor.RunAll();
  }
  EXPECT_GT(Written("tombstone_scan"), 0u);
  Check();
}

TEST_F(WrittenByReason, SmallBlobFiles) {
  Open(Style::kLazy, 64, 1 << 20);
  for (uint64_t file = 0; file < 45; ++file) {
    for (uint64_t i = 0; i < 300; ++i) Put(300 * file + i, 70);
    ASSERT_OK(db_->Flush());
    sim_.executor.RunAll(1'000'000);
  }
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_GT(Written("small_blobs"), 0u);
  Check();
}

TEST_F(WrittenByReason, GarbageInBlobFiles) {
  Open(Style::kLazy, 64);
  Fill(8'000, 3'000, 500);
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_GT(Written("blob_garbage"), 0u);
  Check();
}

TEST_F(WrittenByReason, ScansOfBlobValues) {
  Open(Style::kLazy, 64);
  for (uint64_t i = 0; i < 3'000; ++i) Put(i * 701 % 3'000, 500);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  for (int round = 0; round < 3'000 && Written("blob_order") == 0; ++round) {
    auto it = db_->NewIterator({});
    it->Seek(Key(random_.Uniform(2'900)));
    for (int step = 0; step < 12 && it->Valid(); ++step) it->Next();
    if (round % 300 == 299) { ASSERT_OK(db_->WaitForCompaction()); }
  }
  EXPECT_GT(Written("blob_order"), 0u);
  Check();
}

}  // namespace
}  // namespace mergedb::testing::written_by_reason_test
