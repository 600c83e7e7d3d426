// Goal: a comparator that contradicts itself makes the call that meets it fail. It produces no tree that the
// next open would refuse. Once the comparator orders as at first, the same call succeeds, and all writes are
// there. Method: a comparator that reverses its order when a table has just been written, under every
// operation that puts a table into a tree; and at each comparison of an open.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "mergedb/repair.h"
#include "testing/counters.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "tests/leveldb/leveldb_directory.h"

namespace mergedb::testing::turned_comparator_test {
namespace {

using ::testing::HasSubstr;

const std::string kPath = SimulatedEnv::kPath;
const Shown kAll = {{"a", "1"}, {"b", "2"}, {"y", "3"}, {"z", "4"}};

class Turning final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override {
    if (left > 0) --left;
    return left > 0 ? a.compare(b) : b.compare(a);
  }
  std::string_view Name() const override { return "turned_comparator_test.turning"; }
  mutable uint64_t left = std::numeric_limits<uint64_t>::max();  // comparisons until it reverses
};

class TurnedComparator : public ::testing::Test {
 protected:
  TurnedComparator() {
    options_.comparator = &comparator_;
    options_.use_mapped_wal_buffer = false;  // without a MANIFEST the contents of the WAL buffer are unknown
  }
  void Open() { ASSERT_OK_AND_ASSIGN(db_, DB::Open(options_, kPath)); }
  void Put(const std::string& key) { ASSERT_OK(db_->Put({}, key, kAll.at(key))); }
  // a and z in a table, b and y in the WAL of a process that was killed.
  void Live() {
    Open();
    for (const char* key : {"a", "z"}) Put(key);
    ASSERT_OK(db_->Flush());
    for (const char* key : {"b", "y"}) Put(key);
  }
  void Kill() {
    auto killed = SimulatedEnv::After(sim_, CrashMode::kKill, CrashModel::kStrict, 1);
    db_ = nullptr;
    sim_.files = std::move(killed->files);
    options_.env.file_system = sim_.files.get();
  }

  // The comparator reverses when the `tables`-th table from now is written, and returns to normal after
  // `act`.
  void FailAndDoAgain(const std::function<Status()>& act, int tables = 1) {
    sim_.files->SetOpHook([&](uint64_t, const char* what, const std::string& path) {
      if (what == std::string_view(OpName(FileOp::kWrite)) && path.ends_with(".tbl") && --tables == 0)
        comparator_.left = 0;
    });
    EXPECT_THAT(act(), StatusIs(Code::kCorruption, HasSubstr("is after largest")));
    sim_.files->SetOpHook(nullptr);
    comparator_.left = std::numeric_limits<uint64_t>::max();
    EXPECT_OK(act());
    if (db_ == nullptr) Open();
    EXPECT_EQ(Scan(*db_), kAll);
    EXPECT_OK(db_->CheckIntegrity());
  }

  SimulatedEnv sim_;
  Turning comparator_;
  Options options_ = sim_.SmallOptions();
  std::unique_ptr<DB> db_;
};

TEST_F(TurnedComparator, FailsAFlush) {
  Live();
  FailAndDoAgain([this] { return db_->Flush(); });
}

TEST_F(TurnedComparator, FailsACompaction) {
  Live();
  ASSERT_OK(db_->Flush());
  FailAndDoAgain([this] { return db_->CompactRange(nullptr, nullptr); });
}

// Step by step: a move writes no table at which the comparator could reverse.
TEST_F(TurnedComparator, FailsAMoveOfARun) {
  options_.blob_value_bytes_min = 0;
  Open();
  const auto put_many = [this](const std::string& first) {  // until a memtable becomes immutable
    for (int i = 100; i < 170; ++i) ASSERT_OK(db_->Put({}, first + std::to_string(i), std::string(1000, 'v')));
  };
  put_many("a");
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  put_many("z");
  const Shown all = Scan(*db_);
  while (Property(*db_, "stats").find("disjoint: 2 runs") == std::string::npos) ASSERT_TRUE(sim_.executor.RunOne());
  comparator_.left = 0;
  while (Property(*db_, "errors").empty()) ASSERT_TRUE(sim_.executor.RunOne());
  EXPECT_THAT(Property(*db_, "errors"), HasSubstr("is after largest"));
  comparator_.left = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(Scan(*db_), all);
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_EQ(Property(*db_, "errors"), "");
  EXPECT_EQ(Scan(*db_), all);
  EXPECT_OK(db_->CheckIntegrity());
}

TEST_F(TurnedComparator, FailsAnOpenThatFlushesTheWal) {
  Live();
  Kill();
  FailAndDoAgain([this] {
    auto opened = DB::Open(options_, kPath);
    if (opened) db_ = std::move(*opened);
    return opened.status();
  });
}

TEST_F(TurnedComparator, FailsAnOpenAtEachComparisonBeforeItWritesAnything) {
  Live();
  ASSERT_OK(db_->Flush());
  ASSERT_OK(db_->Close());
  uint64_t failed = 0;
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    const uint64_t before = sim_.files->Fingerprint();
    comparator_.left = n;
    const Status status = DB::Open(options_, kPath).status();
    comparator_.left = std::numeric_limits<uint64_t>::max();
    if (status.ok()) break;
    ++failed;
    EXPECT_THAT(status, StatusIs(Code::kCorruption));
    EXPECT_EQ(sim_.files->Fingerprint(), before);
  }
  EXPECT_GT(failed, 3u);
}

TEST_F(TurnedComparator, FailsTheConversionOfALevelDbDirectory) {
  LevelDbDirectory directory(&comparator_);
  kv::Sequence sequence = 0;
  std::vector<KeyChange> changes;
  for (const auto& [key, value] : kAll) changes.push_back({key, ++sequence, kv::Kind::kPut, value});
  directory.AddTable(0, changes);
  WriteFiles(sim_.files.get(), kPath, directory.Finish());
  FailAndDoAgain([this] { return DB::Open(options_, kPath).status(); });
}

TEST_F(TurnedComparator, FailsARepair) {
  Live();
  Kill();
  ASSERT_OK(sim_.files->Remove(kPath + "/CURRENT"));
  FailAndDoAgain([this] { return Repair(options_, kPath).status(); });
}

TEST_F(TurnedComparator, FailsARepairWithoutAManifest) {
  Live();
  Kill();
  for (const std::string& path : sim_.files->Files()) {
    if (path.find("MANIFEST") != std::string::npos) { ASSERT_OK(sim_.files->Remove(path)); }
  }
  // the table of the WAL's entries, then one table of all entries
  FailAndDoAgain([this] { return Repair(options_, kPath).status(); }, 2);
}

}  // namespace
}  // namespace mergedb::testing::turned_comparator_test
