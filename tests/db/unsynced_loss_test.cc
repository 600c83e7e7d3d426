// Goal: a power loss takes no more of the unsynced writes than docs/PROMISES.md says: none that is older than
// wal_sync_interval_ms, and no more bytes than memtables and flushes that wait for a commit hold. What remains is a
// prefix. A kill takes nothing, also after WaitForCompaction has given a part of the WAL buffer back. Method: a
// simulated clock, timers that run when they are due, background work that keeps up, and the worst power cut, or a
// kill, after random puts, each followed by a recovery of its image.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/write_batch.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kMilli = 1'000'000;

// Runs delayed work when its time has come.
class TimedExecutor final : public Executor {
 public:
  TimedExecutor(ManualExecutor& executor, Clock& clock) : executor_(executor), clock_(clock) {}

  void Schedule(std::function<void()> work) override { executor_.Schedule(std::move(work)); }
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override {
    delayed_.emplace(clock_.NowNanos() + nanos, std::move(work));
  }
  int Parallelism() const override { return executor_.Parallelism(); }
  bool RunOne() override { return executor_.RunOne(); }

  // Advances the clock, and runs all work up to then, each delayed piece at its time.
  void Pass(uint64_t nanos) {
    const uint64_t end = clock_.NowNanos() + nanos;
    while (!delayed_.empty() && delayed_.begin()->first <= end) {
      const uint64_t due = delayed_.begin()->first, now = clock_.NowNanos();
      if (due > now) clock_.SleepNanos(due - now);
      const std::function<void()> work = std::move(delayed_.extract(delayed_.begin()).mapped());
      work();
      executor_.RunAll();
    }
    const uint64_t now = clock_.NowNanos();
    if (end > now) clock_.SleepNanos(end - now);
    executor_.RunAll();
  }

 private:
  ManualExecutor& executor_;
  Clock& clock_;
  std::multimap<uint64_t, std::function<void()>> delayed_;
};

struct Shape {
  std::string name;
  uint64_t write_buffer_bytes;
  uint64_t value_bytes;
  uint64_t pause_nanos;  // between two puts, on average
  uint64_t interval_millis;
  int puts;
};

class UnsyncedLoss : public ::testing::TestWithParam<Shape> {
 protected:
  struct Put {
    uint64_t nanos;  // when it returned
    uint64_t bytes;
  };

  mergedb::Options LossOptions(SimulatedEnv& sim) {
    mergedb::Options options = sim.SmallOptions();
    options.write_buffer_bytes = shape_.write_buffer_bytes;
    options.memory_bytes = 4 * shape_.write_buffer_bytes + (1 << 20);
    options.wal_sync_interval_ms = shape_.interval_millis;
    return options;
  }
  static std::string Key(size_t i) { return "key" + std::to_string(10'000'000 + i); }
  // docs/PROMISES.md: memtables, and an eighth of the WAL buffer.
  uint64_t BytesMax() const {
    const uint64_t buffers = 2 * std::bit_ceil(shape_.write_buffer_bytes);
    const uint64_t wal_buffer = std::max(buffers, std::min(8 * buffers, uint64_t{64} << 20));
    return shape_.write_buffer_bytes * 3 / 2 + wal_buffer / 8;
  }

  void CutPower(uint64_t seed) {
    const auto after = SimulatedEnv::After(sim_, CrashMode::kMin, CrashModel::kStrict, seed);
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(LossOptions(*after), SimulatedEnv::kPath));
    size_t left = 0;
    const auto cursor = db->NewIterator({});
    for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) ASSERT_EQ(cursor->key(), Key(left++)) << "a prefix";
    ASSERT_OK(cursor->status());
    ASSERT_LE(left, puts_.size());
    if (left == puts_.size()) return;
    const uint64_t age = sim_.clock.NowNanos() - puts_[left].nanos;
    oldest_lost_ = std::max(oldest_lost_, age);
    uint64_t bytes = 0;
    for (size_t i = left; i < puts_.size(); ++i) bytes += puts_[i].bytes;
    most_lost_ = std::max(most_lost_, bytes);
    if (shape_.interval_millis > 0) { EXPECT_LE(age, shape_.interval_millis * kMilli) << "put " << left; }
    EXPECT_LE(bytes, BytesMax()) << "put " << left << " of " << puts_.size();
  }

  const Shape& shape_ = GetParam();
  SimulatedEnv sim_;
  TimedExecutor executor_{sim_.executor, sim_.clock};
  std::vector<Put> puts_;
  uint64_t oldest_lost_ = 0, most_lost_ = 0;
};

