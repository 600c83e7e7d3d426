// Goal: an open database publishes its state in the file LIVE, a reader gets it also after a kill, a clean close
// removes it, and no failure of this file is a failure of the database. Method: files in memory that fail and crash, a
// driven clock, background work run by the test.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "db/db_impl.h"
#include "db/observe/live_publisher.h"
#include "env/hold.h"
#include "testing/counters.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::live_state_test {
namespace {

const std::string kLivePath = SimulatedEnv::kPath + "/LIVE";

bool HasFile(const SimulatedEnv& sim) {
  const auto files = sim.files->Files();
  return std::ranges::find(files, kLivePath) != files.end();
}

Result<format::LiveState> Read(const SimulatedEnv& sim) {
  return db::ReadLiveState(sim.files.get(), SimulatedEnv::kPath);
}

// The writer makes the file before it writes to it.
TEST(LiveState, OfAFileWithoutBytesIsNone) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
  ASSERT_OK(sim.files->WriteWhole(kLivePath, ""));
  EXPECT_THAT(Read(sim), StatusIs(Code::kNotFound, ::testing::HasSubstr(kLivePath)));
}

TEST(LiveState, ShowsTheCountersOfTheWriter) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  EXPECT_TRUE(Read(sim).status().IsNotFound());
  for (int i = 0; i < 100; ++i) ASSERT_OK(db->Put({}, "key" + std::to_string(i), "value"));
  sim.PassTime(1);
  ASSERT_OK_AND_ASSIGN(format::LiveState state, Read(sim));
  EXPECT_EQ(state.Value("writes"), 100u);
  EXPECT_EQ(state.Growth("writes"), 100u) << "the window begins at the open";
  EXPECT_EQ(state.Text("directory"), SimulatedEnv::kPath);
  ASSERT_OK_AND_ASSIGN(const auto metrics, db->Metrics());
  ASSERT_OK_AND_ASSIGN(const auto histograms, db->Histograms());
  ASSERT_EQ(state.metrics.size(), metrics.size() + histograms.size());
  for (size_t i = 0; i < histograms.size(); ++i) {
    const format::LiveMetric& metric = state.metrics[metrics.size() + i];
    EXPECT_EQ(metric.name, histograms[i].name);
    EXPECT_EQ(metric.kind, format::LiveKind::kHistogram);
    uint64_t count = 0;
    for (const format::LiveBucket& bucket : metric.buckets) count += bucket.count;
    EXPECT_EQ(count, histograms[i].count);
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    EXPECT_EQ(state.metrics[i].name, metrics[i].name);
    EXPECT_EQ(state.metrics[i].unit, metrics[i].unit);
    EXPECT_EQ(state.metrics[i].kind == format::LiveKind::kCounter, metrics[i].type == MetricType::kCounter);
  }
  for (int second = 0; second < 20; ++second) {
    ASSERT_OK(db->Put({}, "more", "value"));
    sim.PassTime(1);
  }
  ASSERT_OK_AND_ASSIGN(state, Read(sim));
  EXPECT_EQ(state.Value("writes"), 120u);
  EXPECT_NEAR(static_cast<double>(state.Growth("writes")), 10, 1) << "of the last ten seconds";
  EXPECT_NEAR(static_cast<double>(state.times.window_nanos), 10e9, 1.5e9);
}

