// Every operation fails once, and the database says so, goes on reading, and comes back when the fault is gone.
// Method: a fixed workload is run again and again; run n fails the n-th operation that changes a file (or all from the n-th
// on). Each commit puts a key of its own beside its changes, so that a reopened database says which commits it holds: all that
// were acknowledged, whole, and of the others only those whose outcome was said to be unknown.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>

#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/world.h"

namespace mergedb::testing {
namespace {

using Pairs = std::map<std::string, std::string>;
constexpr uint64_t kLongSleepNanos = 6'000'000'000;

struct Commit {
  std::vector<std::pair<std::string, std::optional<std::string>>> changes;  // none: deleted
  Status status;
};

void ApplyTo(Pairs* state, const Commit& commit) {
  for (const auto& [key, value] : commit.changes) {
    if (value) {
      (*state)[key] = *value;
    } else {
      state->erase(key);
    }
  }
}

// How `found` differs from `expected`, in a few words; empty if it does not.
std::string Difference(const Pairs& found, const Pairs& expected) {
  std::string text;
  for (const auto& [key, value] : expected) {
    const auto it = found.find(key);
    if (it == found.end()) text += " missing " + key;
    if (it != found.end() && it->second != value) text += " " + key + "=" + it->second.substr(0, 8) + " not " + value.substr(0, 8);
  }
  for (const auto& [key, value] : found) {
    if (!expected.contains(key)) text += " surplus " + key + "=" + value.substr(0, 8);
  }
  return text;
}

// What iteration finds; `*status` is its outcome.
Pairs Scan(DB& db, Status* status) {
  Pairs found;
  auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) found.emplace(it->key(), it->value());
  *status = it->status();
  return found;
}

Pairs MustScan(DB& db) {
  Status status;
  Pairs found = Scan(db, &status);
  EXPECT_OK(status);
  return found;
}

class Errors {
 public:
  explicit Errors(bool use_mapping = true, uint64_t seed = 11) : random_(seed), use_mapping_(use_mapping) {}

  World& world() { return *world_; }
  DB& db() { return *db_; }
  const Pairs& live() const { return live_; }
  uint64_t failed() const { return failed_; }

  Status Open() {
    db_ = nullptr;
    auto db = DB::Open(WorldOptions(*world_), World::kPath);
    if (db) db_ = std::move(*db);
    return db.status();
  }
  Status Close() {
    const Status status = db_->Close();
    db_ = nullptr;
    return status;
  }

  // Commits, steps of background work, now and then a flush or a merge; failures are noted and stepped over.
  void Work(int commits) {
    for (int i = 0; i < commits && !::testing::Test::HasFailure(); ++i) {
      (void)WriteOne({.durability = random_.OneIn(5) ? Durability::kSynced : Durability::kProcessCrash});
      for (uint64_t steps = random_.Uniform(4); steps > 0; --steps) world_->executor.RunOne();
      if (random_.OneIn(8)) world_->executor.RunTimers();
      if (random_.OneIn(40)) Note(db_->Flush());
      if (random_.OneIn(75)) Note(db_->CompactRange(nullptr, nullptr));
      if (random_.OneIn(25)) CheckReads();
    }
  }

  Status WriteOne(const WriteOptions& options) {
    Commit commit;
    WriteBatch batch;
    commit.changes.emplace_back("commit" + std::to_string(1000 + commits_.size()), "");
    for (uint64_t size = 1 + random_.Uniform(4); size > 0; --size) {
      std::string key = "k" + std::to_string(random_.Uniform(60));
      if (random_.OneIn(5)) {
        commit.changes.emplace_back(std::move(key), std::nullopt);
      } else {
        const uint64_t bytes = random_.OneIn(40) ? 40'000 : random_.Uniform(2000);
        commit.changes.emplace_back(std::move(key), std::to_string(commits_.size()) + ":" + std::string(bytes, 'v'));
      }
    }
    for (const auto& [key, value] : commit.changes) value ? batch.Put(key, *value) : batch.Delete(key);
    commit.status = db_->Write(options, batch);
    if (commit.status.ok()) {
      ApplyTo(&live_, commit);
    } else {
      Note(commit.status);
    }
    commits_.push_back(std::move(commit));
    return commits_.back().status;
  }

  // Readers see exactly what was acknowledged, whatever fails.
  void CheckLive() { ASSERT_EQ(Difference(MustScan(*db_), live_), ""); }

