// Goal: a disk that the WAL's own buffer has filled is not full: what tables hold already is given back, while the
// database is open and when it is opened. A disk that is full is told of: in the metrics, and by `mergedb why`. Method:
// a simulated disk with a capacity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mergedb/repair.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

constexpr char kPath[] = "/db";

Options SomeMemory(SimulatedEnv& sim, bool use_mapping = true) {
  Options options = sim.SmallOptions();
  options.use_mapped_wal_buffer = use_mapping;
  options.memory_bytes = 16 << 20;  // the WAL buffer has 16 MiB and more
  options.write_buffer_bytes = 128 << 10;
  return options;
}

std::string Value(int i) { return std::to_string(i) + std::string(1000, 'v'); }

// Overwrites 20 keys. Returns how many writes failed.
int Overwrite(SimulatedEnv& sim, DB& db, int count, Durability durability = Durability::kProcessCrash) {
  int failed = 0;
  for (int i = 0; i < count; ++i) {
    const Status status = db.Put({.durability = durability}, "key" + std::to_string(i % 20), Value(i));
    EXPECT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
    failed += !status.ok();
    for (int step = 0; step < 3; ++step) sim.executor.RunOne();
  }
  return failed;
}

uint64_t MetricOf(DB& db, const std::string& name) {
  auto metrics = db.Metrics();
  EXPECT_OK(metrics.status());
  for (const Metric& each : *metrics)
    if (each.name == name) return each.value;
  ADD_FAILURE() << name;
  return 0;
}

// Of tables, blob files and recycled files.
uint64_t BytesOfData(SimulatedEnv& sim) {
  uint64_t bytes = 0;
  const auto names = sim.files->List(kPath);
  EXPECT_OK(names.status());
  for (const std::string& name : *names) {
    if (!name.ends_with(".tbl") && !name.ends_with(".val") && !name.ends_with(".spare")) continue;
    bytes += *sim.files->SizeOf(std::string(kPath) + "/" + name);
  }
  return bytes;
}

TEST(FullDisk, TheWalUsesAgainWhatTablesHold) {
  for (const bool use_mapping : {true, false}) {
    for (const Durability durability : {Durability::kProcessCrash, Durability::kSynced}) {
      SCOPED_TRACE(std::to_string(use_mapping) + " " + std::to_string(static_cast<int>(durability)));
      SimulatedEnv sim({.seed = 1});
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(sim, use_mapping), kPath));
      sim.files->SetCapacity(4 << 20);
      EXPECT_EQ(Overwrite(sim, *db, 20'000, durability), 0);
      EXPECT_EQ(MetricOf(*db, "disk_is_full"), 0u);
      EXPECT_OK(db->Close());
    }
  }
}

// Synced writes follow others, whose bytes lie in STAGING alone and fill the disk.
TEST(FullDisk, ASyncUsesWhatTheWalDoesNotNeed) {
  for (const bool is_alone : {true, false}) {
    SimulatedEnv sim({.seed = 1});
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(sim), kPath));
    ASSERT_EQ(Overwrite(sim, *db, 4000), 0);
    ASSERT_OK(db->Flush());
    sim.files->SetCapacity(sim.files->bytes_used());
    if (is_alone) { EXPECT_OK(db->SyncWal()); }
    EXPECT_EQ(Overwrite(sim, *db, 1000, Durability::kSynced), 0);
    EXPECT_OK(db->SyncWal());
    EXPECT_OK(db->Close());
  }
}

TEST(FullDisk, AFlushUsesWhatTheWalDoesNotNeed) {
  SimulatedEnv sim({.seed = 1});
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(sim), kPath));
  ASSERT_EQ(Overwrite(sim, *db, 4000), 0);
  ASSERT_OK(db->Flush());
  ASSERT_EQ(Overwrite(sim, *db, 100), 0);
  sim.files->SetCapacity(sim.files->bytes_used());
  EXPECT_OK(db->Flush());
  EXPECT_OK(db->Close());
}

