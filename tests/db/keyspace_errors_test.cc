// Goal: if the keyspace records cannot be read or written, or contradict each other, the call returns an
// error, no key is in doubt, and calls that do not need the records still work. Method: files in memory;
// calls fail at chosen places; forged keyspace records.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "db/access/keyspace_records.h"
#include "db/db_impl.h"
#include "format/keyspace_record.h"
#include "mergedb/transaction.h"
#include "mergedb/write_batch.h"
#include "testing/contents.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::keyspace_errors_test {
namespace {

using ::testing::HasSubstr;

class KeyspaceErrors : public ::testing::Test {
 protected:
  void Open() {
    db_ = nullptr;
    auto db = sim_.Open();
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }
  Keyspace Create(std::string_view name) {
    const auto keyspace = db_->CreateKeyspace(name);
    EXPECT_OK(keyspace.status());
    return keyspace ? *keyspace : Keyspace();
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
};

// The records of `older` and of the newer keyspace are in different tables: an open needs both.
TEST_F(KeyspaceErrors, NoneIsOpenedIfTheKeyspaceRecordsCannotBeRead) {
  Open();
  Create("older");
  ASSERT_OK(db_->Flush());
  std::string older;
  for (const std::string& path : sim_.files->Files()) {
    if (path.ends_with(".tbl")) older = path;
  }
  const Keyspace newer = Create("newer");
  const std::function<Result<Keyspace>()> calls[] = {[&] { return db_->OpenKeyspace("newer"); },
                                                     [&] { return db_->CreateKeyspace("newer", {.may_exist = true}); }};
  for (const auto& call : calls) {
    uint64_t reads = 0;
    for (bool was_hit = true; was_hit && !HasFailure();) {
      Open();  // writes a table with the newer record; no compaction runs yet
      sim_.files->AddFault({.op = FileOp::kRead, .path_contains = older, .nth = ++reads});
      const auto opened = call();
      was_hit = !opened;
      if (was_hit) { EXPECT_THAT(opened, StatusIs(Code::kIOError, HasSubstr(older + ": read"))); }
      sim_.files->ClearFaults();
      EXPECT_THAT(call(), IsOkAndHolds(newer));
      ASSERT_OK_AND_ASSIGN(const auto listed, db_->ListKeyspaces());
      EXPECT_EQ(listed.size(), 2u);
    }
    EXPECT_GT(reads, 2u) << "to open the table, and to read it";
  }
}

// Forged records: mergedb never writes any of them.
TEST_F(KeyspaceErrors, NoneIsOpenedOfInvalidKeyspaceRecords) {
  Open();
  const Keyspace x = Create("x");
  ASSERT_OK(db_->Put({}, "a", "of the default one"));
  const kv::KeyMap* map = dynamic_cast<db::DbImpl&>(*db_).transactions().key_map();
  const std::string next_id_key = map->Prefix(kv::kDefaultKeyspace) + std::string(format::kNextIdKey);
  const struct {
    std::string key, forged, real;
    const char* what;
  } cases[] = {{next_id_key, std::string(1, '\0'), format::EncodeNextId(64),
                "the next id: expected a varint32 from 1, found 00 (1 bytes)"},
               {next_id_key, format::EncodeNextId(x.id()), format::EncodeNextId(64),
                "\"x\" has id 1, which belongs to another keyspace or was never assigned"},
               {db::KeyspaceRecordTreeKey(*map, "y"), format::EncodeKeyspaceRecord(x.id()),
                format::EncodeKeyspaceRecord(2), "\"y\" has id 1, which belongs to another keyspace"}};
  for (const auto& [key, forged, real, what] : cases) {
    SCOPED_TRACE(what);
    const auto write = [&, &key = key](const std::string& value) {
      auto& database = dynamic_cast<db::DbImpl&>(*db_).transactions();
      ASSERT_OK(database.Commit({.what = write::Record{.key = key, .value = value}, .key_map = database.key_map()}));
      Open();
    };
    write(forged);
    EXPECT_THAT(db_->OpenKeyspace("x"), StatusIs(Code::kCorruption, HasSubstr(what)));
    EXPECT_THAT(db_->CreateKeyspace("z"), StatusIs(Code::kCorruption, HasSubstr(what)));
    EXPECT_EQ(Contents(*db_), "a=of the default one ");
    write(real);
    EXPECT_THAT(db_->OpenKeyspace("x"), IsOkAndHolds(x));
  }
}

// After a failed write of the MANIFEST it is unknown whether the MANIFEST names the marker. Whatever a crash
// makes of that, every acknowledged key is there, and no other key; when the disk works again, writes work.
TEST_F(KeyspaceErrors, AManifestThatCannotBeWrittenLeavesNoKeyInDoubt) {
  uint64_t failures = 0;
  for (const char* file : {"MANIFEST", ""}) {
    for (uint64_t nth = 1; nth <= 16; ++nth) {
      for (const int how : {0, 1, 2, 3}) {
        const bool has_happened = how % 2 == 1, is_crash = how / 2 == 1;
        SCOPED_TRACE(std::string(file) + std::to_string(nth) + (has_happened ? " happened" : "") +
                     (is_crash ? " crash" : ""));
        auto sim = std::make_unique<SimulatedEnv>();
        auto db = sim->Open();
        ASSERT_OK(db.status());
        ASSERT_OK((*db)->Put({}, "a", "1"));
        sim->files->AddFault({.path_contains = file, .nth = nth, .sticky = true, .has_happened = has_happened});
        const auto first = (*db)->CreateKeyspace("x");
        if (!first) ++failures;
        std::map<std::string, std::string> expected = {{"a", "1"}};
        bool is_unknown = false;
        for (const char* key : {"b", "\xff", "\xff\x01k"}) {
          const Status status = (*db)->Put({}, key, "2");
          if (status.ok()) expected[key] = "2";
          is_unknown |= status.outcome_unknown();
        }
        if (is_unknown) continue;  // an unknown outcome allows both results
        std::string text;
        for (const auto& [key, value] : expected) text += key + "=" + value + " ";
        if (is_crash) {
          auto after = SimulatedEnv::After(*sim, CrashMode::kKill, CrashModel::kJournaled, nth);
          (void)(*db)->Close();
          db = Status::Aborted("gone");
          sim = std::move(after);
          db = sim->Open();
          ASSERT_OK(db.status());
        }
        sim->files->ClearFaults();
        sim->clock.SleepNanos(10'000'000'000);
        EXPECT_EQ(Contents(**db, {}), text);
        const auto x = (*db)->CreateKeyspace("x", {.may_exist = true});
        ASSERT_OK(x.status());
        ASSERT_OK((*db)->Put({}, "\xff\x01k", "4"));
        ASSERT_OK((*db)->Put({}, *x, "k", "5"));
        EXPECT_EQ(Contents(**db, {.lower = "\xff\x01"}), "\xff\x01k=4 ");
        EXPECT_EQ(Contents(**db, {.keyspace = *x}), "k=5 ");
        db = Status::Aborted("closed");
        db = sim->Open();
        ASSERT_OK(db.status());
        EXPECT_EQ(Contents(**db, {.keyspace = *x}), "k=5 ");
      }
    }
  }
  EXPECT_GT(failures, 8u);
}

// The same with a transaction that wrote before the key map was installed. Symptom: its key landed in a named
// keyspace and was not found.
TEST_F(KeyspaceErrors, AMapThatComesLateIsAConflictWithKeysThatWereWrittenBefore) {
  uint64_t conflicts = 0;
  for (uint64_t nth = 1; nth <= 8; ++nth) {
    for (const bool comes_by_create : {true, false}) {
      SCOPED_TRACE(std::to_string(nth) + (comes_by_create ? " create" : " flush"));
      SimulatedEnv sim;
      ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
      sim.files->AddFault({.path_contains = "MANIFEST", .nth = nth, .sticky = true});
      const bool is_created = db->CreateKeyspace("x").has_value();
      sim.files->ClearFaults();
      sim.clock.SleepNanos(10'000'000'000);
      if (is_created) continue;
      ASSERT_OK_AND_ASSIGN(auto transaction, Transaction::Begin(*db, {.kind = TransactionKind::kSingleWriter}));
      ASSERT_OK(transaction->Put("\xff\x05k", "v"));
      if (comes_by_create) {
        (void)transaction->CreateKeyspace("y");
      } else {
        ASSERT_OK(db->Flush());
      }
      const Status status = transaction->Commit();
      if (!status.ok()) {
        EXPECT_THAT(status, StatusIs(Code::kConflict));
        ++conflicts;
        continue;
      }
      std::string value;
      ASSERT_OK(db->Get({}, "\xff\x05k", &value));
      EXPECT_EQ(value, "v");
    }
  }
  EXPECT_GT(conflicts, 0u);
}

// Replay must not apply a write of unknown outcome before writes that did not see it. Symptom: after a kill
// two transactions had no serial order: A had the value of the second, B the value of the first, which the
// second had not read.
TEST_F(KeyspaceErrors, NothingFollowsAWriteOfUnknownOutcomeInItsLog) {
  uint64_t unknown = 0;
  for (const bool is_mapped : {true, false}) {
    for (const size_t value_bytes : {size_t{10}, size_t{100'000}}) {
      for (uint64_t nth = 1; nth <= 4; ++nth) {
        SCOPED_TRACE((is_mapped ? "mapped, " : "written, ") + std::to_string(value_bytes) + " bytes, write " +
                     std::to_string(nth));
        SimulatedEnv sim;
        Options options = sim.SmallOptions();
        options.use_mapped_wal_buffer = is_mapped;
        ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, SimulatedEnv::kPath));
        ASSERT_OK(db->Put({}, "a", "100"));
        ASSERT_OK(db->Put({}, "b", "0"));
        sim.files->AddFault({.op = FileOp::kWrite, .path_contains = ".seg", .nth = nth});
        WriteBatch first;
        first.Put("a", "50");
        first.Put("b", "50");
        first.Put("large", std::string(value_bytes, 'x'));
        const Status status = db->Write({.durability = Durability::kSynced}, first);
        sim.files->ClearFaults();
        if (status.ok()) continue;
        unknown += status.outcome_unknown() ? 1 : 0;
        std::string value;
        ASSERT_OK(db->Get({}, "a", &value));
        EXPECT_EQ(value, "100");
        ASSERT_OK(db->Put({}, "a", "90")) << "the database goes on";
        const auto after = SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, 1);
        auto db_after = after->Open();
        ASSERT_OK(db_after.status());
        ASSERT_OK((*db_after)->Get({}, "a", &value));
        EXPECT_EQ(value, "90");
        ASSERT_OK((*db_after)->Get({}, "b", &value));
        EXPECT_EQ(value, "0") << "the failed write was replayed before one that had not seen it";
      }
    }
  }
  EXPECT_GT(unknown, 0u);
}

// An executor whose timers are due at once after BeLate(): as if time passed during a call.
class LateExecutor final : public Executor {
 public:
  explicit LateExecutor(ManualExecutor* inner) : inner_(inner) {}
  // The next timers, as many as that, ring before the call that sets them returns.
  void BeLate(int times) { late_ = times; }

  void Schedule(std::function<void()> work) override { inner_->Schedule(std::move(work)); }
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override {
    if (late_ == 0) return inner_->ScheduleAfter(nanos, std::move(work));
    --late_;
    work();
    inner_->RunAll();
  }
  int Parallelism() const override { return inner_->Parallelism(); }
  bool RunOne() override { return inner_->RunOne(); }

 private:
  ManualExecutor* const inner_;
  int late_ = 0;
};

// Symptom: an acknowledged write was gone after a kill. Cause: the record of a failed drop stayed in the WAL
// buffer and reached the WAL before later acknowledged writes to the same keyspace; replay then put those
// into a keyspace that did not exist.
TEST_F(KeyspaceErrors, WritesAfterADropOfUnknownOutcomeAreThereAfterAKill) {
  for (const bool is_mapped : {true, false}) {
    for (const Durability durability : {Durability::kProcessCrash, Durability::kSynced}) {
      SCOPED_TRACE(std::string(is_mapped ? "mapped, " : "written, ") +
                   (durability == Durability::kSynced ? "synced" : "not synced"));
      SimulatedEnv sim;
      Options options = sim.SmallOptions();
      options.use_mapped_wal_buffer = is_mapped;
      ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, SimulatedEnv::kPath));
      ASSERT_OK_AND_ASSIGN(const Keyspace named, db->CreateKeyspace("named"));
      ASSERT_OK(db->Put({.durability = durability}, named, "before", "1"));
      sim.files->AddFault({.op = FileOp::kWrite, .path_contains = ".seg"});
      const Status dropped = db->DropKeyspace({.durability = durability}, named);
      sim.files->ClearFaults();
      EXPECT_TRUE(dropped.ok() || dropped.outcome_unknown()) << dropped.ToString();
      const auto is_there_after = [&](CrashMode mode, const std::vector<std::string>& keys) {
        const auto after = SimulatedEnv::After(sim, mode, CrashModel::kStrict, 1);
        auto reopened = after->Open();
        EXPECT_OK(reopened.status());
        const auto found = (*reopened)->OpenKeyspace("named");
        EXPECT_EQ(found.has_value(), !keys.empty()) << found.status().ToString();
        for (const std::string& key : keys) {
          std::string value;
          if (found) { EXPECT_OK((*reopened)->Get({}, *found, key, &value)) << key; }
        }
      };
      if (dropped.ok()) {
        is_there_after(CrashMode::kKill, {});
        continue;
      }
      const Status put = db->Put({.durability = durability}, named, "after", "2");
      ASSERT_OK(put) << "the log goes on";
      is_there_after(CrashMode::kKill, {"before", "after"});
      if (durability == Durability::kSynced) is_there_after(CrashMode::kMin, {"before", "after"});
      ASSERT_OK(db->DropKeyspace({}, named));
      is_there_after(CrashMode::kKill, {});
    }
  }
}

// The background sync of the frame that a clear has just staged fails: the clear has happened, but the
// memtable with the cleared entries is not made immutable. The clear returns OK, since an error means that
// nothing happened; the next write returns the error.
TEST_F(KeyspaceErrors, ALogThatFailsBehindAClearIsToldToTheNextWrite) {
  SimulatedEnv sim;
  LateExecutor executor(&sim.executor);
  Options options = sim.SmallOptions();
  options.env.executor = &executor;
  options.wal_sync_interval_ms = 1000;
  auto db = DB::Open(options, SimulatedEnv::kPath);
  ASSERT_OK(db.status());
  const auto x = (*db)->CreateKeyspace("x");
  ASSERT_OK(x);
  ASSERT_OK((*db)->Put({}, *x, "a", "1"));
  ASSERT_OK((*db)->Flush());
  ASSERT_OK((*db)->SyncWal());
  sim.PassTime(3);  // the WAL timer is idle: the next write sets it
  sim.files->AddFault({.op = FileOp::kSync, .path_contains = ".seg"});
  // otherwise the flush resumes writes at once
  sim.files->AddFault({.op = FileOp::kWrite, .path_contains = ".tbl", .sticky = true});
  executor.BeLate(2);  // a sync interval has two ticks
  EXPECT_OK((*db)->ClearKeyspace({}, *x));
  EXPECT_EQ(Contents(**db, {.keyspace = *x}), "");
  EXPECT_THAT((*db)->Put({}, *x, "b", "2"), StatusIs(Code::kIOError, HasSubstr(".seg: sync")));
  sim.files->ClearFaults();
  sim.PassTime(10);
  ASSERT_OK((*db)->Put({}, *x, "c", "3"));
  EXPECT_EQ(Contents(**db, {.keyspace = *x}), "c=3 ");
  ASSERT_OK((*db)->Close());
  db = DB::Open(options, SimulatedEnv::kPath);
  ASSERT_OK(db.status());
  EXPECT_EQ(Contents(**db, {.keyspace = *x}), "c=3 ");
}

}  // namespace
}  // namespace mergedb::testing::keyspace_errors_test