// The hot keys of reads and of writes are told apart. A call in the sample stands for 64.
TEST(LiveState, ShowsHotRangesOfKeys) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  for (int i = 0; i < 10'000; ++i) ASSERT_OK(db->Put({}, "w" + std::to_string(10'000 + i % 10), "value"));
  std::string value;
  for (int i = 0; i < 10'000; ++i) {
    (void)db->Get({}, "r1", &value);
    std::vector<std::string> values;
    if (i % 10 == 0) (void)db->MultiGet({}, {"s1", "s2"}, &values);
    auto it = db->NewIterator();
    it->Seek("t1");
  }
  sim.PassTime(1);
  ASSERT_OK_AND_ASSIGN(const format::LiveState state, Read(sim));
  std::map<std::string, uint64_t> reads, writes;
  ASSERT_FALSE(state.heat.empty());
  EXPECT_EQ(state.heat[0], format::LiveHeat()) << "nothing before the first border";
  for (const format::LiveHeat& range : state.heat) {
    reads[range.from.substr(0, 1)] += range.reads;
    writes[range.from.substr(0, 1)] += range.writes;
  }
  EXPECT_GT(reads["r"], 10'000u / 2);
  EXPECT_GT(reads["s"], 0u);
  EXPECT_GT(reads["t"], 10'000u / 2);
  EXPECT_EQ(reads["w"], 0u);
  EXPECT_NEAR(static_cast<double>(writes["w"]), 10'000, 2'500);
  EXPECT_EQ(writes["r"] + writes["s"] + writes["t"], 0u);
  EXPECT_LT(state.heat_ages.reads_nanos, 600'000'000'000u);
}

TEST(LiveState, ShowsRunsAndRunningCompactions) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  const auto shows_compaction = [&sim] {
    const auto state = Read(sim);
    return state && !state->compactions.empty() && state->compactions[0].entries > 0 && !state->runs.empty();
  };
  bool is_shown = false;
  for (int i = 0; i < 100'000 && !is_shown; ++i) {
    ASSERT_OK(db->Put({}, "key" + std::to_string(i * 7 % 30'000), std::string(50, 'v')));
    const bool runs = Property(*db, "stats").find("running compactions") != std::string::npos;
    if (runs) sim.executor.RunTimers();
    if (runs || i % 50 == 0) sim.executor.RunOne();
    is_shown = runs && shows_compaction();
  }
  ASSERT_TRUE(is_shown);
  const format::LiveState state = *Read(sim);
  const format::LiveCompaction& compaction = state.compactions[0];
  EXPECT_FALSE(compaction.reason.empty());
  EXPECT_GT(compaction.runs, 1u);
  EXPECT_GT(compaction.input_bytes, 0u);
  EXPECT_LE(compaction.entries_read, compaction.entries);
  EXPECT_GT(state.runs[0].entries, 0u);
}

TEST(LiveState, IsReadableAfterAKillAndGoneAfterTheNextOpen) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  for (int i = 0; i < 7; ++i) ASSERT_OK(db->Put({}, "key", "value"));
  sim.PassTime(1);
  const auto after = SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, 1);
  ASSERT_OK_AND_ASSIGN(const format::LiveState state, Read(*after));
  EXPECT_EQ(state.Value("writes"), 7u);
  ASSERT_OK_AND_ASSIGN(auto again, after->Open());
  EXPECT_FALSE(HasFile(*after));
}

TEST(LiveState, ACloseAndADestroyRemoveIt) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.PassTime(1);
  EXPECT_TRUE(HasFile(sim));
  ASSERT_OK(db->Close());
  EXPECT_FALSE(HasFile(sim));
  sim.PassTime(3);
  EXPECT_FALSE(HasFile(sim)) << "a timer that was armed before the close";
  ASSERT_OK(sim.files->WriteWhole(kLivePath, "of a process that was killed"));
  ASSERT_OK(DB::Destroy(sim.SmallOptions(), SimulatedEnv::kPath));
  EXPECT_TRUE(sim.files->Files().empty());
}

TEST(LiveState, UpdatesPauseWhileNothingHappens) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  ASSERT_OK(db->Put({}, "key", "value"));
  for (int second = 0; second < 60; ++second) sim.PassTime(1);
  ASSERT_OK_AND_ASSIGN(format::LiveState state, Read(sim));
  EXPECT_EQ(state.times.period_nanos, 0u);
  const uint64_t ops = sim.files->ops();
  for (int second = 0; second < 60; ++second) sim.PassTime(1);
  EXPECT_EQ(sim.files->ops(), ops) << "an idle database writes nothing";
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.PassTime(1);
  ASSERT_OK_AND_ASSIGN(state, Read(sim));
  EXPECT_EQ(state.times.period_nanos, db::LivePublisher::kSlowPeriodNanos);
}