  // The same while reads may fail too: right, or not OK.
  void CheckReads() {
    const uint64_t hits = world_->files->faults_hit();
    Status status;
    const Pairs found = Scan(*db_, &status);
    if (status.ok()) {
      EXPECT_EQ(Difference(found, live_), "");
    } else {
      EXPECT_GT(world_->files->faults_hit(), hits) << status.ToString();
    }
  }

  // The next life of the database: what was acknowledged is there, and of the rest only what might be.
  void CheckReopened(World& world) {
    auto db = DB::Open(WorldOptions(world), World::kPath);
    ASSERT_OK(db.status());
    const Pairs found = MustScan(**db);
    Pairs expected;
    for (const Commit& commit : commits_) {
      const bool is_there = found.contains(commit.changes[0].first);
      if (commit.status.ok()) {
        EXPECT_TRUE(is_there) << commit.changes[0].first << " was acknowledged and is gone";
      }
      if (is_there) {
        EXPECT_TRUE(commit.status.ok() || commit.status.outcome_unknown())
            << commit.changes[0].first << " is there after " << commit.status.ToString();
        ApplyTo(&expected, commit);
      }
    }
    EXPECT_EQ(Difference(found, expected), "");
    ASSERT_OK((*db)->CheckIntegrity());
    ASSERT_OK((*db)->Close());
  }

  // The fault is gone: it writes again, without a restart; a power cut then takes nothing, and a restart finds everything.
  void CheckComesBack() {
    world_->files->ClearFaults();
    world_->clock.SleepNanos(kLongSleepNanos);
    world_->executor.RunTimers();
    world_->executor.RunAll();
    ASSERT_OK(WriteOne({.durability = Durability::kSynced}));
    CheckLive();
    CheckReopened(*World::After(*world_, CrashMode::kMin, CrashModel::kStrict, 1));
    ASSERT_OK(db_->Flush());
    ASSERT_OK(db_->WaitForCompaction());
    CheckLive();
    CheckReopened(*World::After(*world_, CrashMode::kMin, CrashModel::kStrict, 1));
    EXPECT_EQ(world_->files->sync_after_failed_sync(), 0u);
    ASSERT_OK(Close());
    CheckReopened(*world_);
  }

 private:
  Options WorldOptions(World& world) const {
    Options options = world.SmallOptions();
    options.use_mapped_staging = use_mapping_;
    return options;
  }
  void Note(const Status& status) {
    if (status.ok()) return;
    ++failed_;
    EXPECT_TRUE(status.IsIOError() || status.IsNoSpace()) << status.ToString();
  }

