// The database as a whole, through the public C++ interface, on files in memory; the test runs background
// work itself. Method: behaviours by example; then random operations beside a model, with several sets of
// options.
#include "mergedb/db.h"

#include <gtest/gtest.h>

#include <map>

#include "testing/counters.h"
#include "testing/reverse_comparator.h"
#include "testing/simulated_db.h"
#include "testing/status_matchers.h"
#include "testing/watched_file_system.h"

namespace mergedb::db_test {
namespace {

using testing::SimulatedEnv;

std::string Key(uint64_t i) { return testing::NumberedKey("key", i, 8); }

std::map<std::string, std::string> Contents(DB& db, const IteratorOptions& options = {}) {
  std::map<std::string, std::string> contents;
  auto it = db.NewIterator(options);
  for (it->SeekToFirst(); it->Valid(); it->Next()) contents.emplace(it->key(), it->value());
  EXPECT_OK(it->status());
  std::map<std::string, std::string> backward;
  for (it->SeekToLast(); it->Valid(); it->Prev()) backward.emplace(it->key(), it->value());
  EXPECT_OK(it->status());
  EXPECT_EQ(contents, backward);
  return contents;
}

class DbTest : public testing::SimulatedDb {};

TEST_F(DbTest, AnswersWhatWasPut) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  ASSERT_OK(db_->Put({}, "", "empty key"));
  ASSERT_OK(db_->Put({}, std::string("\0\xff", 2), ""));
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get(""), "empty key");
  EXPECT_EQ(Get(std::string("\0\xff", 2)), "");
  EXPECT_EQ(Get("b"), "NotFound");
  ASSERT_OK(db_->Delete({}, "a"));
  EXPECT_EQ(Get("a"), "NotFound");
}

// A memtable holds about 27 of these values: two memtables become immutable, and no background work flushes
// them.
TEST_F(DbTest, ReadsTheNewestOfSeveralImmutableMemtables) {
  for (uint64_t i = 0; i < 60; ++i) {
    if (i == 5) {
      ASSERT_OK(db_->Put({}, "key", "in the older"));
      ASSERT_OK(db_->Put({}, "gone", "in the older"));
    } else if (i == 40) {
      ASSERT_OK(db_->Put({}, "key", "in the newer"));
      ASSERT_OK(db_->Delete({}, "gone"));
    }
    ASSERT_OK(db_->Put({}, Key(i), std::string(1'000, 'v')));
  }
  EXPECT_EQ(testing::Counter(*db_, "flushes"), 0u);
  EXPECT_EQ(Get("key"), "in the newer");
  EXPECT_EQ(Get("gone"), "NotFound");
}

TEST_F(DbTest, KeepsWhatWasPutThroughFlushCompactionAndReopen) {
  std::map<std::string, std::string> expected;
  for (uint64_t i = 0; i < 5000; ++i) {
    const std::string key = Key(i * 7919 % 2000), value(100, static_cast<char>('a' + i % 26));
    ASSERT_OK(db_->Put({}, key, value));
    expected[key] = value;
  }
  EXPECT_EQ(Contents(*db_), expected);
  ASSERT_OK(db_->Flush());
  EXPECT_EQ(Contents(*db_), expected);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  EXPECT_EQ(Contents(*db_), expected);
  Reopen();
  EXPECT_EQ(Contents(*db_), expected);
  ASSERT_OK(db_->CheckIntegrity());
}

TEST_F(DbTest, ShowsABatchWholeOrNotAtAll) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "2");
  batch.Delete("a");
  ASSERT_OK(db_->Write({}, batch));
  EXPECT_EQ(Get("a"), "NotFound");
  EXPECT_EQ(Get("b"), "2");
}

TEST_F(DbTest, AppliesABatchLargerThanAMemtable) {
  WriteBatch batch;
  std::map<std::string, std::string> expected;
  for (uint64_t i = 0; i < 4000; ++i) {
    expected[Key(i)] = std::string(200, static_cast<char>('a' + i % 26));
    batch.Put(Key(i), expected[Key(i)]);
  }
  const auto before = db_->GetSnapshot();
  ASSERT_OK(db_->Write({}, batch));
  EXPECT_EQ(Contents(*db_), expected);
  EXPECT_TRUE(Contents(*db_, {.read = {.snapshot = before.get()}}).empty());
  Reopen();
  EXPECT_EQ(Contents(*db_), expected);
}

TEST_F(DbTest, TakesValuesLargerThanAMemtable) {
  const std::string large(3 << 20, 'v');
  ASSERT_OK(db_->Put({}, "large", large));
  ASSERT_OK(db_->Put({}, "small", "s"));
  EXPECT_EQ(Get("large"), large);
  ASSERT_OK(db_->Flush());
  EXPECT_EQ(Get("large"), large);
  Reopen();
  EXPECT_EQ(Get("large"), large);
  EXPECT_EQ(Get("small"), "s");
}

TEST_F(DbTest, ReadsASnapshotThroughOverwritesFlushesAndCompactions) {
  for (uint64_t i = 0; i < 500; ++i) ASSERT_OK(db_->Put({}, Key(i), "old"));
  auto snapshot = db_->GetSnapshot();
  for (int round = 0; round < 4; ++round) {
    for (uint64_t i = 0; i < 500; ++i) {
      ASSERT_OK(i % 3 == 0 ? db_->Delete({}, Key(i)) : db_->Put({}, Key(i), "new" + std::string(200, 'n')));
    }
    ASSERT_OK(db_->Flush());
  }
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  EXPECT_EQ(Get(Key(0), {.snapshot = snapshot.get()}), "old");
  EXPECT_EQ(Contents(*db_, {.read = {.snapshot = snapshot.get()}}).size(), 500u);
  EXPECT_EQ(Get(Key(0)), "NotFound");
  std::string text;
  ASSERT_TRUE(db_->GetProperty("mergedb.snapshots", &text));
  EXPECT_NE(text.find("1 snapshots"), std::string::npos) << text;
}

TEST_F(DbTest, BoundsAnIteratorBelowAboveAndByPrefix) {
  for (const char* key : {"a", "b1", "b2", "b3", "c"}) ASSERT_OK(db_->Put({}, key, key));
  EXPECT_EQ(Contents(*db_, {.lower = "b2"}).begin()->first, "b2");
  EXPECT_EQ(Contents(*db_, {.upper = "b2"}).rbegin()->first, "b1");
  EXPECT_EQ(Contents(*db_, {.prefix = "b"}).size(), 3u);
  EXPECT_EQ(Contents(*db_, {.upper = "b3", .prefix = "b"}).size(), 2u);
  auto it = db_->NewIterator();
  it->SeekForPrev("b9");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "b3");
}

