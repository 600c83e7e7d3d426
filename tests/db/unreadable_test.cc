// Goal: damage of one file costs the compaction of its keys, and nothing else: all other keys are compacted, the space
// bound holds for them, no write waits because of the damage, one event tells of it, and after a repair of the file all
// is compacted. Method: files in memory, one of them damaged for good; long overwrites with background work on the
// test's thread; counts of compactions, runs, bytes and waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "db/observe/diagnosis.h"
#include "db/observe/live_publisher.h"
#include "mergedb/event_listener.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kKeys = 8'000;
constexpr size_t kValueBytes = 400;

std::string Key(uint64_t i) { return "key" + std::to_string(1'000'000 + i); }

class Errors : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind != EventKind::kError) return;
    const std::lock_guard lock(mutex_);
    statuses_.emplace_back(event.text("status"));
  }
  std::vector<std::string> statuses() const {
    const std::lock_guard lock(mutex_);
    return statuses_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> statuses_;
};

struct Shape {
  Style style;
  bool separates;  // values are in blob files
};

class Unreadable : public ::testing::TestWithParam<Shape> {
 protected:
  void Open() {
    Options options = sim_.SmallOptions();
    options.style = GetParam().style;
    options.blob_value_bytes_min = GetParam().separates ? 64 : 0;
    options.listener = errors_;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
  }
  void Put(uint64_t i) {
    value_.replace(0, 8, std::to_string(10'000'000 + ++puts_));
    ASSERT_OK(db_->Put({}, Key(i), value_));
    if (puts_ % 32 == 0) sim_.executor.RunAll(1'000'000);
    if (sim_.clock.NowNanos() < next_timer_nanos_) return;
    sim_.executor.RunTimers();  // without its timer the database assumes that the writer has stopped
    next_timer_nanos_ = sim_.clock.NowNanos() + 500'000'000;
  }
  void Fill() {
    for (uint64_t i = 0; i < kKeys; ++i) Put(i);
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  }
  void Overwrite(base::Random* random, uint64_t count) {
    for (uint64_t i = 0; i < count && !HasFatalFailure(); ++i) {
      Put(random->Uniform(kKeys));
      if (i % 1'000 == 0) runs_max_ = std::max(runs_max_, Counter(*db_, "runs"));
    }
  }
  // The file of this kind with the most bytes.
  std::string LargestFile(const std::string& extension) {
    std::string largest;
    for (const std::string& path : sim_.files->Files()) {
      if (!path.ends_with(extension)) continue;
      if (largest.empty() || *sim_.files->SizeOf(path) > *sim_.files->SizeOf(largest)) largest = path;
    }
    return largest;
  }
  // docs/PROMISES.md, without the WAL, and what the damaged keys add: few bytes in each run, but these keep their
  // tables.
  uint64_t Bound(uint64_t live) const {
    const bool is_lazy = GetParam().style == Style::kLazy;
    return live * (is_lazy ? 4 : 3) / 2 + (is_lazy ? 2 * 64 : 24) * (64 << 10) + 16 * kMiB;
  }
  void ExpectOneReport(const std::string& path) {
    const std::vector<std::string> statuses = errors_->statuses();
    ASSERT_EQ(statuses.size(), 1u) << (statuses.empty() ? "" : statuses.back());
    EXPECT_THAT(statuses.front(), HasSubstr(path));
    EXPECT_THAT(statuses.front(), HasSubstr("mergedb verify"));
  }
  void OverwriteBesideDamage(const std::string& path);

  SimulatedEnv sim_;
  const std::shared_ptr<Errors> errors_ = std::make_shared<Errors>();
  std::unique_ptr<DB> db_;
  std::string value_ = std::string(kValueBytes, 'v');
  uint64_t puts_ = 0, next_timer_nanos_ = 0, runs_max_ = 0;
};

// Overwrites all keys about six times beside the damage, in the minutes of an hour.
void Unreadable::OverwriteBesideDamage(const std::string& path) {
  const uint64_t seed = SeedOr(43);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  const uint64_t live = FileBytes(*db_);
  Overwrite(&random, 2 * kKeys);
  const uint64_t before = Counter(*db_, "compactions");
  uint64_t most = 0;
  for (int minute = 0; minute < 60; ++minute) {
    Overwrite(&random, 4 * kKeys / 60);
    most = std::max(most, FileBytes(*db_));
    sim_.clock.SleepNanos(60'000'000'000);  // no timer: a timer would find the database at rest
  }
  EXPECT_GT(Counter(*db_, "compactions"), before + 10);
  EXPECT_LE(Counter(*db_, "compactions_failed"), 2u) << Property(*db_, "errors");
  EXPECT_LE(runs_max_, 90u);
  EXPECT_LE(most, Bound(live)) << Property(*db_, "runs");
  EXPECT_LE(Counter(*db_, "write_delay_wait_nanos_max"), 1'000'000u) << Property(*db_, "stats");
  EXPECT_EQ(Counter(*db_, "unreadable_files"), 1u);
  EXPECT_THAT(Property(*db_, "errors"), HasSubstr(path));
}

TEST_P(Unreadable, ADamagedBlockOfTheOldestRunCostsTheCompactionOfItsKeysAlone) {
  Open();
  Fill();
  const std::string path = LargestFile(".tbl");
  const uint64_t offset = *sim_.files->SizeOf(path) / 3;
  ASSERT_OK(db_->Close());
  ASSERT_OK(sim_.files->FlipBit(path, offset, 0));
  Open();
  OverwriteBesideDamage(path);

  // A wait ends with the error when all other keys are compacted.
  EXPECT_THAT(db_->WaitForCompaction(), StatusIs(Code::kCorruption, HasSubstr(path)));
  sim_.PassTime(20);  // to one run, as far as possible
  EXPECT_LE(Counter(*db_, "runs"), 40u) << "tiers of what overwrote the damaged keys: " << Property(*db_, "runs");
  ASSERT_OK(db_->Flush());
  EXPECT_THAT(db_->CompactRange(nullptr, nullptr), StatusIs(Code::kCorruption, HasSubstr(path)));
  ASSERT_OK(sim_.files->FlipBit(path, offset, 0));
  EXPECT_OK(db_->CompactRange(nullptr, nullptr)) << "it reads the damage again first";
  EXPECT_EQ(Counter(*db_, "runs"), 1u);
  EXPECT_EQ(Counter(*db_, "unreadable_files"), 0u);
  EXPECT_EQ(Property(*db_, "errors"), "");
  uint64_t count = 0;
  const auto it = db_->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) EXPECT_EQ(it->key(), Key(count++));
  EXPECT_OK(it->status());
  EXPECT_EQ(count, kKeys);
  ASSERT_OK(db_->Close());
  ExpectOneReport(path);
}

// Its index is damaged: all of its keys are left alone.
TEST_P(Unreadable, ATableThatCannotBeOpenedCostsTheCompactionOfItsKeysAlone) {
  Open();
  Fill();
  const std::string path = LargestFile(".tbl");
  const uint64_t bytes = *sim_.files->SizeOf(path);
  ASSERT_OK(db_->Close());
  ASSERT_OK(sim_.files->FlipBit(path, bytes - 40, 0));
  Open();
  const auto reads = [&](uint64_t i) {
    std::string value;
    return db_->Get({}, Key(i), &value).ok();
  };
  std::optional<uint64_t> lost;
  for (uint64_t i = 0; i < kKeys && !lost; ++i) {
    if (!reads(i)) lost = i;
  }
  ASSERT_TRUE(lost) << "the flipped bit is in the footer";
  OverwriteBesideDamage(path);
  ASSERT_OK(db_->Close());
  ExpectOneReport(path);
}

// The disk cannot read one flushed table for a minute. Then all is compacted without a call.
TEST_P(Unreadable, ATableThatIsReadableAgainIsCompactedByItself) {
  Open();
  Fill();
  ASSERT_OK(db_->Flush());
  const std::vector<std::string> before = sim_.files->Files();
  base::Random random(1);
  for (int i = 0; i < 300; ++i) Put(random.Uniform(kKeys));
  ASSERT_OK(db_->Flush());
  std::string path;
  for (const std::string& each : sim_.files->Files()) {
    if (each.ends_with(".tbl") && std::ranges::find(before, each) == before.end()) path = each;
  }
  ASSERT_NE(path, "");
  sim_.files->AddFault({.op = FileOp::kRead, .path_contains = path, .sticky = true});
  const uint64_t failed = Counter(*db_, "compactions_failed");
  sim_.PassTime(60);
  EXPECT_GT(Counter(*db_, "compactions_failed"), failed);
  EXPECT_LE(Counter(*db_, "compactions_failed"), failed + 5) << "a few blocks, then the table";
  EXPECT_EQ(Counter(*db_, "unreadable_files"), 1u);
  sim_.files->ClearFaults();
  sim_.PassTime(130);
  EXPECT_EQ(Counter(*db_, "unreadable_files"), 0u);
  sim_.PassTime(10);
  EXPECT_EQ(Counter(*db_, "runs"), 1u) << Property(*db_, "runs");
  EXPECT_EQ(Property(*db_, "errors"), "");
  ASSERT_OK(db_->Close());
  EXPECT_EQ(errors_->statuses().size(), 1u);
}

TEST_P(Unreadable, TheDiagnosisNamesTheFileAndTheNextStep) {
  Open();
  Fill();
  const std::string path = LargestFile(".tbl");
  ASSERT_OK(db_->Close());
  ASSERT_OK(sim_.files->FlipBit(path, *sim_.files->SizeOf(path) / 3, 0));
  Open();
  for (uint64_t i = 0; i < kKeys; i += 10) Put(i);
  EXPECT_THAT(db_->CompactRange(nullptr, nullptr), StatusIs(Code::kCorruption));
  sim_.PassTime(2);
  ASSERT_OK_AND_ASSIGN(const format::LiveState state, db::ReadLiveState(sim_.files.get(), SimulatedEnv::kPath));
  const std::vector<db::Finding> findings = db::Diagnose(state);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(db::CauseName(findings.front().cause), "unreadable_file");
  EXPECT_THAT(findings.front().text, HasSubstr(path));
  EXPECT_THAT(findings.front().advice, HasSubstr("mergedb repair"));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Unreadable,
                         ::testing::Values(Shape{Style::kLazy, false}, Shape{Style::kLazy, true},
                                           Shape{Style::kCascade, false}),
                         [](const auto& test) {
                           return std::string(test.param.style == Style::kLazy ? "lazy" : "cascade") +
                                  (test.param.separates ? "_blobs" : "");
                         });

}  // namespace
}  // namespace mergedb::testing
