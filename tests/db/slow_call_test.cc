// Goal: a PerfContext says where the time of a call went, and a slow call becomes an event with its PerfContext.
// Method: files in memory with a clock that advances at each reading; counts that follow from the shape of the tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "base/perf.h"
#include "mergedb/event_listener.h"
#include "mergedb/perf_context.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing::slow_call_test {
namespace {

class PerfTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Options options = sim_.SmallOptions();
    options.blob_value_bytes_min = 1000;
    options.memory_bytes = 8 << 20;
    options.write_buffer_bytes = 2 << 20;  // a flush has many large values, so they go to a blob file
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
  }
  PerfContext OfGet(const std::string& key) {
    PerfContext perf;
    const PerfScope scope(&perf);
    std::string value;
    (void)db_->Get({}, key, &value);
    return perf;
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
};

TEST_F(PerfTest, CountsNothingWithoutAScope) {
  EXPECT_EQ(base::thread_perf, nullptr);
  PerfContext perf;
  {
    const PerfScope scope(&perf);
    EXPECT_EQ(base::thread_perf, &perf);
  }
  EXPECT_EQ(base::thread_perf, nullptr);
  ASSERT_OK(db_->Put({}, "k", "v"));
  EXPECT_EQ(perf.memtable_nanos, 0u);
}

TEST_F(PerfTest, OfAGetHasMemtablesRunsFiltersCacheAndReads) {
  for (int run = 0; run < 2; ++run) {
    for (int i = run; i < 400; i += 2) ASSERT_OK(db_->Put({}, "key" + std::to_string(1000 + i), std::string(50, 'v')));
    ASSERT_OK(db_->Flush());
  }
  std::string runs;
  ASSERT_TRUE(db_->GetProperty("mergedb.runs", &runs));
  const PerfContext cold = OfGet("key1201");  // in the newest run
  EXPECT_GE(cold.memtables_searched, 1u);
  EXPECT_GE(cold.runs_visited, 1u);
  EXPECT_EQ(cold.filters_checked, cold.runs_visited);
  EXPECT_EQ(cold.block_cache_misses, 1u) << runs;
  EXPECT_EQ(cold.device_reads, 1u);
  EXPECT_GT(cold.device_read_bytes, 50u);
  EXPECT_GT(cold.device_read_nanos, 0u);
  EXPECT_GE(cold.wait_nanos, cold.device_read_nanos);

  const PerfContext warm = OfGet("key1201");
  EXPECT_EQ(warm.block_cache_hits, 1u);
  EXPECT_EQ(warm.block_cache_misses, 0u);
  EXPECT_EQ(warm.device_reads, 0u);
  EXPECT_EQ(warm.wait_nanos, 0u);

  uint64_t useful = 0, checked = 0;
  for (int i = 0; i < 100; ++i) {
    const PerfContext absent = OfGet("key1200." + std::to_string(i));
    useful += absent.filters_useful;
    checked += absent.filters_checked;
  }
  EXPECT_GE(checked, 100u);
  EXPECT_GT(useful, checked * 9 / 10);
}

TEST_F(PerfTest, OfABlobValueHasItsRead) {
  for (int i = 0; i < 100; ++i) ASSERT_OK(db_->Put({}, "key" + std::to_string(i), std::string(3000, 'b')));
  ASSERT_OK(db_->Flush());
  const PerfContext perf = OfGet("key42");
  EXPECT_EQ(perf.device_reads, 2u) << "a block and a value";
  EXPECT_GT(perf.device_read_bytes, 3000u);
}

TEST_F(PerfTest, OfAWriteHasWalAndMemtable) {
  PerfContext perf;
  const PerfScope scope(&perf);
  ASSERT_OK(db_->Put({}, "k", "v"));
  EXPECT_GT(perf.wal_nanos, 0u);
  EXPECT_GT(perf.memtable_nanos, 0u);
  EXPECT_EQ(perf.queue_wait_nanos, 0u);
  const uint64_t before = perf.wal_nanos;
  ASSERT_OK(db_->Put({.durability = Durability::kSynced}, "k", "v"));
  EXPECT_GT(perf.wal_nanos - before, before) << "a sync takes longer";
}

TEST_F(PerfTest, OfASeekHasTombstones) {
  for (int i = 0; i < 500; ++i) ASSERT_OK(db_->Put({}, "key" + std::to_string(1000 + i), "v"));
  for (int i = 0; i < 400; ++i) ASSERT_OK(db_->Delete({}, "key" + std::to_string(1000 + i)));
  PerfContext perf;
  const auto it = db_->NewIterator();
  const PerfScope scope(&perf);
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "key1400");
  EXPECT_EQ(perf.tombstones_skipped, 800u) << "400 tombstones, and the values that they delete";
}

