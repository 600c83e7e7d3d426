// Several compactions run at the same time, in steps that alternate on one thread, and a small compaction
// overtakes a large one. Method: the test runs the steps; it reads the running compactions from
// "mergedb.stats".
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/numbered_key.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::compactions_at_once_test {
namespace {

std::string Key(uint64_t i) { return NumberedKey("key", i, 7); }

class CompactionsAtOnce : public ::testing::TestWithParam<Style> {
 protected:
  void SetUp() override {
    Options options = sim_.SmallOptions();
    options.style = GetParam();
    auto db = DB::Open(options, SimulatedEnv::kPath);
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }
  void Put(uint64_t i) {
    std::string value = std::to_string(++puts_) + ":" + std::string(value_bytes_, 'v');
    ASSERT_OK(db_->Put({}, Key(i), value));
    expected_[Key(i)] = std::move(value);
  }
  // The lines after "running compactions:", one for each job.
  std::multiset<std::string> RunningMerges() {
    std::multiset<std::string> jobs;
    const std::string stats = Property(*db_, "stats"), title = "running compactions:\n";
    size_t at = stats.find(title);
    if (at == std::string::npos) return jobs;
    for (at += title.size(); at < stats.size();) {
      const size_t end = stats.find('\n', at);
      const std::string line = stats.substr(at, end - at);
      if (line.find(" runs, ") == std::string::npos) break;
      jobs.insert(line);
      at = end + 1;
    }
    return jobs;
  }
  void CheckContents() {
    auto it = db_->NewIterator();
    auto next = expected_.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++next) {
      ASSERT_NE(next, expected_.end());
      ASSERT_EQ(it->key(), next->first);
      ASSERT_EQ(it->value(), next->second);
    }
    EXPECT_OK(it->status());
    EXPECT_EQ(next, expected_.end());
  }

  // The second begins while a compaction of the first runs, after `meanwhile`.
  std::pair<Status, Status> CompactTwiceAtOnce(const std::function<void()>& meanwhile) {
    Status second;
    std::function<void()> work = [&] {
      const auto jobs = RunningMerges();
      const bool is_asked_for =
          std::any_of(jobs.begin(), jobs.end(), [](const std::string& job) { return job.starts_with("manual"); });
      if (!is_asked_for) return sim_.executor.Schedule(work);
      meanwhile();
      second = db_->CompactRange(nullptr, nullptr);
    };
    sim_.executor.Schedule(work);
    const Status first = db_->CompactRange(nullptr, nullptr);
    return {first, second};
  }

  SimulatedEnv sim_{{.seed = 31, .parallelism = 2}};
  std::unique_ptr<DB> db_;
  std::map<std::string, std::string> expected_;
  uint64_t puts_ = 0;
  size_t value_bytes_ = 300;
};

TEST_P(CompactionsAtOnce, LetsAnInnerCompactionOvertakeAnOuterOne) {
  value_bytes_ = 60;
  constexpr uint64_t kKeys = 150'000;
  for (uint64_t i = 0; i < kKeys; ++i) Put(i);
  ASSERT_OK(db_->WaitForCompaction());

  // Writes continue while compactions run. `running` is in the order of their beginnings: a compaction that
  // ends while an earlier one still runs has overtaken it.
  constexpr uint64_t kStepNanos = 2'000'000;
  uint64_t slept_steps = sim_.clock.slept_nanos() / kStepNanos;
  uint64_t overtaken = 0, merges = Counter(*db_, "compactions");
  std::vector<std::string> running;
  for (uint64_t n = 0; n < 200'000 && overtaken < 3; ++n) {
    Put(n * 7919 % kKeys);
    if (n % 5'000 == 0) sim_.executor.RunTimers();
    // Few steps for much data, so that compactions take long; plus the steps that fit into the time of the
    // write delay.
    const uint64_t slept = sim_.clock.slept_nanos() / kStepNanos;
    if (n % 100 != 0 && slept == slept_steps) continue;
    for (; slept_steps < slept; ++slept_steps) sim_.executor.RunOne();
    sim_.executor.RunOne();
    auto now = RunningMerges();
    std::vector<std::string> still;
    uint64_t ended = 0;
    for (const std::string& job : running) {
      if (const auto found = now.find(job); found != now.end()) {
        still.push_back(job);
        now.erase(found);
      } else {
        ++ended;
        overtaken += still.empty() ? 0 : 1;
      }
    }
    const uint64_t done = Counter(*db_, "compactions");
    if (done > merges + ended && !still.empty()) ++overtaken;  // began and ended since the last check
    merges = done;
    running = std::move(still);
    running.insert(running.end(), now.begin(), now.end());
  }
  EXPECT_GT(overtaken, 0u) << Property(*db_, "counters");
  EXPECT_GT(Counter(*db_, "compactions_at_once_max"), 1u);
  CheckContents();
  ASSERT_OK(db_->WaitForCompaction());
  CheckContents();
  ASSERT_OK(db_->CheckIntegrity());
}

TEST_P(CompactionsAtOnce, FlushesWhileALargeCompactionRuns) {
  constexpr uint64_t kKeys = 10'000;
  for (uint64_t i = 0; i < 3 * kKeys; ++i) {
    Put(i * 7919 % kKeys);
    if (i % 64 == 0) sim_.executor.RunTimers();
  }
  while (RunningMerges().empty()) Put(puts_ * 7919 % kKeys), sim_.executor.RunOne();
  // While the compaction runs, nothing blocks a writer: memtables are flushed between its steps.
  const uint64_t flushes = Counter(*db_, "flushes"), merges = Counter(*db_, "compactions");
  uint64_t puts = 0;
  while (Counter(*db_, "compactions") == merges && puts < 5'000) {
    Put(puts++ * 31 % kKeys);
    if (puts % 8 == 0) sim_.executor.RunOne();
  }
  EXPECT_GE(Counter(*db_, "flushes"), flushes + puts * value_bytes_ / (64 << 10) / 2);
  CheckContents();
}

// One full compaction at a time: a caller that waits for another one receives the error that stopped it.
TEST_P(CompactionsAtOnce, ACompactionThatWaitsForAnotherHearsOfItsFailureAndOfTheEnd) {
  const auto fill = [this] {
    for (uint64_t i = 0; i < 10'000; ++i) Put(i);
    ASSERT_OK(db_->Flush());
    for (uint64_t i = 0; i < 100; ++i) Put(i * 97);  // a second sorted run: one alone needs no compaction
  };
  fill();
  const auto failed = CompactTwiceAtOnce(
      [this] { sim_.files->AddFault({.op = FileOp::kWrite, .path_contains = ".tbl", .sticky = true}); });
  EXPECT_THAT(failed.first, StatusIs(Code::kIOError, ::testing::HasSubstr(".tbl: write")));
  EXPECT_THAT(failed.second, StatusIs(Code::kIOError, ::testing::HasSubstr(".tbl: write")));
  sim_.files->ClearFaults();
  CheckContents();
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  CheckContents();

  fill();
  const auto ended = CompactTwiceAtOnce([this] { sim_.executor.Schedule([this] { EXPECT_OK(db_->Close()); }); });
  EXPECT_THAT(ended.first, StatusIs(Code::kShuttingDown));
  EXPECT_THAT(ended.second, StatusIs(Code::kShuttingDown));
  SetUp();
  CheckContents();
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  CheckContents();
}

INSTANTIATE_TEST_SUITE_P(Styles, CompactionsAtOnce, ::testing::Values(Style::kLazy, Style::kCascade),
                         [](const auto& style) { return style.param == Style::kLazy ? "Lazy" : "Cascade"; });

}  // namespace
}  // namespace mergedb::testing::compactions_at_once_test
