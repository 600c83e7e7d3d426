// Goal: seeks over many sorted runs start compactions that leave fewer runs, while writes go on; without seeks none
// starts. Data and open iterators stay right. Method: files in memory, background work run by the test, many short
// seeks.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/simulated_db.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::read_compactions_test {
namespace {

constexpr uint64_t kKeys = 2'000;

std::string Key(uint64_t i) { return "key" + std::to_string(100'000 + i); }

class ReadCompactions : public SimulatedDb, public ::testing::WithParamInterface<Style> {
 protected:
  void SetUp() override {
    options_.style = GetParam();
    options_.blob_value_bytes_min = 0;
    Reopen();
    for (uint64_t i = 0; i < kKeys; ++i) Put(i);
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
    // A few overwrites in several flushed runs, too few for any compaction.
    for (int run = 0; run < 3; ++run) {
      for (uint64_t i = 0; i < 100; ++i) Put(random_.Uniform(kKeys));
      ASSERT_OK(db_->Flush());
    }
    RunBackgroundWork();
  }
  void Put(uint64_t i) {
    const std::string value = std::to_string(++puts_) + std::string(60, 'v');
    ASSERT_OK(db_->Put({}, Key(i), value));
    expected_[Key(i)] = value;
  }
  // Work of a database that is written to: the clock advances by itself, and without writes idle compaction would
  // begin.
  void RunBackgroundWork() {
    Put(7);
    sim_.executor.RunTimers();
    sim_.executor.RunAll();
  }
  uint64_t Runs() { return Counter(*db_, "runs"); }
  void Seek(int times) {
    auto it = db_->NewIterator({});
    for (int i = 0; i < times; ++i) {
      const auto at = expected_.find(Key(random_.Uniform(kKeys)));
      it->Seek(at->first);
      ASSERT_TRUE(it->Valid()) << it->status().ToString();
      ASSERT_EQ(it->value(), at->second);
    }
  }

  base::Random random_{7};
  std::map<std::string, std::string> expected_;
  uint64_t puts_ = 0;
};

TEST_P(ReadCompactions, BeginWhenSeeksHaveVisitedManyRuns) {
  const uint64_t runs = Runs();
  ASSERT_GE(runs, 3u);
  auto pinned = db_->NewIterator({});
  pinned->SeekToFirst();
  const auto before = expected_;
  Seek(2'000);
  RunBackgroundWork();
  EXPECT_EQ(Counter(*db_, "read_compactions"), 0u) << "too few visits";
  EXPECT_EQ(Runs(), runs);
  for (int round = 0; round < 10 && Runs() > 1; ++round) {
    Seek(5'000);
    RunBackgroundWork();
  }
  EXPECT_EQ(Runs(), 1u);
  EXPECT_GT(Counter(*db_, "read_compactions"), 0u);
  EXPECT_GE(Counter(*db_, "extra_run_visits"), 16'384u);
  Seek(1'000);
  for (const auto& [key, value] : before) {
    ASSERT_TRUE(pinned->Valid()) << pinned->status().ToString();
    ASSERT_EQ(pinned->key(), key);
    ASSERT_EQ(pinned->value(), value);
    pinned->Next();
  }
}

TEST_P(ReadCompactions, DoNotBeginWithoutSeeks) {
  const uint64_t runs = Runs();
  std::string value;
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_OK(db_->Get({}, Key(random_.Uniform(kKeys)), &value));
    if (i % 500 == 0) RunBackgroundWork();
  }
  for (int i = 0; i < 10; ++i) {
    auto it = db_->NewIterator({});
    int entries = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++entries;
    RunBackgroundWork();
    EXPECT_EQ(entries, static_cast<int>(kKeys));
  }
  RunBackgroundWork();
  EXPECT_EQ(Counter(*db_, "read_compactions"), 0u);
  EXPECT_EQ(Runs(), runs);
}

// The credit of the seeks before is spent: new runs need new seeks.
TEST_P(ReadCompactions, EachBeginsForNewSeeks) {
  for (int round = 0; round < 10 && Runs() > 1; ++round) {
    Seek(5'000);
    RunBackgroundWork();
  }
  const uint64_t begun = Counter(*db_, "read_compactions");
  ASSERT_GT(begun, 0u);
  for (int run = 0; run < 3; ++run) {
    for (uint64_t i = 0; i < 100; ++i) Put(random_.Uniform(kKeys));
    ASSERT_OK(db_->Flush());
  }
  RunBackgroundWork();
  EXPECT_GT(Runs(), 1u);
  EXPECT_EQ(Counter(*db_, "read_compactions"), begun);
}

TEST_P(ReadCompactions, IteratorsMayReportAfterTheCloseOfTheDatabase) {
  auto it = db_->NewIterator({});
  for (int i = 0; i < 100; ++i) it->Seek(Key(random_.Uniform(kKeys)));
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  it = nullptr;
}

INSTANTIATE_TEST_SUITE_P(Styles, ReadCompactions, ::testing::Values(Style::kLazy, Style::kCascade),
                         [](const auto& style) { return style.param == Style::kLazy ? "Lazy" : "Cascade"; });

}  // namespace
}  // namespace mergedb::testing::read_compactions_test