TEST_F(DbTest, TurnsHandlesThatOutliveItIntoErrors) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  auto it = db_->NewIterator();
  auto snapshot = db_->GetSnapshot();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  ASSERT_OK(db_->Close());
  EXPECT_FALSE(it->Valid());
  it->Next();
  EXPECT_TRUE(it->status().IsShuttingDown());
  std::string value;
  EXPECT_TRUE(db_->Get({}, "a", &value).IsShuttingDown());
  EXPECT_TRUE(db_->Put({}, "a", "2").IsShuttingDown());
  EXPECT_TRUE(db_->NewIterator()->status().IsShuttingDown());
  ASSERT_OK(db_->Close());
  db_ = nullptr;  // before the iterator and the snapshot
}

TEST_F(DbTest, RefusesASnapshotOfAnotherDatabase) {
  SimulatedEnv other_sim;
  auto other = other_sim.Open();
  ASSERT_OK(other.status());
  auto snapshot = (*other)->GetSnapshot();
  EXPECT_EQ(Get("a", {.snapshot = snapshot.get()}), "InvalidArgument");
}

TEST_F(DbTest, HonoursTheOpenMode) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  EXPECT_TRUE(DB::Open(options_, SimulatedEnv::kPath).status().IsBusy());
  db_ = nullptr;
  options_.mode = OpenMode::kMustNotExist;
  EXPECT_TRUE(DB::Open(options_, SimulatedEnv::kPath).status().IsInvalidArgument());
  options_.mode = OpenMode::kMustExist;
  EXPECT_TRUE(DB::Open(options_, "/absent").status().IsNotFound());
  options_.mode = OpenMode::kReadOnly;
  const uint64_t before = sim_.files->Fingerprint();
  Reopen();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(db_->Put({}, "a", "2").code(), Code::kNotSupported);
  EXPECT_EQ(db_->Flush().code(), Code::kNotSupported);
  db_ = nullptr;
  EXPECT_EQ(sim_.files->Fingerprint(), before);
}

