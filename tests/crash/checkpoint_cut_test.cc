// Goal: whatever a power cut leaves of a checkpoint that runs beside writes, the source keeps its promises,
// and the copy is absent, or refused, or holds exactly the writes before the call; once the call has
// returned, the copy is durable.
// Method: a small database with every kind of file, with blob files, some writes only in memory. During the
// checkpoint its progress callback writes to the database, flushes and compacts. Before every call that
// changes a file, the test takes the crash images of all modes and models: it opens and compares source and
// copy, and where there is no copy it makes the checkpoint again. Afterwards the source overwrites all of its
// data, so that files with two names become obsolete.
//     MERGEDB_FULL=1     three seeds, no image left out
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "mergedb/checkpoint.h"
#include "testing/cut_check.h"
#include "testing/cut_workload.h"
#include "testing/seed.h"

namespace mergedb::testing {
namespace {

using State = CrashOracle::State;
const std::string kCopy = "/copy";

struct Way {
  bool may_link;
  bool use_mapping;
};

class CheckpointCutTest : public ::testing::TestWithParam<Way> {
 protected:
  CutSetup Setup(uint64_t seed) const {
    return {.seed = seed, .use_mapping = GetParam().use_mapping, .steps = "", .separates = true};
  }
  CheckpointOptions HowToCopy() const { return {.may_link = GetParam().may_link}; }

  void Run(uint64_t seed);
  void Fill();
  void WriteBeside();
  void Overwrite();
  void Put(const std::string& key, const std::string& value, Durability durability);
  void Delete(const std::string& key);
  void Flush();
  void Write(const CrashOracle::Change& change, Durability durability);

  void AtPoint();
  void CheckImage(CrashMode mode, CrashModel model, uint64_t seed);
  std::string CheckCopy(SimulatedEnv& sim, CrashMode mode);
  std::string CopyAgain(SimulatedEnv& sim, CrashMode mode);
  Result<State> Read(SimulatedEnv& sim, const std::string& path, OpenMode mode);

  uint64_t seed_ = 0;
  std::unique_ptr<SimulatedEnv> sim_;
  std::unique_ptr<CutBooks> books_;
  std::unique_ptr<DB> db_;
  std::optional<State> copied_;  // what the copy must hold, once the call has begun
  bool has_returned_ = false;
  uint64_t beside_ = 0, points_ = 0, images_ = 0, copies_ = 0, refused_ = 0, again_ = 0;
  std::set<std::pair<uint64_t, uint64_t>> seen_;
};

// ---- the workload -----------------------------------------------------------------------------------------

void CheckpointCutTest::Write(const CrashOracle::Change& change, Durability durability) {
  const uint64_t commit = books_->Begin({change}, durability);
  WriteBatch batch;
  switch (change.kind) {
    case CrashOracle::Kind::kPut: batch.Put(change.key, change.value); break;
    case CrashOracle::Kind::kDelete: batch.Delete(change.key); break;
    default: batch.DeleteRange(change.key, change.value);
  }
  const Status status = db_->Write({.durability = durability}, batch);
  ASSERT_TRUE(status.ok()) << status.ToString();
  books_->Returned(commit, durability, status);
}

void CheckpointCutTest::Put(const std::string& key, const std::string& value, Durability durability) {
  Write({.kind = CrashOracle::Kind::kPut, .key = key, .value = value}, durability);
}

void CheckpointCutTest::Delete(const std::string& key) {
  Write({.kind = CrashOracle::Kind::kDelete, .key = key}, Durability::kProcessCrash);
}

void CheckpointCutTest::Flush() {
  const uint64_t last = books_->begun();
  ASSERT_TRUE(db_->Flush().ok());
  books_->Flushed(last);
}

// Two tables with a blob file each, a range delete, and writes of every durability that no table holds yet.
void CheckpointCutTest::Fill() {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 12; ++i) {
      Put("k" + std::to_string(i + round),
          std::to_string(round) + "." + std::to_string(i) + std::string(i % 3 == 0 ? 3000 : 20, 'v'),
          Durability::kProcessCrash);
    }
    Flush();
  }
  Write({.kind = CrashOracle::Kind::kDeleteRange, .key = "k3", .value = "k5"}, Durability::kProcessCrash);
  Put("synced", "yes", Durability::kSynced);
  Put("unlogged", "yes", Durability::kNoWal);
  Delete("k7");
}