// The process was killed; the disk is full of the STAGING that it left, but for some bytes.
TEST(FullDisk, AnOpenUsesWhatTheWalDoesNotNeed) {
  std::unique_ptr<SimulatedEnv> killed;
  {
    SimulatedEnv sim({.seed = 1});
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(sim), kPath));
    ASSERT_OK(db->CreateKeyspace("named").status());
    ASSERT_EQ(Overwrite(sim, *db, 4000), 0);
    ASSERT_OK(db->Flush());
    for (int i = 0; i < 100; ++i) ASSERT_OK(db->Put({}, "last" + std::to_string(i), Value(i)));
    killed = SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, 1);
  }
  for (const uint64_t free_bytes : {0, 20'000, 60'000, 100'000, 140'000, 200'000, 260'000, 400'000}) {
    SCOPED_TRACE(free_bytes);
    const auto sim = SimulatedEnv::After(*killed, CrashMode::kKill, CrashModel::kStrict, 1);
    sim->files->SetCapacity(sim->files->bytes_used() + free_bytes);
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(*sim), kPath));
    std::string value;
    for (int i = 0; i < 100; ++i) {
      ASSERT_OK(db->Get({}, "last" + std::to_string(i), &value));
      EXPECT_EQ(value, Value(i));
    }
    EXPECT_EQ(Overwrite(*sim, *db, 1000), 0);
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->WaitForCompaction());
    EXPECT_EQ(MetricOf(*db, "table_bytes_on_disk") + MetricOf(*db, "blob_bytes_on_disk"), BytesOfData(*sim));
    EXPECT_OK(db->Close());
  }
}

// Symptom: after a kill, an open on a full disk and a power cut, a table was missing. Cause: the open removed files
// that the newest MANIFEST record does not name, before that record was durable.
TEST(FullDisk, AnOpenRemovesNothingThatTheDurableManifestNames) {
  // The numbers of the writes to the MANIFEST among the changes of a compaction and its commit. `last`: all calls
  // after this one fail, and the database ends. WHY not the sync that follows: one that fails is not the same as none.
  const auto run = [](SimulatedEnv& sim, uint64_t last) {
    std::vector<uint64_t> writes;
    auto db = DB::Open(SomeMemory(sim), kPath);
    EXPECT_OK(db.status());
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(Overwrite(sim, **db, 100), 0);
      EXPECT_OK((*db)->Flush());
    }
    if (last > 0) {
      sim.files->AddFault({.op = FileOp::kAnyChange, .nth = last, .has_happened = true});
      sim.files->AddFault({.op = FileOp::kAnyChange, .nth = last + 1, .sticky = true});
    }
    uint64_t changes = 0;
    sim.files->SetOpHook([&](uint64_t, const char* what, const std::string& path) {
      ++changes;
      if (std::string_view(what) == "write" && path.find("MANIFEST") != std::string::npos) writes.push_back(changes);
    });
    (void)(*db)->CompactRange(nullptr, nullptr);
    (void)(*db)->Flush();
    sim.files->SetOpHook({});
    *db = nullptr;
    sim.files->ClearFaults();
    return writes;
  };
  SimulatedEnv whole({.seed = 1});
  const std::vector<uint64_t> writes = run(whole, 0);
  ASSERT_FALSE(writes.empty());
  uint64_t cuts = 0;
  for (const uint64_t write : writes) {
    SimulatedEnv sim({.seed = 1});
    (void)run(sim, write);
    std::vector<std::unique_ptr<SimulatedEnv>> cut;
    sim.files->SetCapacity(sim.files->bytes_used());
    sim.files->SetOpHook([&](uint64_t, const char*, const std::string&) {
      cut.push_back(SimulatedEnv::After(sim, CrashMode::kMin, CrashModel::kStrict, 1));
    });
    const auto db = DB::Open(SomeMemory(sim), kPath);
    sim.files->SetOpHook({});
    for (const auto& after : cut) {
      after->files->SetCapacity(UINT64_MAX);
      ASSERT_OK(DB::Open(SomeMemory(*after), kPath).status());
      ++cuts;
    }
  }
  EXPECT_GT(cuts, 20u);
}

