// Goal: Diagnose names what limits a database. Method: each cause is staged on a real database with files in memory and
// a driven clock, in which a call of the device takes as long as the test says; the judgement is about the state that
// the database publishes in its file LIVE. No test looks at real time.
#include "db/observe/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "db/observe/live_publisher.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing::diagnosis_test {
namespace {

using ::testing::HasSubstr;

class DiagnosisTest : public ::testing::Test {
 protected:
  Options SlowOptions() {
    Options options = sim_.SmallOptions();
    options.env.file_system = &slow_files_;
    options.blob_value_bytes_min = 0;
    return options;
  }
  void Open(const Options& options) { ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath)); }
  void Open() { Open(SlowOptions()); }
  static std::string Key(uint64_t i) { return "key" + std::to_string(1'000'000 + i); }
  void PutMany(uint64_t count, size_t value_bytes) {
    for (uint64_t i = 0; i < count; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(value_bytes, 'v')));
  }

  // Runs background work only until the next update of LIVE, so that it does not end what the test has staged.
  format::LiveState Publish() {
    has_published_ = false;
    sim_.clock.SleepNanos(1'000'000'000);
    sim_.executor.RunTimers();
    while (!has_published_ && sim_.executor.RunOne()) {}
    auto state = db::ReadLiveState(sim_.files.get(), SimulatedEnv::kPath);
    EXPECT_OK(state.status());
    return state ? *state : format::LiveState();
  }
  // The most urgent cause; "" if nothing limits the database.
  std::string Name(const format::LiveState& state) {
    const auto findings = db::Diagnose(state);
    for (const db::Finding& finding : findings) {
      EXPECT_THAT(finding.text, ::testing::EndsWith("."));
      EXPECT_THAT(finding.advice, ::testing::EndsWith("."));
      EXPECT_FALSE(finding.figures.empty());
      EXPECT_GE(finding.rank, 0);
      EXPECT_LE(finding.rank, 100);
    }
    text_ = findings.empty() ? "" : findings.front().text;
    return findings.empty() ? "" : std::string(db::CauseName(findings.front().cause));
  }

  SimulatedEnv sim_;
  uint64_t table_write_nanos_ = 0, sync_nanos_ = 0;  // how long each such call takes
  bool has_published_ = false;
  std::string text_;
  WatchedFileSystem slow_files_{sim_.files.get(),
                                {.before = [this](const FileCall& call, size_t*) -> Status {
                                   if (call.op == FileOp::kWrite && call.path.ends_with(".tbl"))
                                     sim_.clock.SleepNanos(table_write_nanos_);
                                   if (call.op == FileOp::kSync) sim_.clock.SleepNanos(sync_nanos_);
                                   return {};
                                 },
                                 .after =
                                     [this](const FileCall& call, const Status& status) {
                                       if (call.op == FileOp::kWrite && call.path.ends_with("/LIVE") && status.ok())
                                         has_published_ = true;
                                     }}};
  std::unique_ptr<DB> db_;
};

TEST_F(DiagnosisTest, NothingLimitsAnIdleDatabase) {
  Open();
  PutMany(100, 100);
  ASSERT_OK(db_->WaitForCompaction());
  std::string value;
  for (int i = 0; i < 100; ++i) ASSERT_OK(db_->Get({}, Key(static_cast<uint64_t>(i)), &value));
  EXPECT_EQ(Name(Publish()), "");
  sim_.PassTime(60);
  EXPECT_EQ(Name(Publish()), "");
}

