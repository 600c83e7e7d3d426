// Every file call fails once; the database returns an error, still serves reads, and recovers when the fault
// is gone. Method: a fixed workload runs repeatedly; run n fails the n-th call of a kind (or all from the
// n-th on), in the life that creates the database or in the one that recovers it after a kill. Each commit
// writes a key of its own beside its changes, so that a reopened database shows which commits it holds: all
// acknowledged ones, completely, and of the others only those that reported an unknown outcome. The last test
// compares the call sites that failed with those in the sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/log_lines.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

using Pairs = std::map<std::string, std::string>;
constexpr uint64_t kLongSleepNanos = 6'000'000'000;

struct Commit {
  std::vector<std::pair<std::string, std::optional<std::string>>> changes;  // std::nullopt: deleted
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

// The differences between `found` and `expected`, in a few words; "" if they are equal.
std::string Difference(const Pairs& found, const Pairs& expected) {
  std::string text;
  for (const auto& [key, value] : expected) {
    const auto it = found.find(key);
    if (it == found.end()) text += " missing " + key;
    if (it != found.end() && it->second != value)
      text += " " + key + "=" + it->second.substr(0, 8) + " not " + value.substr(0, 8);
  }
  for (const auto& [key, value] : found) {
    if (!expected.contains(key)) text += " surplus " + key + "=" + value.substr(0, 8);
  }
  return text;
}

// The contents as an iterator shows them; `*status` is its status.
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

// The results of all tests of this program, for the report at the end.
struct Tally {
  struct Site {
    std::string point;
    uint64_t calls = 0;
    uint64_t failures = 0;
  };
  std::map<uintptr_t, Site> sites;
  std::map<std::string, uint64_t> injected;  // by status
  uint64_t lives = 0;
};
Tally& TheTally() {
  static Tally tally;
  return tally;
}

class Errors {
 public:
  // With `log_bytes_max`, LOG has the events, too.
  explicit Errors(bool use_mapping = true, uint64_t seed = 11, uint64_t log_bytes_max = 0)
      : random_(seed), use_mapping_(use_mapping), log_bytes_max_(log_bytes_max) {
    Watch();
  }

  SimulatedEnv& sim() { return *sim_; }
  DB& db() { return *db_; }
  const Pairs& live() const { return live_; }
  uint64_t failed() const { return failed_; }

  Status Open() {
    db_ = nullptr;
    auto db = DB::Open(SimulatedEnvOptions(*sim_, watched_.get()), SimulatedEnv::kPath);
    if (db) db_ = std::move(*db);
    return db.status();
  }
  Status Close() {
    const Status status = db_->Close();
    db_ = nullptr;
    return status;
  }
  Status Destroy() { return DB::Destroy(SimulatedEnvOptions(*sim_, watched_.get()), SimulatedEnv::kPath); }
  // kill -9: keeps the current files without the process; the database is not open afterwards.
  void Kill() {
    auto after = SimulatedEnv::After(*sim_, CrashMode::kKill, CrashModel::kStrict, 1);
    db_ = nullptr;
    watched_ = nullptr;
    sim_ = std::move(after);
    Watch();
  }
  // A life that ends by a kill, on a disk that is full then.
  void DieOnAFullDisk() {
    ASSERT_OK(Open());
    Work(20);
    Kill();
    sim_->files->SetCapacity(sim_->files->bytes_used());
  }
  // After an open without faults and with space. `opened`: the status of the open before.
  void CheckLivesOn(const Status& opened) {
    sim_->files->ClearFaults();
    sim_->files->SetCapacity(UINT64_MAX);
    if (!opened.ok()) { ASSERT_OK(Open()); }
    CheckLive();
  }
  // From the n-th read on (`nth` counts down), reads return `kept_of_16` sixteenths of the bytes.
  void ShortenReads(uint64_t nth, uint64_t kept_of_16, bool is_sticky) {
    short_reads_ = {nth, kept_of_16, is_sticky, 0};
  }
  uint64_t reads_shortened() const { return short_reads_.hits; }