void CheckpointCutTest::WriteBeside() {
  const std::string number = std::to_string(++beside_);
  switch (beside_ % 5) {
    case 0: return Flush();
    case 1: return Put("beside" + number, number, Durability::kSynced);
    case 2: return Put("k" + number, "beside:" + number + std::string(2000, 'w'), Durability::kProcessCrash);
    case 3: return Delete("k" + std::to_string(beside_ % 12));
    default: sim_->executor.RunOne();
  }
}

// Makes the files that the copy shares with the source obsolete; recycling must not overwrite them.
void CheckpointCutTest::Overwrite() {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 12; ++i)
      Put("k" + std::to_string(i), "over:" + std::to_string(round * 100 + i) + std::string(2500, 'x'),
          Durability::kProcessCrash);
    const uint64_t last = books_->begun();
    ASSERT_TRUE(db_->CompactRange(nullptr, nullptr).ok());
    books_->Flushed(last);
    sim_->executor.RunAll();
  }
}

void CheckpointCutTest::Run(uint64_t seed) {
  seed_ = seed;
  sim_ = std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = seed});
  books_ = std::make_unique<CutBooks>();
  auto opened = OpenFor(Setup(seed), sim_.get());
  ASSERT_TRUE(opened) << opened.error().ToString();
  db_ = std::move(*opened);
  copied_.reset();
  has_returned_ = false;
  ASSERT_NO_FATAL_FAILURE(Fill());

  copied_ = books_->quiet_oracle().Everything();
  sim_->files->SetOpHook([this](uint64_t, const char*, const std::string&) { AtPoint(); });
  CheckpointOptions options = HowToCopy();
  options.progress = [this](uint64_t, uint64_t) {
    WriteBeside();
    AtPoint();
    return !HasFailure();
  };
  const auto made = Checkpoint(*db_, kCopy, options);
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_EQ(made->linked > 0, GetParam().may_link);
  has_returned_ = true;
  AtPoint();
  ASSERT_NO_FATAL_FAILURE(Overwrite());
  sim_->files->SetOpHook(nullptr);
  db_ = nullptr;
}

// ---- the crashes ------------------------------------------------------------------------------------------

void CheckpointCutTest::AtPoint() {
  ++points_;
  if (HasFailure() || (!IsFullSize() && !IsTried(points_))) return;
  const uint64_t seed = seed_ * 1'000'003 + points_;
  CheckImage(CrashMode::kKill, CrashModel::kStrict, seed);
  for (const CrashModel model : kCrashModels) {
    for (const CrashMode mode : kPowerCutModes) CheckImage(mode, model, seed);
    CheckImage(CrashMode::kLostSync, model, seed);
  }
}

Result<State> CheckpointCutTest::Read(SimulatedEnv& sim, const std::string& path, OpenMode mode) {
  Options options = OptionsFor(Setup(seed_), &sim);
  options.mode = mode;
  ASSIGN_OR_RETURN(const auto db, DB::Open(options, path));
  Status status;
  State state = ReadForward(*db, {}, &status);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(db->CheckIntegrity());
  return state;
}

