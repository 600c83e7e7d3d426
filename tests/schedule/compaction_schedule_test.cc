// Compactions that run beside each other: each CompactRange has compacted its range when it returns OK, and a
// deleted key stays deleted for every order of a pick and the end of a job. Method: schedules of
// testing/explore.h.
#include <gtest/gtest.h>

#include "base/sync.h"
#include "db/state/version_set.h"
#include "testing/explore.h"
#include "testing/scheduled_env.h"
#include "testing/seed.h"

namespace mergedb::testing::compaction_schedule_test {
namespace {

std::string Key(char prefix, int i) { return prefix + std::to_string(1000 + i); }

struct Range {
  std::string lower, upper;
  explicit Range(char prefix) : lower(1, prefix), upper(1, static_cast<char>(prefix + 1)) {}
};

Status Compact(DB& db, const Range& range) {
  const std::string_view lower = range.lower, upper = range.upper;
  return db.CompactRange(&lower, &upper);
}

// Tables hold keys of three ranges; newer tables delete them all. A compaction of a range leaves nothing of
// it.
void CompactTwoRanges(Scheduler& scheduler) {
  ScheduledEnv sim(scheduler);
  const auto db = sim.Open();
  if (db == nullptr) return;
  for (const char prefix : {'a', 'm', 'z'}) {
    for (int i = 0; i < 8; ++i) sim.Expect(db->Put({}, Key(prefix, i), std::string(400, 'v')), "put");
  }
  sim.Expect(db->Flush(), "flush");
  for (const char prefix : {'a', 'm'}) {
    for (int i = 0; i < 8; ++i) sim.Expect(db->Delete({}, Key(prefix, i)), "delete");
  }
  sim.Expect(db->Flush(), "flush");

  for (const char prefix : {'a', 'm'}) {
    scheduler.Spawn(std::string("compact ") + prefix, [&, prefix] {
      const Range range(prefix);
      sim.Expect(Compact(*db, range), "compact");
      const uint64_t left = db->ApproximateSizes({{.lower = range.lower, .upper = range.upper}})[0];
      if (left > 0)
        scheduler.Fail("CompactRange returned OK and left " + std::to_string(left) + " bytes of " + range.lower);
    });
  }
  scheduler.JoinAll();
}

TEST(CompactionSchedule, EachOfTwoCompactRangesHasDoneItsRange) {
  const Explored explored = Explore({.name = "CompactTwoRanges",
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(400, 15'000),
                                     .random_runs = Sized(200, 8'000),
                                     .seed = SeedOr(1)},
                                    CompactTwoRanges);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

// Style cascade: a pick compacts four flushed sorted runs while a scan-triggered compaction takes a part of
// them into the oldest run. A reader passed over very many deletes; all runs with those keys are compacted
// there.
//
//   flushed   d           deletes an a*                     the pick: compact these four; is anything older below them?
//   flushed   w           holds that a*, newer than the deletes that the reader sees, and a b*
//   flushed   q p         hold b* alone
//   oldest    z           holds z* alone                    scan-triggered, begun before d: w's a* goes here
//
// If a pick read the SuperVersion before that job installs and the running compactions after it ended, it
// would see nothing below the four.
void PickBesideTombstoneScan(Scheduler& scheduler) {
  constexpr int kDeletes = 2'200;        // more than iterator/tombstone_scan.h requires
  constexpr int kTombstoneScan = 2'000;  // the tombstone scan may leave out the first deletes
  ScheduledEnv sim(scheduler);
  Options options = sim.SmallOptions();
  options.style = Style::kCascade;
  options.memory_bytes = 2 << 20;
  options.write_buffer_bytes = 512 << 10;  // a memtable holds all the deletes
  const auto db = sim.Open(options);
  if (db == nullptr) return;
  for (int i = 0; i < 30; ++i) sim.Expect(db->Put({}, Key('z', i), std::string(70'000, 'z')), "put");
  sim.Expect(db->CompactRange(nullptr, nullptr), "compact");
  for (int i = 0; i < 2; ++i) {
    sim.Expect(db->Put({}, Key('b', i), "stays"), "put");
    sim.Expect(db->Flush(), "flush");
  }
  WriteBatch deletes;
  for (int i = 0; i < kDeletes; ++i) deletes.Delete(Key('a', i));
  sim.Expect(db->Write({}, deletes), "write");
  auto reader = db->NewIterator();  // sees the deletes, and nothing after them
  sim.Expect(db->Put({}, Key('a', kTombstoneScan), "deleted"), "put");
  sim.Expect(db->Put({}, Key('b', 2), "stays"), "put");
  sim.Expect(db->Flush(), "flush");

  scheduler.Spawn("read", [&] { reader->SeekToFirst(); });
  scheduler.Spawn("delete", [&] {
    sim.Expect(db->Delete({}, Key('a', kTombstoneScan)), "delete");
    sim.Expect(db->Flush(), "flush");
  });
  scheduler.JoinAll();
  reader = nullptr;
  sim.Expect(db->WaitForCompaction(), "wait");
  std::string value;
  if (!db->Get({}, Key('a', kTombstoneScan), &value).IsNotFound())
    scheduler.Fail("a deleted key exists again: " + value);
}

TEST(CompactionSchedule, ADeletedKeyStaysDeletedBesideATombstoneScanCompaction) {
  const Explored explored = Explore({.name = "PickBesideTombstoneScan",
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(300, 10'000),
                                     .random_runs = Sized(50, 1'000),
                                     .only_at = {"install a version", "pick between two checks"},
                                     .seed = SeedOr(1)},
                                    PickBesideTombstoneScan);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

// A CompactRange starts while a scan-triggered compaction of the same sorted runs, for other keys, ends. A
// reader passed over very many deletes; the compaction for it has taken all runs, in a*. Its last step
// removes the newest run, which has no other keys.
//
//   newest    deletes of a*                        scan-triggered: a* of these three; CompactRange: m* of these three
//   middle    deletes of the first a*, and m*      the scan-triggered compaction leaves the first 64 out
//   oldest    holds a*, m* and z*
void CompactBesideTheEndOfATombstoneScan(Scheduler& scheduler) {
  constexpr int kFirst = 100;
  constexpr int kDeletes = 2'200;  // more than iterator/tombstone_scan.h requires
  ScheduledEnv sim(scheduler);
  Options options = sim.SmallOptions();
  options.memory_bytes = 2 << 20;
  options.write_buffer_bytes = 512 << 10;  // a memtable holds all the deletes
  const auto db = sim.Open(options);
  if (db == nullptr) return;
  for (const char prefix : {'a', 'm', 'z'}) {
    sim.Expect(db->Put({}, Key(prefix, 0), std::string(70'000, prefix)), "put");
  }
  sim.Expect(db->CompactRange(nullptr, nullptr), "compact");
  sim.Expect(db->Put({}, Key('m', 0), "new"), "put");
  for (const auto& [begin, end] : {std::pair(0, kFirst), std::pair(kFirst, kDeletes)}) {
    WriteBatch deletes;
    for (int i = begin; i < end; ++i) deletes.Delete(Key('a', i));
    sim.Expect(db->Write({}, deletes), "write");
    sim.Expect(db->Flush(), "flush");
  }
  auto reader = db->NewIterator();

  scheduler.Spawn("read", [&] { reader->SeekToFirst(); });
  scheduler.Spawn("compact m", [&] {
    const std::string lower = Key('m', 0);  // where the scan-triggered compaction ends
    const std::string_view bounds[] = {lower, "n"};
    sim.Expect(db->CompactRange(&bounds[0], &bounds[1]), "compact");
  });
  scheduler.JoinAll();
  reader = nullptr;
  sim.Expect(db->WaitForCompaction(), "wait");
  std::string value;
  if (!db->Get({}, Key('a', 0), &value).IsNotFound()) scheduler.Fail("a deleted key exists again");
  if (!db->Get({}, Key('m', 0), &value).ok() || value != "new") scheduler.Fail("the newest value is gone");
}

TEST(CompactionSchedule, ACompactionStartsFromTheVersionThatItWasClaimedOn) {
  const Explored explored = Explore({.name = "CompactBesideTheEndOfATombstoneScan",
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(300, 10'000),
                                     .random_runs = Sized(50, 1'000),
                                     .only_at = {"install a version", "start a claimed job"},
                                     .seed = SeedOr(1)},
                                    CompactBesideTheEndOfATombstoneScan);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

// CompactRange waits only for compactions of its own keys: it returns while a scan-triggered compaction of
// other keys runs.
void CompactBesideALongTombstoneScan(Scheduler& scheduler) {
  constexpr int kDeletes = 2'200;  // more than iterator/tombstone_scan.h requires
  ScheduledEnv sim(scheduler);
  Options options = sim.SmallOptions();
  options.memory_bytes = 2 << 20;
  options.write_buffer_bytes = 512 << 10;  // a memtable holds all the deletes
  const auto db = sim.Open(options);
  if (db == nullptr) return;
  for (const char prefix : {'a', 'm', 'z'}) {
    sim.Expect(db->Put({}, Key(prefix, 0), std::string(70'000, prefix)), "put");
  }
  sim.Expect(db->CompactRange(nullptr, nullptr), "compact");
  WriteBatch deletes;
  for (int i = 0; i < kDeletes; ++i) deletes.Delete(Key('a', i));
  deletes.Put(Key('m', 0), "new");
  sim.Expect(db->Write({}, deletes), "write");
  sim.Expect(db->Flush(), "flush");
  auto reader =
      db->NewIterator();  // passes over the deletes; does not see the next key, from which the compaction makes a table
  sim.Expect(db->Put({}, Key('a', kDeletes - 1), "stays"), "put");
  sim.Expect(db->Flush(), "flush");

  bool is_compacting_tombstones = false, is_compacted = false;
  sim.files->SetOpHook([&](uint64_t, const char*, const std::string& path) {
    if (!path.ends_with(".tbl") || is_compacting_tombstones) return;
    is_compacting_tombstones = true;
    for (int i = 0; i < 1'000 && !is_compacted; ++i) scheduler.clock()->SleepNanos(10'000'000);
    if (!is_compacted) scheduler.Fail("CompactRange waits for a compaction of other keys");
    is_compacted = true;
  });
  scheduler.Spawn("read", [&] { reader->SeekToFirst(); });
  scheduler.Spawn("compact m", [&] {
    while (!is_compacting_tombstones) scheduler.clock()->SleepNanos(1'000'000);
    const std::string lower = Key('m', 0);  // where the scan-triggered compaction ends
    const std::string_view bounds[] = {lower, "n"};
    sim.Expect(db->CompactRange(&bounds[0], &bounds[1]), "compact");
    is_compacted = true;
  });
  scheduler.JoinAll();
  sim.files->SetOpHook(nullptr);
}

TEST(CompactionSchedule, CompactRangeDoesNotWaitForCompactionsOfOtherKeys) {
  const Explored explored = Explore({.name = "CompactBesideALongTombstoneScan", .deviations_max = 0, .seed = SeedOr(1)},
                                    CompactBesideALongTombstoneScan);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

// Wakes a thread when background work logs an error.
class ErrorLog final : public Logger {
 public:
  void Log(std::string_view) override {
    base::Lock lock(mutex_);
    has_error_ = true;
    changed_.NotifyAll();
  }
  void Wait() {
    base::Lock lock(mutex_);
    while (!has_error_) changed_.Wait(lock);
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  bool has_error_ GUARDED_BY(mutex_) = false;
};

// CompactRange cannot read a table. Another call, of other keys, finds the table readable again: at any moment, also
// between the pick that finds the first call blocked and the end of that call.
void ProbeBesideABlockedCompactRange(Scheduler& scheduler) {
  ErrorLog log;
  ScheduledEnv sim(scheduler);
  Options options = sim.SmallOptions();
  options.env.logger = &log;
  const auto db = sim.Open(options);
  if (db == nullptr) return;
  for (int i = 0; i < 8; ++i) sim.Expect(db->Put({}, Key('a', i), std::string(400, 'v')), "put");
  sim.Expect(db->Flush(), "flush");
  for (const std::string& path : sim.files->Files()) {
    if (path.ends_with(".tbl")) sim.files->AddFault({.op = FileOp::kRead, .path_contains = path, .sticky = true});
  }
  for (int i = 0; i < 8; ++i) sim.Expect(db->Delete({}, Key('a', i)), "delete");
  sim.Expect(db->Flush(), "flush");

  scheduler.Spawn("compact a", [&] {
    const Range range('a');
    const Status status = Compact(*db, range);
    if (status.IsIOError()) return;
    sim.Expect(status, "compact");
    const uint64_t left = db->ApproximateSizes({{.lower = range.lower, .upper = range.upper}})[0];
    if (left > 0) scheduler.Fail("CompactRange returned OK and left " + std::to_string(left) + " bytes");
  });
  scheduler.Spawn("compact m", [&] {
    log.Wait();
    sim.files->ClearFaults();
    sim.Expect(Compact(*db, Range('m')), "compact");
  });
  scheduler.JoinAll();
}

TEST(CompactionSchedule, ABlockedCompactRangeBesideAProbeFailsOrHasDoneItsRange) {
  const Explored explored = Explore({.name = "ProbeBesideABlockedCompactRange",
                                     .deviations_max = 2,
                                     .only_at = {"pick between two checks", "account for a pick"},
                                     .seed = SeedOr(1)},
                                    ProbeBesideABlockedCompactRange);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
  EXPECT_TRUE(explored.is_complete);
}

// The end of a compaction drops a table; a commit begins and ends beside it. The bytes of the table count as those of
// the commit that names the version without it.
void CommitBesideAnInstall(Scheduler& scheduler) {
  const kv::Order order{BytewiseComparator()};
  db::VersionSet version_set(order, std::make_shared<const version::Version>(), kv::FileNumber{10}, kv::Position{1},
                             {.epoch = 1, .sequence = 1});
  const auto memtable = [&] { return std::make_shared<memtable::Memtable>(order, memtable::NewMemory(64 << 10)); };
  version_set.SwitchMemtable(memtable(), {});
  version_set.SwitchMemtable(memtable(), {.epoch = 1, .position = 100, .sequence = 100});
  auto table = std::make_shared<format::FileMeta>();
  table->number = version_set.AllocateNumber();
  table->bytes = 5'000;
  table->entries = table->smallest_sequence = table->largest_sequence = 1;
  table->smallest = "a";
  table->largest = "z";
  if (!version_set.InstallFlush(table).ok()) return scheduler.Fail("the flush");
  version_set.EndCommit(version_set.BeginCommit(), true);

  scheduler.Spawn("install", [&] {
    format::VersionEdit edit;
    edit.cuts = {{.position = kv::Position{1}, .bounds = {}}};
    if (!version_set.Install(edit).ok()) scheduler.Fail("the install");
  });
  scheduler.Spawn("commit", [&] { version_set.EndCommit(version_set.BeginCommit(), true); });
  scheduler.JoinAll();
  if (version_set.HasUncommitted() != (version_set.uncommitted_obsolete_bytes() == 5'000))
    scheduler.Fail("no commit names the version, and the obsolete bytes are " +
                   std::to_string(version_set.uncommitted_obsolete_bytes()));
}

TEST(CompactionSchedule, ObsoleteBytesBelongToTheCommitThatDropsThem) {
  const Explored explored =
      Explore({.name = "CommitBesideAnInstall", .deviations_max = 2, .seed = SeedOr(1)}, CommitBesideAnInstall);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
  EXPECT_TRUE(explored.is_complete);
}

}  // namespace
}  // namespace mergedb::testing::compaction_schedule_test