  // Commits, background steps, at times a flush or a compaction. Failures are recorded and do not stop the
  // loop.
  void Work(int commits) {
    for (int i = 0; i < commits && !::testing::Test::HasFailure(); ++i) {
      (void)WriteOne({.durability = random_.OneIn(5) ? Durability::kSynced : Durability::kProcessCrash});
      for (uint64_t steps = random_.Uniform(4); steps > 0; --steps) sim_->executor.RunOne();
      if (random_.OneIn(8)) sim_->executor.RunTimers();
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
    if (commits_.back().status.ok() && options.durability == Durability::kSynced) durable_ = commits_.size();
    return commits_.back().status;
  }

  // The power fails while the fault persists: a synced commit and all commits before it are kept, no commit
  // that certainly failed is there, and the others are a prefix.
  void CheckPowerCut() {
    const auto sim = SimulatedEnv::After(*sim_, CrashMode::kMin, CrashModel::kStrict, 1);
    auto db = DB::Open(SimulatedEnvOptions(*sim, sim->files.get()), SimulatedEnv::kPath);
    ASSERT_OK(db.status());
    const Pairs found = MustScan(**db);
    Pairs expected;
    bool is_over = false;
    for (size_t i = 0; i < commits_.size(); ++i) {
      const Commit& commit = commits_[i];
      const std::string& name = commit.changes[0].first;
      if (found.contains(name)) {
        EXPECT_TRUE(commit.status.ok() || commit.status.outcome_unknown())
            << name << " after " << commit.status.ToString();
        EXPECT_FALSE(is_over) << name << " exists and one before it is not";
        ApplyTo(&expected, commit);
      } else if (commit.status.ok()) {
        is_over = true;
        EXPECT_GE(i, durable_) << name << " was durable and is gone";
      }
    }
    EXPECT_EQ(Difference(found, expected), "");
  }

  // Readers see exactly the acknowledged commits, whatever fails.
  void CheckLive() { ASSERT_EQ(Difference(MustScan(*db_), live_), ""); }

  // The same while reads may fail too: each result is right, or not OK.
  void CheckReads() {
    const uint64_t hits = sim_->files->faults_hit() + short_reads_.hits;
    Status status;
    const Pairs found = Scan(*db_, &status);
    if (status.ok()) {
      EXPECT_EQ(Difference(found, live_), "");
    } else {
      EXPECT_GT(sim_->files->faults_hit() + short_reads_.hits, hits) << status.ToString();
    }
  }

  // The next life of the database: acknowledged commits are there, and of the others only those with unknown
  // outcome.
  void CheckReopened(SimulatedEnv& sim) {
    auto db = DB::Open(SimulatedEnvOptions(sim, sim.files.get()), SimulatedEnv::kPath);
    ASSERT_OK(db.status());
    const Pairs found = MustScan(**db);
    Pairs expected;
    for (const Commit& commit : commits_) {
      const bool is_there = found.contains(commit.changes[0].first);
      if (commit.status.ok()) { EXPECT_TRUE(is_there) << commit.changes[0].first << " was acknowledged and is gone"; }
      if (is_there) {
        EXPECT_TRUE(commit.status.ok() || commit.status.outcome_unknown())
            << commit.changes[0].first << " exists after " << commit.status.ToString();
        ApplyTo(&expected, commit);
      }
    }
    EXPECT_EQ(Difference(found, expected), "");
    ASSERT_OK((*db)->CheckIntegrity());
    ASSERT_OK((*db)->Close());
  }

  // The fault is gone: the database accepts writes without a restart. After that, a power cut loses nothing,
  // and a restart finds everything.
  void CheckComesBack() {
    sim_->files->ClearFaults();
    ShortenReads(0, 0, false);
    sim_->clock.SleepNanos(kLongSleepNanos);
    sim_->executor.RunTimers();
    sim_->executor.RunAll();
    ASSERT_OK(WriteOne({.durability = Durability::kSynced}));
    CheckLive();
    CheckReopened(*SimulatedEnv::After(*sim_, CrashMode::kMin, CrashModel::kStrict, 1));
    ASSERT_OK(db_->Flush());
    ASSERT_OK(db_->WaitForCompaction());
    CheckLive();
    CheckReopened(*SimulatedEnv::After(*sim_, CrashMode::kMin, CrashModel::kStrict, 1));
    EXPECT_EQ(sim_->files->sync_after_failed_sync(), 0u);
    ASSERT_OK(Close());
    CheckReopened(*sim_);
  }

 private:
  struct ShortReads {
    uint64_t nth = 0;  // 0: never
    uint64_t kept_of_16 = 0;
    bool is_sticky = false;
    uint64_t hits = 0;
  };

  void Watch() {
    const auto note = [](const FileCall& call, const Status& outcome) {
      Tally::Site& site = TheTally().sites[call.site];
      if (site.calls++ == 0) site.point = PointName(call);
      site.failures += !outcome.ok() && !outcome.IsNotFound();
    };
    const auto shorten = [this](const FileCall& call, size_t got) {
      if (short_reads_.nth == 0 || got == 0 || --short_reads_.nth > 0) return got;
      short_reads_.nth = short_reads_.is_sticky ? 1 : 0;
      ++short_reads_.hits;
      ++TheTally().sites[call.site].failures;
      return got * short_reads_.kept_of_16 / 16;
    };
    watched_ = std::make_unique<WatchedFileSystem>(sim_->files.get(),
                                                   mergedb::testing::Watch{.after = note, .shorten = shorten});
  }
  Options SimulatedEnvOptions(SimulatedEnv& sim, FileSystem* files) const {
    Options options = sim.SmallOptions();
    options.env.file_system = files;
    options.use_mapped_wal_buffer = use_mapping_;
    options.log_bytes_max = log_bytes_max_;
    return options;
  }
  void Note(const Status& status) {
    if (status.ok()) return;
    ++failed_;
    const bool is_short = short_reads_.hits > 0 && status.IsCorruption();
    EXPECT_TRUE(status.IsIOError() || status.IsNoSpace() || status.IsBusy() || is_short) << status.ToString();
  }

  base::Random random_;
  const bool use_mapping_;
  const uint64_t log_bytes_max_;
  std::unique_ptr<SimulatedEnv> sim_ = std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = 3});
  std::unique_ptr<WatchedFileSystem> watched_;
  std::unique_ptr<DB> db_;
  std::vector<Commit> commits_;
  size_t durable_ = 0;  // this many commits existed when a synced one returned OK
  ShortReads short_reads_;
  Pairs live_;
  uint64_t failed_ = 0;
};