void CheckpointCutTest::CheckImage(CrashMode mode, CrashModel model, uint64_t seed) {
  auto image = sim_->files->Crash(mode, model, seed);
  const CrashOracle::Owed owed = books_->OwedAfter(mode);
  if (!seen_.insert({image->Fingerprint(), (owed.logged * 1000 + owed.unlogged) * 2 + has_returned_}).second) return;
  ++images_;
  const std::string where = "seed " + std::to_string(seed_) + ", point " + std::to_string(points_) + ", " +
                            CrashModeName(mode) + "/" + CrashModelName(model) + ": ";
  const Recovered source =
      CheckRecovery(image->Crash(CrashMode::kKill, model, seed), {.setup = Setup(seed_),
                                                                  .oracle = books_->quiet_oracle(),
                                                                  .owed = owed,
                                                                  .may_be_corrupt = mode == CrashMode::kLostSync,
                                                                  .seed = seed});
  if (!source.problem.empty()) ADD_FAILURE() << where << "the source: " << source.problem;
  SimulatedEnv sim({.seed = seed}, std::move(image));
  const std::string problem = CheckCopy(sim, mode);
  if (!problem.empty()) ADD_FAILURE() << where << "the copy: " << problem;
}

// Returns "" if the copy is in a permitted state.
std::string CheckpointCutTest::CheckCopy(SimulatedEnv& sim, CrashMode mode) {
  const bool has_lied = mode == CrashMode::kLostSync;
  const auto is_there = sim.files->IsDirectory(kCopy);
  if (!is_there) return is_there.error().ToString();
  if (*is_there) {
    ++copies_;
    const auto state = Read(sim, kCopy, OpenMode::kMustExist);
    if (!state) return has_lied && state.error().IsCorruption() ? "" : state.error().ToString();
    return DescribeDifference(*state, *copied_);
  }
  if (has_returned_ && !has_lied) return "gone";
  const auto partial = Read(sim, kCopy + ".partial", OpenMode::kReadOnly);
  if (partial && *partial != *copied_) return "the unfinished one opens:" + DescribeDifference(*partial, *copied_);
  refused_ += !partial;
  return CopyAgain(sim, mode);
}

// The remains of an interrupted call do not block the next one.
std::string CheckpointCutTest::CopyAgain(SimulatedEnv& sim, CrashMode mode) {
  const bool may_fail = mode == CrashMode::kLostSync;
  auto db = OpenFor(Setup(seed_), &sim);
  if (!db)
    return may_fail && db.error().IsCorruption() ? "" : "the source, before the second call: " + db.error().ToString();
  ++again_;
  const auto made = Checkpoint(**db, kCopy, HowToCopy());
  if (!made) return may_fail && made.error().IsCorruption() ? "" : "the second call: " + made.error().ToString();
  Status status;
  const State source = ReadForward(**db, {}, &status);
  const auto state = Read(sim, kCopy, OpenMode::kMustExist);
  if (!status.ok()) return may_fail ? "" : "the source, after the second call: " + status.ToString();
  if (!state) return "by the second call: " + state.error().ToString();
  return DescribeDifference(*state, source);
}

TEST_P(CheckpointCutTest, LeavesTheSourceWholeAndTheCopyWholeOrAbsent) {
  const uint64_t seeds = IsFullSize() ? 3 : 1;
  for (uint64_t seed = SeedOr(1); seed < SeedOr(1) + seeds && !HasFailure(); ++seed) Run(seed);
  std::printf("%llu moments, %llu images: %llu copies, %llu unfinished ones refused, %llu made again\n",
              static_cast<unsigned long long>(points_), static_cast<unsigned long long>(images_),
              static_cast<unsigned long long>(copies_), static_cast<unsigned long long>(refused_),
              static_cast<unsigned long long>(again_));
  EXPECT_GT(copies_, 0u);
  EXPECT_GT(refused_, 0u);
  EXPECT_GT(again_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ways, CheckpointCutTest,
                         ::testing::Values(Way{true, true}, Way{true, false}, Way{false, true}), [](const auto& way) {
                           return std::string(way.param.may_link ? "Linked" : "Copied") +
                                  (way.param.use_mapping ? "Mapped" : "Written");
                         });

}  // namespace
}  // namespace mergedb::testing