// A light load is published every 30 s; its promise says so. A load that changes counters at each look is published at
// each look, from the sixth second on.
TEST(LiveState, UpdatesAreSeldomWhileLittleHappens) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  const auto updates_of = [&](int seconds, int seconds_between_puts) -> uint64_t {
    const auto before = Read(sim);
    for (int second = 0; second < seconds; ++second) {
      if (second % seconds_between_puts == 0) { EXPECT_OK(db->Put({}, "key", "value")); }
      sim.PassTime(1);
    }
    const auto after = Read(sim);
    EXPECT_OK(after.status());
    return after->update - (before ? before->update : 0);
  };
  (void)updates_of(30, 3);
  EXPECT_EQ(updates_of(120, 3), 4u);
  ASSERT_OK_AND_ASSIGN(format::LiveState state, Read(sim));
  EXPECT_EQ(state.times.period_nanos, db::LivePublisher::kSlowPeriodNanos);
  EXPECT_GE(updates_of(20, 1), 14u);
  ASSERT_OK_AND_ASSIGN(state, Read(sim));
  EXPECT_EQ(state.times.period_nanos, db::LivePublisher::kPeriodNanos);
  EXPECT_EQ(state.Value("writes"), 70u);
}

// A publisher whose state has two counters. The test is the clock.
class LightLoad : public ::testing::Test {
 protected:
  LightLoad() {
    EXPECT_OK(sim_.files->CreateDirectory(SimulatedEnv::kPath));
    EXPECT_OK(sim_.files->WriteWhole(kCurrentPath, "current"));
    publisher_->Start();
    (void)Pass(40);
  }
  ~LightLoad() override { publisher_->Stop(); }
  // Seconds of a light load. Returns the number of updates.
  uint64_t Pass(int seconds) {
    const uint64_t before = update();
    for (; seconds > 0; --seconds) {
      if (++second_ % 3 == 0) ++calls_;
      sim_.PassTime(1);
    }
    return update() - before;
  }
  uint64_t update() const {
    const auto state = Read(sim_);
    return state ? state->update : 0;
  }

  static inline const std::string kCurrentPath = SimulatedEnv::kPath + "/CURRENT";
  SimulatedEnv sim_;
  uint64_t calls_ = 0, bytes_ = 0;
  int second_ = 0;
  std::shared_ptr<db::LivePublisher> publisher_ =
      std::make_shared<db::LivePublisher>(sim_.SmallOptions().env, SimulatedEnv::kPath, [this] {
        format::LiveState state;
        const auto add = [&](const char* name, const char* unit, uint64_t value) {
          format::LiveMetric& metric = state.metrics.emplace_back();
          metric.name = name;
          metric.unit = unit;
          metric.kind = format::LiveKind::kCounter;
          metric.value = value;
        };
        add("writes", "count", calls_);
        add("written_bytes", "bytes", bytes_);
        return state;
      });
};

TEST_F(LightLoad, IsPublishedEverySecondWhileAReaderAsks) {
  for (const int round : {1, 2}) {
    SCOPED_TRACE(round);
    (void)Pass(15);
    EXPECT_EQ(Pass(60), 2u);
    EXPECT_EQ(Read(sim_)->times.period_nanos, db::LivePublisher::kSlowPeriodNanos);
    const auto held = env::OpenHeld(*sim_.files, kCurrentPath);
    ASSERT_TRUE(held && held->is_held);
    EXPECT_EQ(Pass(20), 20u);
  }
}

// As a monitoring system asks.
TEST_F(LightLoad, AQuestionNowAndThenCostsOneUpdate) {
  for (int i = 0; i < 5; ++i) {
    {
      const auto held = env::OpenHeld(*sim_.files, kCurrentPath);
      EXPECT_EQ(Pass(1), 1u);
    }
    EXPECT_EQ(Pass(14), 0u);
  }
}