  base::Random random_;
  const bool use_mapping_;
  const std::unique_ptr<World> world_ = std::make_unique<World>(World::Options{.seed = 3});
  std::unique_ptr<DB> db_;
  std::vector<Commit> commits_;
  Pairs live_;
  uint64_t failed_ = 0;
};

constexpr int kCommits = 150;

std::string Describe(const Fault& fault) {
  return "n " + std::to_string(fault.nth) + (fault.sticky ? " sticky" : "") + (fault.has_happened ? " happened" : "") +
         " partial " + std::to_string(fault.partial_bytes) + " " + fault.status.ToString();
}

// One life with a fault in it; true if the fault came to pass.
bool LiveWith(const Fault& fault, bool use_mapping) {
  SCOPED_TRACE(Describe(fault) + (use_mapping ? " mapped" : ""));
  Errors errors(use_mapping);
  World& world = errors.world();
  world.files->AddFault(fault);
  if (Status status = errors.Open(); !status.ok()) {
    EXPECT_GT(world.files->faults_hit(), 0u) << status.ToString();
    world.files->ClearFaults();
    EXPECT_OK(errors.Open());
  }
  if (::testing::Test::HasFailure()) return false;
  errors.Work(kCommits);
  const bool is_hit = world.files->faults_hit() > 0;
  if (!::testing::Test::HasFailure()) errors.CheckComesBack();
  return is_hit;
}

class ErrorsTest : public ::testing::TestWithParam<bool> {};

TEST_P(ErrorsTest, TellsOfEveryFailedChangeAndComesBack) {
  const uint64_t seed = SeedOr(20261120);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  uint64_t lives = 0;
  const uint64_t stride = IsFullSize() ? 1 : 2;
  for (uint64_t n = 1;; n += 1 + random.Uniform(2 * stride - 1)) {
    const Fault fault{.op = Op::kAnyChange,
                      .nth = n,
                      .sticky = random.OneIn(2),
                      .status = random.OneIn(2) ? Status::IOError("injected") : Status::NoSpace("injected"),
                      .partial_bytes = random.OneIn(2) ? 0 : 4096 * random.Uniform(3) + 8 * random.Uniform(100),
                      .has_happened = random.OneIn(4)};
    if (!LiveWith(fault, GetParam()) || HasFailure()) break;
    ++lives;
  }
  EXPECT_GT(lives, 20u);
}

TEST_P(ErrorsTest, TellsOfEveryFailureOfEachKind) {
  const uint64_t seed = SeedOr(7);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  for (const Op op : {Op::kCreate, Op::kSync, Op::kRemove, Op::kRename, Op::kSyncDirectory, Op::kClose, Op::kOpen,
                      Op::kRead, Op::kSizeOf, Op::kMap, Op::kWrite}) {
    const uint64_t stride = IsFullSize() ? 1 : 2;
    for (uint64_t n = 1;; n += 1 + random.Uniform(2 * stride - 1)) {
      const Fault fault{.op = op, .nth = n, .sticky = random.OneIn(2), .has_happened = random.OneIn(3)};
      SCOPED_TRACE("op " + std::to_string(static_cast<int>(op)));
      if (!LiveWith(fault, GetParam())) break;
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Staging, ErrorsTest, ::testing::Values(true, false));

TEST(ReadErrors, AreTheReadersOwnAndNeverWrongAnswers) {
  Errors errors;
  ASSERT_OK(errors.Open());
  errors.Work(kCommits);
  ASSERT_OK(errors.db().Flush());
  ASSERT_OK(errors.Close());
  FaultFileSystem& files = *errors.world().files;
  for (const Op op : {Op::kRead, Op::kOpen, Op::kSizeOf, Op::kList, Op::kMap, Op::kLock}) {
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE("op " + std::to_string(static_cast<int>(op)) + " n " + std::to_string(n));
      const uint64_t hits = files.faults_hit();
      files.AddFault({.op = op, .nth = n});
      const Status opened = errors.Open();
      if (opened.ok()) {
        for (const auto& [key, value] : errors.live()) {
          std::string found;
          const Status status = errors.db().Get({}, key, &found);
          EXPECT_TRUE(status.IsIOError() || (status.ok() && found == value)) << key << ": " << status.ToString();
        }
        Status status;
        const Pairs found = Scan(errors.db(), &status);
        EXPECT_TRUE(status.IsIOError() || (status.ok() && Difference(found, errors.live()).empty())) << status.ToString();
      } else {
        EXPECT_TRUE(opened.IsIOError()) << opened.ToString();
      }
      const bool is_hit = files.faults_hit() > hits;
      files.ClearFaults();
      if (!opened.ok()) {
        ASSERT_OK(errors.Open());
      }
      errors.CheckLive();
      ASSERT_OK(errors.Close());
      if (!is_hit || HasFailure()) break;
    }
  }
}

TEST(DiskFull, RefusesWritesUntilThereIsSpaceAgain) {
  for (const bool use_mapping : {true, false}) {
    SCOPED_TRACE(use_mapping ? "mapped" : "written");
    Errors errors(use_mapping);
    ASSERT_OK(errors.Open());
    errors.Work(20);
    FaultFileSystem& files = *errors.world().files;
    for (int round = 0; round < 4; ++round) {
      const uint64_t used = files.bytes_used();
      files.SetCapacity(used + (round % 2 == 0 ? 0 : 100'000));
      uint64_t refused = 0;
      for (int i = 0; i < 3000 && refused < 20; ++i) {
        const Status status = errors.WriteOne({});
        refused += status.IsNoSpace();
        ASSERT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
        errors.world().executor.RunOne();
      }
      EXPECT_GT(refused, 0u);
      errors.CheckLive();
      if (HasFatalFailure()) return;
      EXPECT_LE(files.bytes_used(), used + 200'000);
      files.SetCapacity(UINT64_MAX);
      ASSERT_OK(errors.WriteOne({})) << "round " << round;
      errors.CheckLive();
      errors.CheckReopened(*World::After(errors.world(), CrashMode::kKill, CrashModel::kStrict, 1));
      ASSERT_OK(errors.db().WaitForCompaction());
    }
    errors.CheckComesBack();
  }
}

}  // namespace
}  // namespace mergedb::testing