TEST_F(PerfTest, ScopesNestAndThreadsAreApart) {
  PerfContext outer, inner;
  const PerfScope outer_scope(&outer);
  ASSERT_OK(db_->Put({}, "k", "v"));
  const uint64_t before = outer.memtable_nanos;
  {
    const PerfScope inner_scope(&inner);
    ASSERT_OK(db_->Put({}, "k", "v"));
  }
  EXPECT_GT(inner.memtable_nanos, 0u);
  EXPECT_EQ(outer.memtable_nanos, before);
  std::thread([this] { ASSERT_OK(db_->Put({}, "k", "v")); }).join();
  EXPECT_EQ(outer.memtable_nanos, before);
}

// ---- the event

class Slow : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    const std::lock_guard lock(mutex);
    if (event.kind == EventKind::kSlowCall) events.push_back(event);
  }
  std::vector<std::string> Calls() {
    const std::lock_guard lock(mutex);
    std::vector<std::string> calls;
    for (const Event& each : events) calls.emplace_back(each.text("call"));
    return calls;
  }
  std::mutex mutex;
  std::vector<Event> events;
};

TEST(SlowCall, OfEachKindBecomesAnEvent) {
  SimulatedEnv sim;
  const auto slow = std::make_shared<Slow>();
  Options options = sim.SmallOptions();
  options.listener = slow;
  options.slow_call_us = 1;  // each reading of the clock takes 50 us
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, SimulatedEnv::kPath));
  ASSERT_OK(db->Put({}, "a", "v"));
  ASSERT_OK(db->Delete({}, "b"));
  ASSERT_OK(db->DeleteRange({}, "c", "d"));
  WriteBatch batch;
  batch.Put("e", "v");
  ASSERT_OK(db->Write({}, batch));
  std::string value;
  ASSERT_OK(db->Get({}, "a", &value));
  std::vector<std::string> values;
  ASSERT_OK(db->MultiGet({}, {"a"}, &values)[0]);
  PerfContext outer;
  {
    const PerfScope scope(&outer);
    db->NewIterator()->Seek("a");
    ASSERT_OK(db->Put({}, "f", "v"));
  }
  ASSERT_OK(db->Close());
  EXPECT_THAT(slow->Calls(),
              ::testing::ElementsAre("put", "delete", "delete_range", "write", "get", "multi_get", "seek", "put"));
  for (const Event& each : slow->events) EXPECT_GE(each.number("micros"), 50u);
  EXPECT_GT(slow->events[0].number("wal_nanos"), 0u);
  EXPECT_GT(slow->events[4].number("memtables_searched"), 0u);
  EXPECT_EQ(outer.memtable_nanos, slow->events.back().number("memtable_nanos")) << "the program's scope counts, too";
}

TEST(SlowCall, ThatIsFasterIsNone) {
  SimulatedEnv sim;
  const auto slow = std::make_shared<Slow>();
  Options options = sim.SmallOptions();
  options.listener = slow;
  options.slow_call_us = 1'000'000;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, SimulatedEnv::kPath));
  for (int i = 0; i < 100; ++i) ASSERT_OK(db->Put({}, "k", "v"));
  ASSERT_OK(db->Close());
  EXPECT_TRUE(slow->Calls().empty());
}

TEST(SlowCall, GoesToLogAtOnce) {
  SimulatedEnv sim;
  Options options = sim.SmallOptions();
  options.log_bytes_max = 1 << 20;
  options.slow_call_us = 1;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, SimulatedEnv::kPath));
  ASSERT_OK_AND_ASSIGN(const auto file, sim.files->Open(std::string(SimulatedEnv::kPath) + "/LOG", {}));
  const uint64_t before = *file->Size();
  ASSERT_OK(db->Put({}, "k", "v"));
  EXPECT_GT(*file->Size(), before);
}

TEST(SlowCall, OfAnIteratorThatOutlivesItsDatabaseIsHarmless) {
  SimulatedEnv sim;
  Options options = sim.SmallOptions();
  options.listener = std::make_shared<Slow>();
  options.log_bytes_max = 1 << 20;
  options.slow_call_us = 1;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, SimulatedEnv::kPath));
  ASSERT_OK(db->Put({}, "k", "v"));
  const auto it = db->NewIterator();
  db = nullptr;
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
}

}  // namespace
}  // namespace mergedb::testing::slow_call_test