constexpr int kCommits = 150;

enum class When : uint8_t { kFirstLife, kRecovery };

std::string Describe(const Fault& fault) {
  return std::string(OpName(fault.op)) + " " + fault.path_contains + " n " + std::to_string(fault.nth) +
         (fault.sticky ? " sticky" : "") + (fault.has_happened ? " happened" : "") + " partial " +
         std::to_string(fault.partial_bytes) + " " + fault.status.ToString();
}

struct Life {
  Fault fault;
  std::optional<Fault> second = {};  // while the database handles the first
  When when = When::kFirstLife;
  bool use_mapping = true;
};

// One life with a fault in it; returns true if the fault was hit.
bool Live(const Life& life) {
  SCOPED_TRACE(Describe(life.fault) + (life.second ? ", then " + Describe(*life.second) : "") +
               (life.use_mapping ? " mapped" : "") + (life.when == When::kRecovery ? " recovering" : ""));
  Errors errors(life.use_mapping);
  if (life.when == When::kRecovery) {
    EXPECT_OK(errors.Open());
    errors.Work(kCommits / 2);
    errors.Kill();
  }
  FaultFileSystem* const files = errors.sim().files.get();
  files->AddFault(life.fault);
  if (life.second) files->AddFault(*life.second);
  if (Status status = errors.Open(); !status.ok()) {
    EXPECT_GT(files->faults_hit(), 0u) << status.ToString();
    files->ClearFaults();
    EXPECT_OK(errors.Open());
  }
  if (::testing::Test::HasFailure()) return false;
  errors.Work(life.when == When::kRecovery ? kCommits / 2 : kCommits);
  const uint64_t hits = files->faults_hit();
  TheTally().lives += hits > 0;
  TheTally().injected[std::string(life.fault.status.message())] += hits;
  if (!::testing::Test::HasFailure()) errors.CheckPowerCut();
  if (!::testing::Test::HasFailure()) errors.CheckComesBack();
  return hits > 0;
}

// An operating system's errors, as the database receives them.
Status AnyError(base::Random& random) {
  switch (random.Uniform(5)) {
    case 0: return Status::NoSpace("ENOSPC");
    case 1: return Status::Busy("EMFILE");
    case 2: return Status::IOError("EACCES");
    case 3: return Status::IOError("EROFS");
    default: return Status::IOError("EIO");
  }
}

class ErrorsTest : public ::testing::TestWithParam<std::tuple<bool, When>> {
 protected:
  Life LifeWith(const Fault& fault) const {
    return {.fault = fault, .when = std::get<1>(GetParam()), .use_mapping = std::get<0>(GetParam())};
  }
};

TEST_P(ErrorsTest, TellsOfEveryFailedChangeAndComesBack) {
  const uint64_t seed = SeedOr(20261120);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  const int rounds = IsFullSize() ? 12 : 1;
  uint64_t lives = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    for (uint64_t n = 1;; ++n) {
      const Fault fault{.op = FileOp::kAnyChange,
                        .nth = n,
                        .sticky = random.OneIn(2),
                        .status = AnyError(random),
                        .partial_bytes = random.OneIn(2) ? 0 : 4096 * random.Uniform(3) + 8 * random.Uniform(100),
                        .has_happened = random.OneIn(4)};
      if (!Live(LifeWith(fault)) || HasFailure()) break;
      ++lives;
    }
  }
  EXPECT_GT(lives, 20u);
}

TEST_P(ErrorsTest, TellsOfEveryFailureOfEachKind) {
  const uint64_t seed = SeedOr(7);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  const int rounds = IsFullSize() ? 6 : 1;
  for (const FileOp op :
       {FileOp::kCreate, FileOp::kSync, FileOp::kRemove, FileOp::kRename, FileOp::kSyncDirectory, FileOp::kClose,
        FileOp::kOpen, FileOp::kRead, FileOp::kSizeOf, FileOp::kMap, FileOp::kWrite, FileOp::kList, FileOp::kLock,
        FileOp::kCreateDirectory, FileOp::kUnshare, FileOp::kAllocate, FileOp::kDeallocate}) {
    for (int round = 0; round < rounds; ++round) {
      for (uint64_t n = 1;; ++n) {
        const Fault fault{
            .op = op, .nth = n, .sticky = random.OneIn(2), .status = AnyError(random), .has_happened = random.OneIn(3)};
        if (!Live(LifeWith(fault))) break;
        if (HasFailure()) return;
      }
    }
  }
}