TEST_F(DiagnosisTest, SlowDisk) {
  Open();
  table_write_nanos_ = 100'000'000;
  sync_nanos_ = 20'000'000;
  PutMany(20'000, 100);
  EXPECT_EQ(Name(Publish()), "slow_disk") << text_;
  EXPECT_THAT(text_, HasSubstr("because the disk is slow"));
}

TEST_F(DiagnosisTest, CompactionsBehind) {
  Options options = SlowOptions();
  Open(options);
  PutMany(20'000, 100);
  EXPECT_EQ(Name(Publish()), "compactions_behind") << text_;
}

TEST_F(DiagnosisTest, SmallCache) {
  Open();
  PutMany(20'000, 100);
  ASSERT_OK(db_->WaitForCompaction());
  sim_.PassTime(20);  // the waits of the load are out of the window
  const uint64_t seed = SeedOr(3);
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Random random(seed);
  std::string value;
  for (int i = 0; i < 5'000; ++i) ASSERT_OK(db_->Get({}, Key(random.Uniform(20'000)), &value));
  EXPECT_EQ(Name(Publish()), "small_cache") << text_;
}

TEST_F(DiagnosisTest, HeldSnapshot) {
  Open();
  PutMany(2'000, 20);
  const auto snapshot = db_->GetSnapshot();
  PutMany(2'000, 20);
  ASSERT_OK(db_->Flush());
  sim_.PassTime(20);
  EXPECT_EQ(Name(Publish()), "held_snapshot") << text_;
  EXPECT_THAT(text_, HasSubstr("2000 records"));
}

TEST_F(DiagnosisTest, Tombstones) {
  Open();
  PutMany(4'000, 10);
  ASSERT_OK(db_->WaitForCompaction());
  for (uint64_t i = 0; i < 4'000; ++i) ASSERT_OK(db_->Delete({}, Key(i)));
  ASSERT_OK(db_->Put({}, "later", "value"));
  const auto it = db_->NewIterator({});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(Name(Publish()), "tombstones") << text_;
  EXPECT_THAT(text_, HasSubstr("1 moves"));
}

TEST_F(DiagnosisTest, BlobGarbage) {
  Options options = SlowOptions();
  options.blob_value_bytes_min = 512;
  options.memory_bytes = 32 << 20;
  options.write_buffer_bytes = 4 << 20;  // blob files are made only for many large values
  Open(options);
  PutMany(2'000, 1'000);
  ASSERT_OK(db_->Flush());
  format::LiveState state = Publish();
  EXPECT_EQ(Name(state), "");
  // Collections keep up with writes here, so the test changes the figure that they keep low.
  const auto garbage = std::ranges::find(state.metrics, "blob_bytes_garbage", &format::LiveMetric::name);
  ASSERT_NE(garbage, state.metrics.end());
  garbage->value = state.Value("blob_bytes_live");
  EXPECT_GT(garbage->value, 1'900'000u);
  EXPECT_EQ(Name(state), "blob_garbage") << text_;
}

TEST_F(DiagnosisTest, SyncForEachPut) {
  Open();
  sync_nanos_ = 5'000'000;
  for (uint64_t i = 0; i < 200; ++i) ASSERT_OK(db_->Put({.durability = Durability::kSynced}, Key(i), "value"));
  EXPECT_EQ(Name(Publish()), "sync_per_write") << text_;
}

TEST_F(DiagnosisTest, HotKey) {
  Open();
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_OK(db_->Put({}, "the hot key", std::to_string(i)));
    if (i % 10 == 0) { ASSERT_OK(db_->Put({}, Key(static_cast<uint64_t>(i)), "value")); }
    sim_.executor.RunOne();
  }
  ASSERT_OK(db_->Flush());
  EXPECT_EQ(Name(Publish()), "hot_key") << text_;
  EXPECT_THAT(text_, HasSubstr("\"the hot key\""));
}

TEST_F(DiagnosisTest, FullDisk) {
  Open();
  PutMany(10, 100);
  Publish();
  sim_.files->SetCapacity(sim_.files->bytes_used());
  Status status;
  for (uint64_t i = 0; i < 100'000 && status.ok(); ++i) status = db_->Put({}, Key(i), std::string(100, 'v'));
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_EQ(Name(Publish()), "full_disk") << text_;
}

}  // namespace
}  // namespace mergedb::testing::diagnosis_test
