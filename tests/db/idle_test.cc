// Goal: when writes stop, compactions turn the tree into one sorted run, and then all background work ends.
// Method: files in memory, a driven clock, background work run by the test; both styles, with and without
// keyspaces, with blob files, and with the table options of the LMDB interface. A test on real files and
// threads watches threads that wait.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing::idle_test {
namespace {

struct Shape {
  Style style;
  bool has_keyspaces;
  bool separates_values;
  bool maps_tables;
};

class Idle : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    Options options = sim_.SmallOptions();
    options.style = GetParam().style;
    options.blob_value_bytes_min = GetParam().separates_values ? 64 : 0;
    if (GetParam().maps_tables) options.mapped_read_bytes_max = UINT64_MAX;
    auto db = db::DbImpl::Open(options, SimulatedEnv::kPath, {.keeps_keys_whole = GetParam().maps_tables});
    ASSERT_OK(db.status());
    db_ = std::move(*db);
    if (!GetParam().has_keyspaces) return;
    for (const char* name : {"first", "second", "dropped"}) {
      auto made = db_->CreateKeyspace(name, {});
      ASSERT_OK(made.status());
      keyspaces_.push_back(*made);
    }
  }
  void WriteMuch(uint64_t seed) {
    base::Random random(seed);
    for (int i = 0; i < 20'000; ++i) {
      const Keyspace keyspace = keyspaces_[random.Uniform(keyspaces_.size())];
      const std::string key = "key" + std::to_string(random.Uniform(5'000));
      if (random.Uniform(10) == 0) {
        ASSERT_OK(db_->Delete({}, keyspace, key));
      } else {
        ASSERT_OK(db_->Put({}, keyspace, key, std::string(20 + random.Uniform(100), 'v')));
      }
      if (i % 5'000 == 4'999) { ASSERT_OK(db_->DeleteRange({}, keyspace, "key1", "key2")); }
      for (uint64_t steps = random.Uniform(2); steps > 0; --steps) sim_.executor.RunOne();
    }
    if (keyspaces_.size() > 1) {
      ASSERT_OK(db_->DropKeyspace({}, keyspaces_.back()));
      keyspaces_.pop_back();
    }
    ASSERT_OK(db_->Flush());
  }
  void PassTime(int seconds) {
    for (int second = 0; second < seconds; ++second) {
      sim_.clock.SleepNanos(1'000'000'000);
      sim_.executor.RunTimers();
      sim_.executor.RunAll(10'000'000);
    }
  }
  uint64_t Runs() const { return Counter(*db_, "runs"); }

  SimulatedEnv sim_;
  std::unique_ptr<db::DbImpl> db_;
  std::vector<Keyspace> keyspaces_ = {Keyspace()};
};

TEST_P(Idle, EndsInOneRunAndComesToRest) {
  const uint64_t seed = SeedOr(5);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (uint64_t round = 0; round < 2; ++round) {
    WriteMuch(seed + round);
    EXPECT_GT(Runs(), 1u);
    PassTime(20);
    EXPECT_EQ(Runs(), 1u) << Property(*db_, "stats");
    EXPECT_EQ(Counter(*db_, "range_tombstones_in_tables"), 0u);
    EXPECT_EQ(Counter(*db_, "table_bytes_on_disk"), Counter(*db_, "table_bytes_live"));
  }
  const uint64_t merges = Counter(*db_, "compactions"), commits = Counter(*db_, "manifest_commits");
  PassTime(60);
  EXPECT_EQ(Counter(*db_, "compactions"), merges);
  EXPECT_EQ(Counter(*db_, "manifest_commits"), commits);
  EXPECT_FALSE(sim_.executor.RunOne());
}

TEST_P(Idle, TakesInWhatTheMemtableHoldsIfThatIsWorthIt) {
  WriteMuch(SeedOr(9));
  PassTime(20);
  const uint64_t flushes = Counter(*db_, "flushes");
  for (int i = 0; i < 200; ++i)
    ASSERT_OK(db_->Put({}, keyspaces_.front(), "key" + std::to_string(i), std::string(100, 'w')));
  PassTime(20);
  EXPECT_EQ(Counter(*db_, "flushes"), flushes + 1);
  EXPECT_EQ(Runs(), 1u) << Property(*db_, "stats");
  // Otherwise an occasional put would rewrite the whole database each time.
  ASSERT_OK(db_->Put({}, keyspaces_.front(), "key", "one"));
  PassTime(60);
  EXPECT_EQ(Counter(*db_, "flushes"), flushes + 1);
  std::string value;
  ASSERT_OK(db_->Get({}, keyspaces_.front(), "key7", &value));
  EXPECT_EQ(value, std::string(100, 'w'));
}

TEST_P(Idle, LeavesTheMemtableAloneWhileTheLogIsInTrouble) {
  WriteMuch(SeedOr(13));
  PassTime(20);
  const uint64_t flushes = Counter(*db_, "flushes");
  for (int i = 0; i < 200; ++i)
    ASSERT_OK(db_->Put({}, keyspaces_.front(), "key" + std::to_string(i), std::string(100, 'w')));
  sim_.files->AddFault({.op = FileOp::kSync, .path_contains = ".seg", .sticky = true});
  PassTime(60);
  EXPECT_GT(sim_.files->faults_hit(), 0u);
  EXPECT_EQ(Counter(*db_, "flushes"), flushes) << "a new segment behind one that failed";
  sim_.files->ClearFaults();
  ASSERT_OK(db_->Put({}, keyspaces_.front(), "key", "it came back"));
  PassTime(20);
  EXPECT_GT(Counter(*db_, "flushes"), flushes);
  std::string value;
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(db_->Get({}, keyspaces_.front(), "key" + std::to_string(i), &value));
    EXPECT_EQ(value, std::string(100, 'w'));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Idle,
                         ::testing::Values(Shape{Style::kLazy, false, false, false},
                                           Shape{Style::kLazy, true, true, false},
                                           Shape{Style::kLazy, true, false, true},
                                           Shape{Style::kCascade, false, true, false},
                                           Shape{Style::kCascade, true, false, true}));

class CountingExecutor final : public Executor {
 public:
  explicit CountingExecutor(Executor* inner) : inner_(inner) {}
  void Schedule(std::function<void()> work) override {
    ++scheduled;
    inner_->Schedule(std::move(work));
  }
  void ScheduleUrgent(std::function<void()> work) override { inner_->ScheduleUrgent(std::move(work)); }
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override {
    inner_->ScheduleAfter(nanos, std::move(work));
  }
  int Parallelism() const override { return inner_->Parallelism(); }
  bool RunOne() override { return inner_->RunOne(); }

  std::atomic<uint64_t> scheduled{0};

 private:
  Executor* const inner_;
};

// Symptom: while the last obsolete files were removed, a waiting thread and a worker woke each other about
// 70,000 times a second. Cause: a worker that found no work notified the waiting thread, which scheduled a
// worker.
TEST(Wait, ForWorkThatTakesLongIsAsleep) {
  std::latch is_removing(1), may_end(1);
  std::atomic<bool> was_removing{false};
  WatchedFileSystem files(
      DefaultEnv().file_system, {.before = [&](const FileCall& call, size_t*) -> Status {
        if (call.op != FileOp::kRemove || !call.path.ends_with(".spare") || was_removing.exchange(true)) return {};
        is_removing.count_down();
        may_end.wait();
        return {};
      }});
  CountingExecutor executor(DefaultEnv().executor);
  const TempDirectory directory;
  Options options;
  options.env = DefaultEnv();
  options.env.file_system = &files;
  options.env.executor = &executor;
  options.memory_bytes = size_t{1} << 20;
  auto db = DB::Open(options, directory.path() + "/db");
  ASSERT_OK(db.status());
  for (int i = 0; i < 30'000; ++i) ASSERT_OK((*db)->Put({}, "key" + std::to_string(i % 1'000), std::string(400, 'v')));
  std::atomic<bool> is_over{false};
  std::thread waiter([&] {
    EXPECT_OK((*db)->WaitForCompaction());
    is_over = true;
    if (!was_removing.exchange(true)) is_removing.count_down();
  });
  is_removing.wait();
  EXPECT_FALSE(is_over) << "this wait needs a removal to wait for";
  const uint64_t before = executor.scheduled;
  std::this_thread::sleep_for(
      std::chrono::milliseconds(300));  // long enough to see many wakeups; a slower machine shows fewer
  EXPECT_LE(executor.scheduled - before, 100u);
  may_end.count_down();
  waiter.join();
}

}  // namespace
}  // namespace mergedb::testing::idle_test
