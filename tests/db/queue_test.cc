// Goal: the head of a queue stays fast: each pop makes a new iterator, goes to the first job and deletes it, and all
// pops together pass over a number of deleted keys that grows with the number of pops, not with its square. Pops,
// pushes, snapshots and flushes beside compactions show each job once and in order. Method: files in memory, background
// work between the pops; PerfContext counts what the moves pass over. Random queues are compared with a map.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "mergedb/merge.h"
#include "mergedb/perf_context.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::queue_test {
namespace {

std::string Job(uint64_t id) { return std::to_string(1'000'000'000 + id); }

class QueueTest : public ::testing::Test {
 protected:
  void Open(size_t write_buffer_bytes) {
    Options options = sim_.SmallOptions();
    options.memory_bytes = 4 * write_buffer_bytes;
    options.write_buffer_bytes = write_buffer_bytes;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
    ASSERT_OK_AND_ASSIGN(ready_, db_->CreateKeyspace("ready"));
  }
  // The first job, which is deleted; "" if there is none.
  std::string Pop() {
    const auto it = db_->NewIterator({.keyspace = ready_});
    it->SeekToFirst();
    EXPECT_OK(it->status());
    if (!it->Valid()) return "";
    std::string job(it->key());
    EXPECT_OK(db_->Delete({}, ready_, job));
    return job;
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
  Keyspace ready_;
};

// MEASURED: 6,000 pops pass over 20 million entries if the memtable is flushed only when it has 1 MiB.
TEST_F(QueueTest, PopsPassOverFewDeletedJobsEach) {
  constexpr uint64_t kPops = 6'000;
  Open(size_t{8} << 20);
  for (uint64_t i = 0; i < kPops; ++i) ASSERT_OK(db_->Put({}, ready_, Job(i), std::string(100, 'j')));
  PerfContext perf;
  for (uint64_t i = 0; i < kPops; ++i) {
    {
      const PerfScope scope(&perf);
      ASSERT_EQ(Pop(), Job(i));
    }
    sim_.executor.RunAll(10'000);
  }
  EXPECT_LE(perf.tombstones_skipped, kPops * 1'500) << Property(*db_, "stats");
  EXPECT_LE(Counter(*db_, "flushes"), kPops / 200) << "each flush is paid for by scans";
  EXPECT_EQ(Pop(), "");
}

// A scan of few deleted keys, and one beside a snapshot that needs them, flush nothing.
TEST_F(QueueTest, ScansThatPayForNothingFlushNothing) {
  Open(size_t{8} << 20);
  for (uint64_t i = 0; i < 3'000; ++i) ASSERT_OK(db_->Put({}, ready_, Job(i), "job"));
  for (uint64_t i = 0; i < 300; ++i) ASSERT_EQ(Pop(), Job(i));
  sim_.executor.RunAll(10'000);
  EXPECT_EQ(Counter(*db_, "flushes"), 0u);
  const auto snapshot = db_->GetSnapshot();
  for (uint64_t i = 300; i < 1'500; ++i) ASSERT_EQ(Pop(), Job(i));
  sim_.executor.RunAll(10'000);
  EXPECT_EQ(Counter(*db_, "flushes"), 0u);
}

// A queue beside its model: what is pushed at the end, or back at the front, what a merge changes, what a range delete
// or a snapshot hides.
TEST_F(QueueTest, RandomQueuesEqualTheirModels) {
  const uint64_t seed = SeedOr(70);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  Open(size_t{1} << 20);
  using Model = std::map<std::string, std::string>;
  Model model;
  std::vector<std::pair<std::shared_ptr<const Snapshot>, Model>> snapshots;
  uint64_t next = 0;
  const auto expect_equal = [&](const std::shared_ptr<const Snapshot>& snapshot, const Model& expected) {
    IteratorOptions options{.keyspace = ready_};
    options.read.snapshot = snapshot.get();
    const auto it = db_->NewIterator(options);
    auto each = expected.begin();
    for (it->SeekToFirst(); it->Valid() && each != expected.end(); it->Next(), ++each) {
      ASSERT_EQ(it->key(), each->first);
      ASSERT_EQ(it->value(), each->second);
    }
    ASSERT_OK(it->status());
    ASSERT_TRUE(!it->Valid() && each == expected.end());
  };
  const uint64_t steps = IsFullSize() ? 400'000 : 12'000;
  for (uint64_t step = 0; step < steps && !HasFatalFailure(); ++step) {
    const uint64_t dice = random.Uniform(1'000);
    if (dice < 380 || model.empty()) {
      for (uint64_t i = random.Uniform(4); i > 0; --i, ++next) {
        model[Job(next)] = "job" + std::to_string(next);
        ASSERT_OK(db_->Put({}, ready_, Job(next), model[Job(next)]));
      }
    } else if (dice < 950) {
      const std::string first = model.begin()->first;
      model.erase(model.begin());
      ASSERT_EQ(Pop(), first);
    } else if (dice < 970) {  // a worker died: its job comes back
      const std::string job = Job(next - std::min(next, 1 + random.Uniform(500)));
      model[job] = "again";
      ASSERT_OK(db_->Put({}, ready_, job, "again"));
    } else if (dice < 975) {
      const std::string job = model.begin()->first;
      ASSERT_OK(db_->Merge({}, ready_, job, merge::Append("+")));
      model[job] += "+";
    } else if (dice < 978) {
      auto end = model.begin();
      std::advance(end, random.Uniform(std::min<uint64_t>(model.size(), 20)));
      ASSERT_OK(db_->DeleteRange({}, ready_, model.begin()->first, end->first));
      model.erase(model.begin(), end);
    } else if (dice < 985) {
      snapshots.emplace_back(db_->GetSnapshot(), model);
    } else if (dice < 992) {
      if (!snapshots.empty()) {
        const size_t chosen = random.Uniform(snapshots.size());
        expect_equal(snapshots[chosen].first, snapshots[chosen].second);
        snapshots.erase(snapshots.begin() + static_cast<ptrdiff_t>(chosen));
      }
    } else if (dice < 994) {
      ASSERT_OK(db_->Flush());
    } else {
      expect_equal(nullptr, model);
    }
    for (uint64_t i = random.Uniform(3); i > 0; --i) sim_.executor.RunOne();
  }
  expect_equal(nullptr, model);
}

}  // namespace
}  // namespace mergedb::testing::queue_test