// After a failed sync the database treats the data as lost: the kernel has dropped the pages, and a second
// sync of that file would return OK.
TEST_P(ErrorsTest, LosesNothingToSyncsThatFailAndThenLie) {
  for (const char* kind : {".seg", ".tbl", "MANIFEST", "CURRENT", "STAGING"}) {
    for (uint64_t n = 1;; ++n) {
      const Fault fault{.op = FileOp::kSync, .path_contains = kind, .nth = n};
      if (!Live(LifeWith(fault)) || HasFailure()) break;
    }
  }
}

// The calls after a failure may fail as well. (Each fault counts its own calls; the second one is permanent.)
TEST_P(ErrorsTest, TellsOfFailuresOnTheWayBack) {
  const uint64_t seed = SeedOr(17);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  const uint64_t rounds = IsFullSize() ? 40 : 4;
  const std::string kinds[] = {".tbl", ".seg", "MANIFEST", "CURRENT"};
  for (const std::string& first : kinds) {
    for (const FileOp op : {FileOp::kOpen, FileOp::kCreate, FileOp::kRead, FileOp::kWrite, FileOp::kSync,
                            FileOp::kRename, FileOp::kRemove, FileOp::kClose, FileOp::kSizeOf}) {
      for (uint64_t round = 0; round < rounds; ++round) {
        Life life = LifeWith(
            {.op = FileOp::kSync, .path_contains = first, .nth = 1 + random.Uniform(3), .sticky = random.OneIn(8)});
        life.second = Fault{.op = op,
                            .path_contains = random.OneIn(2) ? first : kinds[random.Uniform(4)],
                            .nth = 1 + random.Uniform(round + 2),
                            .sticky = random.OneIn(2),
                            .status = AnyError(random)};
        Live(life);
        if (HasFailure()) return;
      }
    }
  }
}

// A table that cannot be opened for recycling is removed; the removal may fail too.
TEST_P(ErrorsTest, TellsOfTablesThatCanNeitherBeOpenedNorRemoved) {
  for (uint64_t n = 1; n < 200; n += 2) {
    Life life = LifeWith({.op = FileOp::kOpen, .path_contains = ".tbl", .nth = n});
    life.second = Fault{.op = FileOp::kRemove, .path_contains = ".tbl", .sticky = true};
    if (!Live(life) || HasFailure()) break;
  }
}

// After a write of unknown outcome the WAL begins a new epoch and removes the old segments; the removal may
// fail too.
TEST_P(ErrorsTest, BeginsANewEpochWhereTheOldSegmentsCannotBeRemoved) {
  for (uint64_t n = 1; n < 60; n += 4) {
    Life life = LifeWith({.op = FileOp::kWrite, .path_contains = ".seg", .nth = n});
    life.second = Fault{.op = FileOp::kRemove, .path_contains = ".seg", .sticky = true};
    if (!Live(life) || HasFailure()) break;
  }
}

// A recycled file of a killed process is removed if its size is unknown; the removal may fail too.
TEST_P(ErrorsTest, OpensIfARecycledFileCanNeitherBeMeasuredNorRemoved) {
  Errors errors(std::get<0>(GetParam()));
  ASSERT_OK(errors.Open());
  errors.Work(kCommits / 2);
  errors.Kill();
  FaultFileSystem* const files = errors.sim().files.get();
  const std::string spare = SimulatedEnv::kPath + "/000900.spare";
  ASSERT_OK(files->WriteWhole(spare, std::string(64 << 10, 'x')));
  files->AddFault({.op = FileOp::kSizeOf, .path_contains = ".spare"});
  files->AddFault({.op = FileOp::kRemove, .path_contains = ".spare"});
  ASSERT_OK(errors.Open());
  EXPECT_EQ(files->faults_hit(), 2u);
  EXPECT_OK(files->SizeOf(spare).status()) << "the next open tries again";
  errors.CheckComesBack();
}

// WaitForCompaction gives blocks of the WAL buffer back, from below and from above those in use: a buffer that
// has blocks for a part of its bytes has both. A failure leaves the blocks to the next wait.
TEST_P(ErrorsTest, KeepsBlocksOfTheWalBufferThatCannotBeGivenBack) {
  for (const int commits : {kCommits / 2, kCommits}) {
    uint64_t hits = 0;
    for (uint64_t n = 1; n < 50; ++n) {
      SCOPED_TRACE(std::to_string(commits) + " commits, failure " + std::to_string(n));
      Errors errors(std::get<0>(GetParam()));
      ASSERT_OK(errors.Open());
      errors.Work(commits);
      ASSERT_OK(errors.db().Flush());
      FaultFileSystem& files = *errors.sim().files;
      files.AddFault({.op = FileOp::kDeallocate, .path_contains = "STAGING", .nth = n, .sticky = n % 2 == 0});
      EXPECT_OK(errors.db().WaitForCompaction());
      const bool is_hit = files.faults_hit() > 0;
      hits += files.faults_hit();
      errors.CheckPowerCut();
      errors.CheckComesBack();
      if (!is_hit || HasFailure()) break;
    }
    EXPECT_EQ(hits > 0, std::get<0>(GetParam())) << "only a mapped buffer has blocks to give back";
  }
}