TEST_F(LightLoad, ADeletedOrCutFileIsWrittenAtTheNextLook) {
  ASSERT_OK(sim_.files->Remove(kLivePath));
  (void)Pass(1);
  EXPECT_OK(Read(sim_).status());
  ASSERT_OK(sim_.files->WriteWhole(kLivePath, "cut"));
  (void)Pass(1);
  EXPECT_OK(Read(sim_).status());
  EXPECT_EQ(Pass(60), 2u);
  sim_.PassTime(60);  // nothing changes any more
  ASSERT_OK(sim_.files->Remove(kLivePath));
  sim_.PassTime(1);
  EXPECT_OK(Read(sim_).status());
}

// Many bytes in few seconds are not a light load.
TEST_F(LightLoad, EndsWhenManyBytesAreWritten) {
  for (int i = 0; i < 5; ++i) {
    bytes_ += 2 << 20;
    EXPECT_EQ(Pass(3), 3u);
    (void)Pass(4);
  }
  EXPECT_LE(Pass(60), 5u) << "the load is light again";
}

TEST(LiveState, ALostOrDamagedFileIsWrittenAgain) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.PassTime(1);
  ASSERT_OK(sim.files->Remove(kLivePath));
  sim.PassTime(1);
  EXPECT_OK(Read(sim).status());
  ASSERT_OK(sim.files->WriteWhole(kLivePath, "short"));
  EXPECT_TRUE(Read(sim).status().IsCorruption());
  sim.PassTime(1);
  EXPECT_OK(Read(sim).status());
  EXPECT_EQ(sim.files->ReadWhole(kLivePath)->size(), format::kLiveFileBytes);
}

// A kill in the middle of an update leaves the update before.
TEST(LiveState, ATornUpdateLeavesTheOneBefore) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.PassTime(1);
  const uint64_t update = Read(sim)->update;
  sim.files->AddFault({.op = FileOp::kWrite, .path_contains = "LIVE", .partial_bytes = 100});
  sim.PassTime(1);
  EXPECT_EQ(sim.files->faults_hit(), 1u);
  ASSERT_OK_AND_ASSIGN(const format::LiveState state, Read(sim));
  EXPECT_EQ(state.update, update);
}

TEST(LiveState, FailuresOfTheFileHaveNoOtherEffect) {
  for (const FileOp op : {FileOp::kOpen, FileOp::kCreate, FileOp::kWrite, FileOp::kClose, FileOp::kRemove}) {
    SCOPED_TRACE(OpName(op));
    SimulatedEnv sim;
    ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
    sim.files->AddFault({.op = op, .path_contains = "LIVE", .sticky = true});
    for (int i = 0; i < 3; ++i) {
      ASSERT_OK(db->Put({}, "key" + std::to_string(i), "value"));
      sim.PassTime(1);
    }
    std::string errors;
    EXPECT_TRUE(db->GetProperty("mergedb.errors", &errors));
    EXPECT_EQ(errors, "");
    EXPECT_OK(db->Close());
    sim.files->ClearFaults();
    ASSERT_OK_AND_ASSIGN(db, sim.Open());
    std::string value;
    EXPECT_OK(db->Get({}, "key2", &value));
  }
}

TEST(LiveState, AFullDiskDoesNotStopUpdates) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.PassTime(1);
  const uint64_t update = Read(sim)->update;
  sim.files->SetCapacity(sim.files->bytes_used());
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.PassTime(1);
  EXPECT_GT(Read(sim)->update, update);
}

TEST(LiveState, NothingIsPublishedWhereFilesCanOnlyGrow) {
  SimulatedEnv sim({.is_append_only = true});
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.PassTime(3);
  EXPECT_FALSE(HasFile(sim));
}

}  // namespace
}  // namespace mergedb::testing::live_state_test