TEST_P(UnsyncedLoss, IsBoundedInTimeAndInBytes) {
  const uint64_t seed = SeedOr(3);
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Random random(seed);
  mergedb::Options options = LossOptions(sim_);
  options.env.executor = &executor_;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, SimulatedEnv::kPath));
  for (int i = 0; i < shape_.puts && !HasFailure(); ++i) {
    const std::string value(random.Uniform(2 * shape_.value_bytes), 'v'), key = Key(puts_.size());
    ASSERT_OK(db->Put({}, key, value));
    puts_.push_back({.nanos = sim_.clock.NowNanos(), .bytes = key.size() + value.size()});
    executor_.Pass(random.Uniform(2 * shape_.pause_nanos));
    if (random.OneIn(static_cast<uint64_t>(shape_.puts) / 60)) CutPower(seed + static_cast<uint64_t>(i));
  }
  RecordProperty("oldest_lost_millis", static_cast<int>(oldest_lost_ / kMilli));
  RecordProperty("most_lost_kib", static_cast<int>(most_lost_ >> 10));
  EXPECT_GT(most_lost_, 0u) << "no power cut lost anything, so the test shows nothing";
  // Memtables fill more slowly than the interval passes, so the bound is tested near its edge.
  if (shape_.name == "SlowWrites") { EXPECT_GT(oldest_lost_, shape_.interval_millis * kMilli / 2); }
}

// Each batch of a small program is due at another tick. One sync and one written block make all of them durable that
// are there by then: one for every five seconds, not one for every batch.
TEST(SmallBatches, ShareASyncAndABlock) {
  SimulatedEnv sim;
  TimedExecutor executor(sim.executor, sim.clock);
  mergedb::Options options = sim.SmallOptions();
  options.env.executor = &executor;
  options.write_buffer_bytes = 1 << 20;  // no flush makes a sync needless
  options.memory_bytes = 8 << 20;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, SimulatedEnv::kPath));
  constexpr uint64_t kBatches = 48;
  const uint64_t writes = Counter(*db, "wal_writes"), syncs = Counter(*db, "wal_syncs");
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    WriteBatch records;
    for (uint64_t i = 0; i < 20; ++i) records.Put("key" + std::to_string(batch * 20 + i), "a small value");
    ASSERT_OK(db->Write({}, records));
    executor.Pass(2'500 * kMilli);
  }
  // A batch of about 700 B enters a new block now and then; a sync then still takes one write.
  EXPECT_LE(Counter(*db, "wal_syncs") - syncs, kBatches / 2 + 2);
  EXPECT_LE(Counter(*db, "wal_writes") - writes, kBatches / 2 + 2);
  EXPECT_GE(Counter(*db, "wal_syncs") - syncs, kBatches / 4) << "the interval is five seconds";
}

// WaitForCompaction makes holes in STAGING beside the frames of the active memtable, in every lap of the buffer.
TEST_P(UnsyncedLoss, AKillLosesNothingThatAWaitLeftInTheWalBuffer) {
  base::Random random(SeedOr(3));
  mergedb::Options options = LossOptions(sim_);
  options.env.executor = &executor_;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, SimulatedEnv::kPath));
  const int puts = shape_.puts / 2;
  size_t done = 0;
  for (int i = 0; i < puts && !HasFailure(); ++i) {
    ASSERT_OK(db->Put({}, Key(done++), std::string(random.Uniform(2 * shape_.value_bytes), 'v')));
    executor_.Pass(random.Uniform(2 * shape_.pause_nanos));
    if (!random.OneIn(static_cast<uint64_t>(puts) / 20)) continue;
    ASSERT_OK(db->WaitForCompaction());
    const auto after = SimulatedEnv::After(sim_, CrashMode::kKill, CrashModel::kJournaled, 1);
    ASSERT_OK_AND_ASSIGN(const auto reopened, DB::Open(LossOptions(*after), SimulatedEnv::kPath));
    size_t found = 0;
    const auto cursor = reopened->NewIterator({});
    for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) ++found;
    ASSERT_OK(cursor->status());
    EXPECT_EQ(found, done);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, UnsyncedLoss,
                         ::testing::Values(Shape{"SlowWrites", 64 << 10, 200, 40 * kMilli, 5'000, 1'500},
                                           Shape{"SlowLargeWrites", 64 << 10, 20'000, 300 * kMilli, 5'000, 600},
                                           Shape{"FastWrites", 64 << 10, 2'000, kMilli / 1000, 5'000, 6'000},
                                           Shape{"AsFastAsTheInterval", 64 << 10, 200, kMilli * 4, 1'000, 3'000},
                                           Shape{"ShortInterval", 64 << 10, 200, kMilli, 10, 3'000},
                                           Shape{"NoInterval", 64 << 10, 1'000, 20 * kMilli, 0, 3'000},
                                           Shape{"LargeBuffer", 1 << 20, 5'000, kMilli / 2, 5'000, 4'000}),
                         [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace mergedb::testing