// The next open publishes its own state in the file.
TEST_P(ErrorsTest, ClosesIfTheStateForOthersCannotBeRemoved) {
  Errors errors(std::get<0>(GetParam()));
  ASSERT_OK(errors.Open());
  errors.Work(kCommits / 2);
  errors.sim().PassTime(2);
  FaultFileSystem& files = *errors.sim().files;
  files.AddFault({.op = FileOp::kRemove, .path_contains = "LIVE", .sticky = true});
  EXPECT_OK(errors.Close());
  EXPECT_EQ(files.faults_hit(), 1u);
  files.ClearFaults();
  ASSERT_OK(errors.Open());
  errors.CheckComesBack();
}

// Under a light load, the process asks for the size of the file before it leaves an update out.
TEST_P(ErrorsTest, PutsGoOnIfTheSizeOfTheStateForOthersIsUnknown) {
  Errors errors(std::get<0>(GetParam()));
  ASSERT_OK(errors.Open());
  errors.Work(kCommits / 2);
  FaultFileSystem& files = *errors.sim().files;
  for (int i = 0; i < 20; ++i) {
    if (i == 10) files.AddFault({.op = FileOp::kSizeOf, .path_contains = "LIVE", .sticky = true});
    ASSERT_OK(errors.db().Put({}, "light load", std::to_string(i)));
    errors.sim().PassTime(3);
  }
  EXPECT_GT(files.faults_hit(), 0u);
  files.ClearFaults();
  ASSERT_OK(errors.db().Delete({}, "light load"));
  errors.CheckLive();
  ASSERT_OK(errors.Close());
}

TEST_P(ErrorsTest, NoticesReadsThatFindTooLittle) {
  const auto [use_mapping, when] = GetParam();
  const uint64_t seed = SeedOr(3);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  for (uint64_t n = 1; !HasFailure(); ++n) {
    SCOPED_TRACE("read " + std::to_string(n));
    Errors errors(use_mapping);
    if (when == When::kRecovery) {
      ASSERT_OK(errors.Open());
      errors.Work(kCommits / 2);
      errors.Kill();
    }
    errors.ShortenReads(n, random.Uniform(16), random.OneIn(2));
    if (Status status = errors.Open(); !status.ok()) {
      EXPECT_GT(errors.reads_shortened(), 0u) << status.ToString();
      errors.ShortenReads(0, 0, false);
      ASSERT_OK(errors.Open());
    }
    errors.Work(kCommits / 2);
    const uint64_t hits = errors.reads_shortened();
    TheTally().injected["short read"] += hits;
    TheTally().lives += hits > 0;
    if (hits == 0) break;
    errors.CheckComesBack();
  }
}

// An open that reads too little from CURRENT lists the directory to find the owner of the files; that call
// may fail too.
TEST_P(ErrorsTest, TellsOfATornCurrentAmongFilesThatCannotBeListed) {
  Errors errors(std::get<0>(GetParam()));
  ASSERT_OK(errors.Open());
  errors.Work(kCommits / 2);
  errors.Kill();
  FaultFileSystem* const files = errors.sim().files.get();
  for (uint64_t nth_list = 1; nth_list <= 4; ++nth_list) {
    for (uint64_t nth_read = 1; nth_read <= 4; ++nth_read) {
      errors.ShortenReads(nth_read, 8, false);
      files->AddFault({.op = FileOp::kList, .nth = nth_list});
      EXPECT_FALSE(errors.Open().ok() && errors.reads_shortened() == 0 && files->faults_hit() == 0);
      TheTally().injected["short read"] += errors.reads_shortened();
      errors.ShortenReads(0, 0, false);
      files->ClearFaults();
    }
  }
  ASSERT_OK(errors.Open());
  errors.CheckComesBack();
}

INSTANTIATE_TEST_SUITE_P(Lives, ErrorsTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(When::kFirstLife, When::kRecovery)));