// A reader beside the writer's write sees a part of it: the record is incomplete, or only its second copy is
// complete.
TEST_F(DbTest, AReadOnlyOpenReportsNoDamageWhereAWriterWasWriting) {
  const std::string manifest = SimulatedEnv::kPath + "/MANIFEST-000001";
  ASSERT_OK(db_->Put({}, "a", "1"));
  ASSERT_OK(db_->Flush());
  ASSERT_OK_AND_ASSIGN(const std::string before, sim_.files->ReadWhole(manifest));
  ASSERT_OK(db_->Put({}, "b", "2"));
  ASSERT_OK(db_->Flush());
  ASSERT_OK_AND_ASSIGN(const std::string after, sim_.files->ReadWhole(manifest));
  ASSERT_EQ(before.size(), after.size());
  const auto changed = std::mismatch(before.begin(), before.end(), after.begin());
  const size_t at = static_cast<size_t>(changed.first - before.begin()) + 20;
  for (const std::string& half : {after.substr(0, at) + before.substr(at), before.substr(0, at) + after.substr(at)}) {
    for (const bool is_finished : {true, false}) {
      SCOPED_TRACE((half.starts_with(after.substr(0, at)) ? "unfinished" : "first copy damaged") +
                   std::string(is_finished ? ", then whole" : ""));
      ASSERT_OK(sim_.files->WriteWhole(manifest, half));
      const auto finish = [&](const testing::FileCall& call, size_t*) {
        return call.op == testing::FileOp::kList && is_finished ? sim_.files->WriteWhole(manifest, after) : Status();
      };
      testing::WatchedFileSystem watched(sim_.files.get(), {.before = finish});
      Options options = options_;
      options.mode = OpenMode::kReadOnly;
      options.env.file_system = &watched;
      ASSERT_OK_AND_ASSIGN(const auto reader, DB::Open(options, SimulatedEnv::kPath));
      std::string report, value;
      ASSERT_TRUE(reader->GetProperty("mergedb.recovery", &report));
      EXPECT_EQ(report.empty(), is_finished) << report;
      EXPECT_OK(reader->Get({}, "a", &value));
      EXPECT_OK(reader->Get({}, "b", &value));
    }
  }
  ASSERT_OK(sim_.files->WriteWhole(manifest, after));
}

TEST_F(DbTest, LoadsInOrderWithoutMerging) {
  options_.blob_value_bytes_min = 0;  // otherwise the tables of blob indexes are small enough to be compacted
  Reopen();
  for (uint64_t i = 0; i < 20000; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(100, 'v')));
  ASSERT_OK(db_->Flush());
  ASSERT_OK(db_->WaitForCompaction());
  std::string merges, runs;
  ASSERT_TRUE(db_->GetProperty("mergedb.compactions", &merges));
  ASSERT_TRUE(db_->GetProperty("mergedb.runs", &runs));
  EXPECT_EQ(merges, "0");
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'), 1) << runs;
}

TEST_F(DbTest, GivesTheSpaceBackWhenEverythingIsDeleted) {
  for (uint64_t i = 0; i < 5000; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(200, 'v')));
  ASSERT_OK(db_->Flush());
  for (uint64_t i = 0; i < 5000; ++i) ASSERT_OK(db_->Delete({}, Key(i)));
  ASSERT_OK(db_->Flush());
  ASSERT_OK(db_->WaitForCompaction());
  std::string bytes, stats;
  ASSERT_TRUE(db_->GetProperty("mergedb.table_bytes_on_disk", &bytes));
  ASSERT_TRUE(db_->GetProperty("mergedb.stats", &stats));
  EXPECT_LT(std::stoull(bytes), 100'000u) << stats;
}

TEST_F(DbTest, StatsNameALongPathWhole) {
  const std::string path = "/" + std::string(600, 'd');
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options_, path));
  std::string stats;
  ASSERT_TRUE(db->GetProperty("mergedb.stats", &stats));
  EXPECT_EQ(stats.substr(0, stats.find('\n')), path);
}

TEST_F(DbTest, DestroysItsOwnFilesAndNoOthers) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  EXPECT_TRUE(DB::Destroy(options_, SimulatedEnv::kPath).IsBusy());
  db_ = nullptr;
  ASSERT_OK(sim_.files->WriteWhole(SimulatedEnv::kPath + "/notes.txt", "mine"));
  ASSERT_OK(DB::Destroy(options_, SimulatedEnv::kPath));
  EXPECT_EQ(sim_.files->Files(), std::vector<std::string>{SimulatedEnv::kPath + "/notes.txt"});
  EXPECT_TRUE(DB::Destroy(options_, SimulatedEnv::kPath).IsNotFound());
}

TEST_F(DbTest, DestroysADatabaseWithoutCurrent) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  db_ = nullptr;
  ASSERT_OK(sim_.files->Remove(SimulatedEnv::kPath + "/CURRENT"));
  ASSERT_OK(DB::Destroy(options_, SimulatedEnv::kPath));
  EXPECT_TRUE(sim_.files->Files().empty());
  EXPECT_TRUE(DB::Destroy(options_, SimulatedEnv::kPath).IsNotFound());
}