// A frame in the middle of the WAL is damaged: what the open drops is reported, and stays for a repair.
TEST(FullDisk, AnOpenGivesNothingBackIfItDropsSomething) {
  std::unique_ptr<SimulatedEnv> killed;
  {
    SimulatedEnv sim({.seed = 1});
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SomeMemory(sim), kPath));
    ASSERT_EQ(Overwrite(sim, *db, 4000), 0);
    ASSERT_OK(db->Flush());
    for (int i = 0; i < 100; ++i) ASSERT_OK(db->Put({}, "last" + std::to_string(i), Value(i)));
    killed = SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, 1);
  }
  FaultFileSystem& files = *killed->files;
  const std::string staging = std::string(kPath) + "/STAGING", orphan = std::string(kPath) + "/000900.tbl";
  ASSERT_OK_AND_ASSIGN(std::string bytes, files.ReadWhole(staging));
  bytes[bytes.find("last50") + 1] ^= 1;
  ASSERT_OK(files.WriteWhole(staging, bytes));
  ASSERT_OK(files.WriteWhole(orphan, "a table that no commit names"));
  files.SetCapacity(files.bytes_used());
  EXPECT_THAT(DB::Open(SomeMemory(*killed), kPath), StatusIs(Code::kNoSpace));
  EXPECT_THAT(files.ReadWhole(staging), IsOkAndHolds(bytes));
  EXPECT_OK(files.SizeOf(orphan).status());
}

// The disk is full before REPAIR is written.
TEST(FullDisk, ARepairThatCannotBeginLeavesTheDatabaseOpen) {
  SimulatedEnv sim({.seed = 1});
  {
    ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
    ASSERT_OK(db->Put({}, "key", std::string(1000, 'v')));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Close());
  }
  ASSERT_OK_AND_ASSIGN(const auto names, sim.files->List(kPath));
  for (const std::string& name : names) {
    if (!name.ends_with(".tbl")) continue;
    ASSERT_OK_AND_ASSIGN(std::string bytes, sim.files->ReadWhole(std::string(kPath) + "/" + name));
    bytes[bytes.find("vvv")] ^= 1;
    ASSERT_OK(sim.files->WriteWhole(std::string(kPath) + "/" + name, bytes));
  }
  sim.files->SetCapacity(sim.files->bytes_used());
  EXPECT_THAT(Repair(sim.SmallOptions(), kPath), StatusIs(Code::kNoSpace));
  sim.files->SetCapacity(UINT64_MAX);
  EXPECT_OK(sim.Open().status());
}

// Symptom: `why` said that nothing limits the database while every write failed.
TEST(FullDisk, IsTold) {
  SimulatedEnv sim({.seed = 1});
  Options options = SomeMemory(sim);
  options.write_buffer_bytes = 4 << 20;  // the WAL finds no space before a memtable is full
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, kPath));
  ASSERT_OK(db->Put({}, "key", "value"));
  sim.files->SetCapacity(sim.files->bytes_used());
  Status status;
  for (int i = 0; i < 2000 && status.ok(); ++i) status = db->Put({}, "key" + std::to_string(i), Value(i));
  ASSERT_THAT(status, StatusIs(Code::kNoSpace));
  EXPECT_EQ(MetricOf(*db, "disk_is_full"), 1u);
  EXPECT_EQ(MetricOf(*db, "errors_no_space"), 1u);
  EXPECT_EQ(MetricOf(*db, "errors"), 1u);
  sim.files->SetCapacity(UINT64_MAX);
  ASSERT_OK(db->Put({}, "key", "value"));
  ASSERT_OK(db->Flush());
  EXPECT_EQ(MetricOf(*db, "disk_is_full"), 0u);
}

}  // namespace
}  // namespace mergedb::testing