TEST(ReadErrors, AreTheReadersOwnAndNeverWrongAnswers) {
  Errors errors;
  ASSERT_OK(errors.Open());
  errors.Work(kCommits);
  ASSERT_OK(errors.db().Flush());
  ASSERT_OK(errors.Close());
  FaultFileSystem& files = *errors.sim().files;
  for (const FileOp op : {FileOp::kRead, FileOp::kOpen, FileOp::kSizeOf, FileOp::kList, FileOp::kMap, FileOp::kLock}) {
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
        EXPECT_TRUE(status.IsIOError() || (status.ok() && Difference(found, errors.live()).empty()))
            << status.ToString();
      } else {
        EXPECT_TRUE(opened.IsIOError()) << opened.ToString();
      }
      const bool is_hit = files.faults_hit() > hits;
      files.ClearFaults();
      if (!opened.ok()) { ASSERT_OK(errors.Open()); }
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
    FaultFileSystem& files = *errors.sim().files;
    for (int round = 0; round < 4; ++round) {
      const uint64_t used = files.bytes_used();
      files.SetCapacity(used + (round % 2 == 0 ? 0 : 100'000));
      uint64_t refused = 0;
      for (int i = 0; i < 3000 && refused < 20; ++i) {
        const Status status = errors.WriteOne({});
        refused += status.IsNoSpace();
        ASSERT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
        errors.sim().executor.RunOne();
      }
      EXPECT_GT(refused, 0u);
      errors.CheckLive();
      if (HasFatalFailure()) return;
      EXPECT_LE(files.bytes_used(), used + 200'000);
      files.SetCapacity(UINT64_MAX);
      ASSERT_OK(errors.WriteOne({})) << "round " << round;
      errors.CheckLive();
      errors.CheckReopened(*SimulatedEnv::After(errors.sim(), CrashMode::kKill, CrashModel::kStrict, 1));
      ASSERT_OK(errors.db().WaitForCompaction());
    }
    errors.CheckComesBack();
  }
}

// Each call on STAGING fails once, while an open gives back what it holds without need.
TEST(DiskFull, AnOpenThatCannotGiveBackWhatStagingHoldsSaysSo) {
  for (const char* const file : {"STAGING", "MANIFEST"}) {
    for (uint64_t nth = 1; !HasFailure(); ++nth) {
      SCOPED_TRACE(file + std::to_string(nth));
      Errors errors;
      errors.DieOnAFullDisk();
      FaultFileSystem& files = *errors.sim().files;
      files.AddFault({.op = FileOp::kAny, .path_contains = file, .nth = nth});
      const Status status = errors.Open();
      const bool is_hit = files.faults_hit() > 0;
      EXPECT_TRUE(status.ok() || status.IsNoSpace() || (is_hit && status.IsIOError())) << status.ToString();
      errors.CheckLivesOn(status);
      if (!is_hit) break;
    }
  }
}

TEST(DiskFull, AnOpenThatCannotRemoveRecycledFilesSaysSo) {
  Errors errors;
  errors.DieOnAFullDisk();
  FaultFileSystem& files = *errors.sim().files;
  files.AddFault({.op = FileOp::kRemove, .path_contains = ".spare", .sticky = true});
  const Status status = errors.Open();
  EXPECT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
  EXPECT_GT(files.faults_hit(), 0u);
  errors.CheckLivesOn(status);
}

// An obsolete table that can neither be renamed nor removed is retried again and again. A single worker does
// all other work meanwhile.
TEST(RemovalErrors, DoNotKeepCompactionsAndOtherRemovalsFromGoingOn) {
  SimulatedEnv sim({.seed = 1, .parallelism = 1});
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  ASSERT_OK(db->Put({}, "key", std::string(1000, 'v')));
  ASSERT_OK(db->Flush());
  std::string stuck;
  for (const std::string& path : sim.files->Files()) {
    if (path.ends_with(".tbl")) stuck = path;
  }
  ASSERT_NE(stuck, "");
  sim.files->AddFault({.op = FileOp::kRename, .path_contains = stuck, .sticky = true});
  sim.files->AddFault({.op = FileOp::kRemove, .path_contains = stuck, .sticky = true});
  ASSERT_OK(db->Put({}, "key", "new"));
  ASSERT_OK(db->CompactRange(nullptr, nullptr));

  const auto count = [&](std::string_view ending) {
    return std::ranges::count_if(sim.files->Files(), [&](const std::string& path) { return path.ends_with(ending); });
  };
  for (int i = 0; i < 600; ++i) {
    for (int j = 0; j < 40; ++j)
      ASSERT_OK(db->Put({}, "key" + std::to_string((i * 40 + j) % 500), std::string(1000, 'v')));
    sim.clock.SleepNanos(200'000'000);  // longer than the first delay between retries
    sim.executor.RunTimers();
    sim.executor.RunAll(1'000'000);
    ASSERT_LT(count(".tbl"), 150) << "no compaction in round " << i;
  }
  EXPECT_OK(sim.files->SizeOf(stuck).status());
  EXPECT_THAT(db->WaitForCompaction(), StatusIs(Code::kIOError)) << "the space is not given back";
  sim.PassTime(60);
  EXPECT_EQ(count(".spare"), 0) << "at rest all the others are removed";
  sim.files->ClearFaults();
  sim.PassTime(10);
  EXPECT_OK(db->WaitForCompaction());
  EXPECT_TRUE(sim.files->SizeOf(stuck).status().IsNotFound());
}

// An unknown file size is an error of the open. If a WAL segment whose fstat failed counted as empty, the
// open would continue without its commits, including synced ones, and remove it.
TEST(RecoveryErrors, ASegmentOfUnknownSizeIsNotAnEmptyOne) {
  for (uint64_t n = 1; n <= 40; ++n) {
    SCOPED_TRACE("size " + std::to_string(n));
    Errors errors(false);
    ASSERT_OK(errors.Open());
    errors.Work(20);
    errors.Kill();
    errors.sim().files->AddFault({.op = FileOp::kSizeOf, .path_contains = ".seg", .nth = n});
    const bool is_open = errors.Open().ok();
    errors.sim().files->ClearFaults();
    if (!is_open) { ASSERT_OK(errors.Open()); }
    errors.CheckLive();
    if (HasFailure()) return;
  }
}

// A close makes the MANIFEST's end durable last: whatever fails in it, the next open finds everything; after
// OK a power cut loses nothing.
TEST(CloseErrors, LoseNothing) {
  for (const FileOp op :
       {FileOp::kCreate, FileOp::kWrite, FileOp::kSync, FileOp::kClose, FileOp::kRename, FileOp::kRemove}) {
    for (uint64_t n = 1; n < 50; ++n) {
      SCOPED_TRACE(std::string(OpName(op)) + " " + std::to_string(n));
      Errors errors;
      ASSERT_OK(errors.Open());
      errors.Work(20);
      FaultFileSystem& files = *errors.sim().files;
      files.AddFault({.op = op, .nth = n});
      const Status status = errors.Close();
      const bool is_hit = files.faults_hit() > 0;
      EXPECT_TRUE(status.ok() || is_hit) << status.ToString();
      files.ClearFaults();
      if (status.ok())
        errors.CheckReopened(*SimulatedEnv::After(errors.sim(), CrashMode::kMin, CrashModel::kStrict, 1));
      errors.CheckReopened(errors.sim());
      if (!is_hit || HasFailure()) break;
    }
  }
}

// The owner of an incomplete MANIFEST is known from its bytes: an open that cannot read them fails and
// changes nothing.
TEST(CreationErrors, TheMarksOfOthersCannotBeRead) {
  struct Unreadable {
    FileOp op;
    bool has_size;
  };
  for (const auto& [op, has_size] : {Unreadable{FileOp::kOpen, true}, {FileOp::kOpen, false}, {FileOp::kRead, true}}) {
    for (uint64_t n = 1; n < 50; ++n) {
      SCOPED_TRACE(std::string(OpName(op)) + " " + std::to_string(n) + (has_size ? "" : ", then no size"));
      Errors errors;
      FaultFileSystem& files = *errors.sim().files;
      files.AddFault({.op = FileOp::kRename, .path_contains = "CURRENT"});
      EXPECT_THAT(errors.Open(), testing::StatusIs(Code::kIOError));
      files.ClearFaults();
      files.AddFault({.op = op, .path_contains = "MANIFEST", .nth = n});
      // An open that fails asks for the size: a directory of that name is no mark.
      if (!has_size) files.AddFault({.op = FileOp::kSizeOf, .path_contains = "MANIFEST", .sticky = true});
      const Status status = errors.Open();
      const bool is_hit = files.faults_hit() > 0;
      EXPECT_TRUE(status.ok() || (is_hit && status.IsIOError())) << status.ToString();
      files.ClearFaults();
      ASSERT_OK(errors.Open());
      errors.Work(5);
      errors.CheckLive();
      if (!is_hit || HasFailure()) break;
    }
  }
}

class DestroyErrors : public ::testing::TestWithParam<bool> {};

// The parameter: CURRENT exists.
TEST_P(DestroyErrors, LeaveWhatTheNextDestroyTakes) {
  for (const FileOp op : {FileOp::kOpen, FileOp::kRead, FileOp::kRemove, FileOp::kSizeOf, FileOp::kLock, FileOp::kList,
                          FileOp::kRemoveDirectory}) {
    for (uint64_t n = 1; n < 50; ++n) {
      SCOPED_TRACE(std::string(OpName(op)) + " " + std::to_string(n));
      Errors errors;
      ASSERT_OK(errors.Open());
      errors.Work(20);
      ASSERT_OK(errors.Close());
      FaultFileSystem& files = *errors.sim().files;
      if (!GetParam()) { ASSERT_OK(files.Remove(std::string(SimulatedEnv::kPath) + "/CURRENT")); }
      files.AddFault({.op = op, .nth = n});
      const Status status = errors.Destroy();
      const bool is_hit = files.faults_hit() > 0;
      EXPECT_TRUE(status.ok() || (is_hit && status.IsIOError())) << status.ToString();
      files.ClearFaults();
      const Status again = errors.Destroy();
      EXPECT_TRUE(again.ok() || again.IsNotFound()) << again.ToString();
      for (const std::string& left : files.Files()) EXPECT_TRUE(left.ends_with("/LOCK")) << left;
      if (!is_hit || HasFailure()) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Current, DestroyErrors, ::testing::Bool());

// No error of LOG fails a call. LOG keeps its bound, and goes on with whole lines when the error is gone.
TEST(LogErrors, FailNothing) {
  const uint64_t seed = SeedOr(23);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  for (const FileOp op : {FileOp::kOpen, FileOp::kCreate, FileOp::kRead, FileOp::kWrite, FileOp::kTruncate,
                          FileOp::kSizeOf, FileOp::kRename, FileOp::kClose, FileOp::kAny}) {
    bool was_hit = true;
    for (uint64_t n = 1; was_hit && !::testing::Test::HasFailure(); ++n) {
      const Fault fault{.op = op,
                        .path_contains = "/LOG",
                        .nth = n,
                        .sticky = random.OneIn(2),
                        .status = AnyError(random),
                        .partial_bytes = random.OneIn(2) ? 0 : random.Uniform(300),
                        .has_happened = random.OneIn(4)};
      SCOPED_TRACE(Describe(fault));
      Errors errors(true, 11, kSmallLogBytes);
      FaultFileSystem& files = *errors.sim().files;
      ASSERT_OK(errors.Open());  // an open that finds no database reads LOG, which may be RocksDB's
      ASSERT_OK(errors.Close());
      ASSERT_OK(files.Remove(SimulatedEnv::kPath + "/LOG"));
      const bool is_new = op == FileOp::kCreate && n == 1;  // then the first LOG cannot be created
      ASSERT_OK(is_new ? Status() : WriteNearlyFullLog(files, SimulatedEnv::kPath));
      files.AddFault(fault);
      // A write that fails in between leaves a beginning of a line, which the next attempt has to cut off.
      if (op == FileOp::kTruncate)
        files.AddFault({.op = FileOp::kWrite, .path_contains = "/LOG", .partial_bytes = 100});
      ASSERT_OK(errors.Open());
      for (int i = 0; i < 5; ++i) {
        errors.Work(8);
        errors.sim().clock.SleepNanos(1'100'000'000);  // after an error, LOG waits a second
        ASSERT_OK(errors.db().Flush());
        EXPECT_EQ(errors.failed(), 0u);
        EXPECT_EQ(LogProblem(ReadLog(files, SimulatedEnv::kPath), kSmallLogBytes, TornLines::kAnything), "");
      }
      errors.CheckLive();
      was_hit = files.faults_hit() > (op == FileOp::kTruncate ? 1u : 0u);
      files.ClearFaults();
      errors.sim().clock.SleepNanos(kLongSleepNanos);
      errors.Work(8);
      ASSERT_OK(errors.Close());
      const LogFiles log = ReadLog(files, SimulatedEnv::kPath);
      EXPECT_EQ(LogProblem(log, kSmallLogBytes), "");
      EXPECT_NE(log.current.find("\"event\":\"close\""), std::string::npos) << log.current;
      errors.CheckReopened(errors.sim());
    }
  }
}

// The call sites that all tests together reached, printed at the end; with the standard seeds every site that the
// workload reaches must have failed. Another seed fails other calls.
class CallSites : public ::testing::Environment {
 public:
  void TearDown() override {
    const Tally& tally = TheTally();
    if (tally.lives < 1000) return;  // only a part of the tests has run
    std::vector<uintptr_t> addresses;
    for (const auto& [address, site] : tally.sites) addresses.push_back(address);
    const std::vector<std::string> lines = SourceLines(addresses);
    std::map<std::string, Tally::Site> reached;
    for (size_t i = 0; i < lines.size(); ++i) {
      const Tally::Site& site = tally.sites.at(addresses[i]);
      Tally::Site& sum = reached[lines[i]];
      sum.point = site.point;
      sum.calls += site.calls;
      sum.failures += site.failures;
    }
    size_t failed = 0;
    for (const auto& [line, site] : reached) {
      failed += site.failures > 0;
      if (line.starts_with("src/") && !SeedOfCaller()) {
        EXPECT_GT(site.failures, 0u) << line << " (" << site.point << ") was reached " << site.calls
                                     << " times and never failed";
      }
    }
    for (const auto& line : CallSitesInSources(MERGEDB_SOURCE_ROOT)) {
      if (!IsReached(reached, line)) std::cout << "not reached here: " << line << "\n";
    }
    uint64_t injected = 0;
    for (const auto& [status, count] : tally.injected) {
      injected += count;
      std::cout << status << " " << count << "; ";
    }
    std::cout << injected << " errors injected in " << tally.lives << " lives; " << reached.size()
              << " call sites reached, " << failed << " of them failed\n";
  }

 private:
  // The compiler may assign the call to the line before or after the line that the source search found.
  static bool IsReached(const std::map<std::string, Tally::Site>& reached, const std::string& line) {
    const size_t colon = line.rfind(':');
    const int number = std::stoi(line.substr(colon + 1));
    for (int near = number - 1; near <= number + 1; ++near) {
      if (reached.contains(line.substr(0, colon + 1) + std::to_string(near))) return true;
    }
    return false;
  }
};
const auto* const kCallSites = ::testing::AddGlobalTestEnvironment(new CallSites);

}  // namespace
}  // namespace mergedb::testing