TEST(DbComparator, OrdersByTheUsersComparatorAndInsistsOnIt) {
  SimulatedEnv sim;
  const testing::ReverseComparator reverse;
  Options options = sim.SmallOptions();
  options.comparator = &reverse;
  auto db = DB::Open(options, SimulatedEnv::kPath);
  ASSERT_OK(db.status());
  for (uint64_t i = 0; i < 3000; ++i) ASSERT_OK((*db)->Put({}, Key(i), std::string(100, 'v')));
  ASSERT_OK((*db)->CompactRange(nullptr, nullptr));
  auto it = (*db)->NewIterator();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), Key(2999));
  it->Seek(Key(10));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), Key(10));
  it->Next();
  EXPECT_EQ(it->key(), Key(9));
  it = nullptr;
  *db = nullptr;
  const Status status = DB::Open(sim.SmallOptions(), SimulatedEnv::kPath).status();
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_NE(status.ToString().find("test.reverse"), std::string::npos) << status.ToString();
}

// Close flushes writes that skipped the WAL. One call of the disk fails, and the next one would not.
TEST(DbClose, KeepsWritesWithoutWalThroughEachFailureThatPasses) {
  int failures = 0;
  for (uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE("the failing call: " + std::to_string(nth));
    SimulatedEnv sim;
    auto db = sim.Open();
    ASSERT_OK(db.status());
    constexpr uint64_t kKeys = 60;  // two memtables wait for their flush
    for (uint64_t i = 0; i < kKeys; ++i)
      ASSERT_OK((*db)->Put({.durability = Durability::kNoWal}, Key(i), std::string(1'000, 'v')));
    sim.files->AddFault({.op = testing::FileOp::kAnyChange, .nth = nth});
    const Status closed = (*db)->Close();
    if (sim.files->faults_hit() == 0) break;
    *db = nullptr;
    sim.files->ClearFaults();
    auto again = sim.Open();
    ASSERT_OK(again.status());
    const size_t kept = Contents(**again).size();
    if (closed.ok()) { EXPECT_EQ(kept, kKeys); }
    failures += !closed.ok();
  }
  EXPECT_LT(failures, 20) << "a flush is tried again";
}

// A sync of the WAL fails, then one call of the new epoch. The segments of the failed WAL are void and go; if the
// removal itself fails, they go at the next open.
TEST(DbResume, LeavesNoSegmentOfAFailedWalWhicheverCallFails) {
  const auto segments = [](const SimulatedEnv& sim) {
    return std::ranges::count_if(sim.files->Files(), [](const std::string& path) { return path.ends_with(".seg"); });
  };
  const auto segments_after_resume = [&](testing::FileOp op, uint64_t nth, bool* hit) -> int64_t {
    SimulatedEnv sim;
    auto db = sim.Open();
    EXPECT_OK(db.status());
    for (uint64_t i = 0; i < 40; ++i) EXPECT_OK((*db)->Put({}, Key(i), std::string(1'000, 'v')));
    sim.files->AddFault({.op = testing::FileOp::kSync, .path_contains = ".seg"});
    EXPECT_FALSE((*db)->Put({.durability = Durability::kSynced}, "synced", "").ok());
    sim.files->ClearFaults();
    if (nth > 0) sim.files->AddFault({.op = op, .nth = nth});
    const uint64_t before = sim.files->faults_hit();
    Status status = Status::IOError("not tried");
    for (int i = 0; i < 10 && !status.ok(); ++i) {
      sim.PassTime(1);
      status = (*db)->Put({}, "resumed", "");
    }
    EXPECT_OK(status);
    *hit = sim.files->faults_hit() > before;
    return segments(sim);
  };
  bool hit = false;
  const int64_t expected = segments_after_resume(testing::FileOp::kAny, 0, &hit);
  using testing::FileOp;
  for (const FileOp op : {FileOp::kOpen, FileOp::kCreate, FileOp::kWrite, FileOp::kSync, FileOp::kRename,
                          FileOp::kSyncDirectory, FileOp::kAllocate, FileOp::kMap}) {
    hit = true;
    for (uint64_t nth = 1; hit; ++nth) {
      SCOPED_TRACE(std::string("the failing call: ") + testing::OpName(op) + " " + std::to_string(nth));
      EXPECT_LE(segments_after_resume(op, nth, &hit), expected);
    }
  }
}

// Programs subtract an earlier value of a counter from a later one.
TEST_F(DbTest, NoCounterGoesBackWhenTheWalBeginsAnew) {
  for (uint64_t i = 0; i < 200; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(1'000, 'v')));
  const auto counters = [&] {
    std::map<std::string, uint64_t> values;
    const auto metrics = db_->Metrics();
    EXPECT_OK(metrics.status());
    for (const Metric& metric : *metrics) {
      if (metric.type == MetricType::kCounter) values[std::string(metric.name)] = metric.value;
    }
    return values;
  };
  const auto before = counters();
  ASSERT_GT(before.at("wal_bytes_appended"), 200'000u);
  ASSERT_OK(db_->CreateKeyspace("first").status());
  const auto after = counters();
  for (const auto& [name, value] : before) EXPECT_GE(after.at(name), value) << name;
}

}  // namespace
}  // namespace mergedb::db_test
