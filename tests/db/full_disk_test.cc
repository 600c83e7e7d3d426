// Goal: a disk that the WAL's own buffer has filled is not full: what tables hold already is given back, while the database
// is open and when it is opened. A disk that is full is told of: in the metrics, and by `mergedb why`. Method: a simulated
// disk with a capacity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

constexpr char kPath[] = "/db";

Options SomeMemory(SimulatedEnv& sim) {
  Options options = sim.SmallOptions();
  options.memory_bytes = 16 << 20;  // the WAL buffer has 16 MiB and more
  options.write_buffer_bytes = 128 << 10;
  return options;
}

std::string Value(int i) { return std::to_string(i) + std::string(1000, 'v'); }

// Overwrites 20 keys. Returns how many writes failed.
int Overwrite(SimulatedEnv& sim, DB& db, int count) {
  int failed = 0;
  for (int i = 0; i < count; ++i) {
    const Status status = db.Put({}, "key" + std::to_string(i % 20), Value(i));
    EXPECT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
    failed += !status.ok();
    for (int step = 0; step < 3; ++step) sim.executor.RunOne();
  }
  return failed;
}

uint64_t MetricOf(DB& db, const std::string& name) {
  auto metrics = db.Metrics();
  EXPECT_OK(metrics.status());
  for (const Metric& each : *metrics)
    if (each.name == name) return each.value;
  ADD_FAILURE() << name;
  return 0;
}

TEST(FullDisk, TheWalUsesAgainWhatTablesHold) {
  SimulatedEnv sim({.seed = 1});
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(sim), kPath));
  sim.files->SetCapacity(4 << 20);
  EXPECT_EQ(Overwrite(sim, *db, 20'000), 0);
  EXPECT_EQ(MetricOf(*db, "disk_is_full"), 0u);
  EXPECT_OK(db->Close());
}

TEST(FullDisk, AFlushUsesWhatTheWalDoesNotNeed) {
  SimulatedEnv sim({.seed = 1});
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(sim), kPath));
  ASSERT_EQ(Overwrite(sim, *db, 4000), 0);
  ASSERT_OK(db->Flush());
  ASSERT_EQ(Overwrite(sim, *db, 100), 0);
  sim.files->SetCapacity(sim.files->bytes_used());
  EXPECT_OK(db->Flush());
  EXPECT_OK(db->Close());
}

// The process was killed; the disk is full of the STAGING that it left.
TEST(FullDisk, AnOpenUsesWhatTheWalDoesNotNeed) {
  std::unique_ptr<SimulatedEnv> killed;
  std::map<std::string, std::string> live;
  {
    SimulatedEnv sim({.seed = 1});
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(sim), kPath));
    ASSERT_EQ(Overwrite(sim, *db, 4000), 0);
    ASSERT_OK(db->Flush());
    for (int i = 0; i < 100; ++i) {
      ASSERT_OK(db->Put({}, "last" + std::to_string(i), Value(i)));
      live["last" + std::to_string(i)] = Value(i);
    }
    killed = SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, 1);
  }
  killed->files->SetCapacity(killed->files->bytes_used());
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(*killed), kPath));
  std::string value;
  for (const auto& [key, expected] : live) {
    ASSERT_OK(db->Get({}, key, &value));
    EXPECT_EQ(value, expected);
  }
  EXPECT_EQ(Overwrite(*killed, *db, 1000), 0);
  EXPECT_OK(db->Close());
}

// Symptom: `why` said that nothing limits the database while every write failed.
TEST(FullDisk, IsTold) {
  SimulatedEnv sim({.seed = 1});
  Options options = SomeMemory(sim);
  options.write_buffer_bytes = 4 << 20;  // the WAL finds no space before a memtable is full
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, kPath));
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.files->SetCapacity(sim.files->bytes_used());
  Status status;
  for (int i = 0; i < 2000 && status.ok(); ++i) status = db->Put({}, "key" + std::to_string(i), Value(i));
  ASSERT_THAT(status, StatusIs(Code::kNoSpace));
  EXPECT_EQ(MetricOf(*db, "disk_is_full"), 1u);
  EXPECT_EQ(MetricOf(*db, "errors_no_space"), 1u);
  EXPECT_EQ(MetricOf(*db, "errors"), 1u);
  sim.files->SetCapacity(UINT64_MAX);
  ASSERT_OK(db->Put({}, "key", "value"));
  ASSERT_OK(db->Flush());
  EXPECT_EQ(MetricOf(*db, "disk_is_full"), 0u);
}

}  // namespace
}  // namespace mergedb::testing
