// Goal: a LevelDB directory opens and shows of each key the version with the largest sequence, in whatever
// file it is; a conversion that fails or is interrupted anywhere leaves LevelDB's files byte for byte, or is
// complete; damage is an error that changes nothing. Method: directories that LevelDB wrote, and directories
// made by hand and at random, in memory; faults and crashes at every operation.
#include "leveldb/import/convert.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "leveldb/import/directory.h"
#include "mergedb/leveldb.h"
#include "mergedb/repair.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "tests/leveldb/leveldb_directory.h"
#include "tests/unit/leveldb/format/goldens.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;

const std::string kPath = SimulatedEnv::kPath;

// The files that LevelDB reads.
Files LevelDbsFiles(const FaultFileSystem& file_system) {
  Files files = ReadFiles(file_system, kPath);
  std::erase_if(files, [](const auto& each) {
    const auto parsed = leveldb_format::ParseName(each.first);
    return !parsed || parsed->kind == leveldb_format::NameKind::kLock;
  });
  return files;
}
bool HasName(const FaultFileSystem& file_system, std::string_view part) {
  for (const auto& [name, bytes] : ReadFiles(file_system, kPath)) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

class ConvertTest : public ::testing::Test {
 protected:
  void Write(const Files& files) { WriteFiles(sim_.files.get(), kPath, files); }
  // The contents of the database after an open; they must be the same after a second open.
  Shown OpenTwice() {
    Shown shown;
    for (int time = 0; time < 2; ++time) {
      auto db = sim_.Open();
      EXPECT_OK(db.status());
      if (!db) return {};
      const Shown found = Scan(**db);
      if (time == 1) { EXPECT_EQ(found, shown); }
      shown = found;
      EXPECT_OK((*db)->CheckIntegrity());
      EXPECT_OK((*db)->Close());
    }
    return shown;
  }
  void ExpectNothingOfLevelDb() {
    for (const char* part : {".ldb", ".sst", ".log", ".dbtmp", "IMPORT"})
      EXPECT_FALSE(HasName(*sim_.files, part)) << part;
  }
  void ExpectRefusal(const Files& files, Code code, const std::string& message) {
    Write(files);
    const Files before = ReadFiles(*sim_.files, kPath);
    EXPECT_THAT(sim_.Open(), StatusIs(code, HasSubstr(message)));
    EXPECT_EQ(ReadFiles(*sim_.files, kPath), before);
  }

  SimulatedEnv sim_;
};

Files GoldenFiles(const std::string& name) {
  Files files = LevelDbGolden(name);
  files["LOCK"] = "";
  return files;
}

TEST_F(ConvertTest, OpensWhatLevelDbWrote) {
  Write(GoldenFiles("raw"));
  EXPECT_EQ(OpenTwice(),
            (Shown{{"", "empty"}, {"apple", "red"}, {"apricot", "orange"}, {"banana", "brown"}, {"grape", "blue"}}));
  ExpectNothingOfLevelDb();
}

TEST_F(ConvertTest, OpensSnappyBlocksAndBloomFilters) {
  Write(GoldenFiles("snappy"));
  const Shown shown = OpenTwice();
  EXPECT_EQ(shown.size(), 39u);
  EXPECT_FALSE(shown.contains("key00000020"));
  EXPECT_EQ(shown.at("key00000010").size(), 10u);
  EXPECT_EQ(shown.at("key00000030").size(), 60u);
}

TEST_F(ConvertTest, GoesOnFromTheLastSequenceWithLargerNumbers) {
  LevelDbDirectory directory;
  directory.AddTable(1, {{"a", 7, kv::Kind::kPut, "1"}}, 900);
  Write(directory.Finish());
  OpenTwice();
  for (const auto& [name, bytes] : ReadFiles(*sim_.files, kPath)) {
    const auto parsed = format::ParseFileName(name);
    if (parsed && kv::ToInt(parsed->number) != 0) { EXPECT_GT(kv::ToInt(parsed->number), 900u) << name; }
  }
}

TEST_F(ConvertTest, TheLargestSequenceWinsWhereverItLies) {
  const uint64_t seed = SeedOr(1);
  for (uint64_t round = 0; round < Sized(60, 600); ++round) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    SimulatedEnv sim({.seed = round + 1});
    LevelDbDirectory directory = RandomDirectory(seed * 1000 + round, 5 + round * 7 % 400, 3 + round * 13 % 120);
    WriteFiles(sim.files.get(), kPath, directory.Finish());
    auto db = sim.Open();
    ASSERT_OK(db);
    EXPECT_EQ(Scan(**db), directory.shown());
    // New writes are newer than all imported versions.
    for (const auto& [key, value] : directory.shown()) EXPECT_OK((*db)->Put({}, key, "new"));
    ASSERT_OK((*db)->CompactRange(nullptr, nullptr));
    for (const auto& [key, value] : Scan(**db)) EXPECT_EQ(value, "new");
  }
}

// Level 0 of a repaired database, or of the original MergeDB: the table with the larger number need not be
// newer.
TEST_F(ConvertTest, NumbersOfLevelZeroAreNotAge) {
  LevelDbDirectory directory;
  directory.AddTable(0, {{"k", 9, kv::Kind::kPut, "new"}, {"gone", 8, kv::Kind::kDelete, ""}}, 5);
  directory.AddTable(0, {{"k", 3, kv::Kind::kPut, "old"}, {"gone", 2, kv::Kind::kPut, "x"}}, 50);
  Write(directory.Finish());
  EXPECT_EQ(OpenTwice(), (Shown{{"k", "new"}}));
}

TEST_F(ConvertTest, TheOriginalMergeDbHas23Levels) {
  LevelDbDirectory directory;
  for (uint32_t level = 0; level < 23; ++level) {
    directory.AddTable(level, {{"k", 100 - level, kv::Kind::kPut, std::to_string(level)},
                               {"of" + std::to_string(level), 50 + level, kv::Kind::kPut, "v"}});
  }
  Write(directory.Finish());
  const Shown shown = OpenTwice();
  EXPECT_EQ(shown.size(), 24u);
  EXPECT_EQ(shown.at("k"), "0");
}

TEST_F(ConvertTest, VersionsOfAKeyMayLieInTwoTablesOfALevel) {
  LevelDbDirectory directory;
  directory.AddTable(3, {{"a", 1, kv::Kind::kPut, "1"}, {"k", 9, kv::Kind::kPut, "new"}});
  directory.AddTable(3, {{"k", 4, kv::Kind::kPut, "old"}, {"z", 2, kv::Kind::kPut, "2"}});
  Write(directory.Finish());
  EXPECT_EQ(OpenTwice(), (Shown{{"a", "1"}, {"k", "new"}, {"z", "2"}}));
}

TEST_F(ConvertTest, OldNamesAndZstdOpen) {
  LevelDbDirectory directory;
  directory.has_old_names = true;
  directory.table_options.codec = {.compression = Compression::kZstd};
  directory.AddTable(1, {{"a", 1, kv::Kind::kPut, std::string(1000, 'a')}});
  Write(directory.Finish());
  EXPECT_EQ(OpenTwice(), (Shown{{"a", std::string(1000, 'a')}}));
}

TEST_F(ConvertTest, EmptyDatabasesOpen) {
  LevelDbDirectory directory;
  Write(directory.Finish());
  EXPECT_EQ(OpenTwice(), Shown());
  ExpectNothingOfLevelDb();
}

TEST_F(ConvertTest, LogsThatAreLargerThanMemoryOpen) {
  LevelDbDirectory directory;
  std::vector<std::vector<KeyChange>> batches;
  kv::Sequence sequence = 1;
  base::Random random(5);
  for (int i = 0; i < 6000; ++i, ++sequence) {
    batches.push_back(
        {{"key" + std::to_string(random.Uniform(3000)), sequence, i % 7 == 0 ? kv::Kind::kDelete : kv::Kind::kPut,
          i % 7 == 0 ? "" : std::to_string(sequence) + std::string(600, 'v')}});
  }
  directory.AddTable(2, {{"key1", sequence++, kv::Kind::kPut, "newest of all"}});
  directory.AddLog(batches);
  Write(directory.Finish());
  EXPECT_EQ(OpenTwice(), directory.shown());
  ExpectNothingOfLevelDb();
}

class Backwards final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return base::CompareBytes(b, a); }
  std::string_view Name() const override { return "test.backwards"; }
};

TEST_F(ConvertTest, AProgramsOwnOrderIsKept) {
  const Backwards backwards;
  LevelDbDirectory directory(&backwards);
  directory.AddTable(1, {{"a", 1, kv::Kind::kPut, "1"}, {"b", 2, kv::Kind::kPut, "2"}, {"c", 3, kv::Kind::kPut, "3"}});
  const Files files = directory.Finish();
  ExpectRefusal(files, Code::kInvalidArgument, "test.backwards");
  Options options = sim_.SmallOptions();
  options.comparator = &backwards;
  auto db = DB::Open(options, kPath);
  ASSERT_OK(db);
  const auto it = (*db)->NewIterator();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "c");
}

// ---- refusals ---------------------------------------------------------------------------------------------

TEST_F(ConvertTest, ReadOnlyOpensAndNewDatabasesRefuse) {
  Write(GoldenFiles("raw"));
  const Files before = ReadFiles(*sim_.files, kPath);
  Options options = sim_.SmallOptions();
  options.mode = OpenMode::kReadOnly;
  EXPECT_THAT(DB::Open(options, kPath), StatusIs(Code::kNotSupported, HasSubstr("`mergedb convert")));
  options.mode = OpenMode::kMustNotExist;
  EXPECT_THAT(DB::Open(options, kPath), StatusIs(Code::kInvalidArgument, HasSubstr("exists already")));
  EXPECT_EQ(ReadFiles(*sim_.files, kPath), before);
}

TEST_F(ConvertTest, MissingTablesAreNamed) {
  Files files = GoldenFiles("raw");
  files.erase("000005.ldb");
  ExpectRefusal(files, Code::kCorruption, "1 missing files; e.g.: /db/000005.ldb");
}

TEST_F(ConvertTest, AMissingCurrentIsNoNewDatabase) {
  Files files = GoldenFiles("raw");
  files.erase("CURRENT");
  ExpectRefusal(files, Code::kCorruption, "CURRENT: missing, but LevelDB's 000004.log exists");
}

// A young LevelDB database: it has no table before its first memtable is full.
TEST_F(ConvertTest, AMissingCurrentBesideALogAloneIsNoNewDatabase) {
  LevelDbDirectory directory;
  directory.AddLog({{{"key", 1, kv::Kind::kPut, "value"}}});
  Files files = directory.Finish();
  files.erase("CURRENT");
  const auto log =
      std::find_if(files.begin(), files.end(), [](const auto& file) { return file.first.ends_with(".log"); });
  ASSERT_NE(log, files.end());
  ExpectRefusal(files, Code::kCorruption, "CURRENT: missing, but LevelDB's " + log->first + " exists");
  ASSERT_OK(RepairLevelDb(sim_.SmallOptions(), kPath));
  EXPECT_EQ(OpenTwice(), (Shown{{"key", "value"}}));
}

// LevelDB was killed before its first open was done: an empty log holds nothing.
TEST_F(ConvertTest, AMissingCurrentBesideAnEmptyLogIsANewDatabase) {
  LevelDbDirectory directory;
  Files files = directory.Finish();
  files.erase("CURRENT");
  files["000003.log"] = "";
  Write(files);
  EXPECT_TRUE(OpenTwice().empty());
}

TEST_F(ConvertTest, VerifyAndRepairAreForDatabasesOfMergedb) {
  Write(GoldenFiles("raw"));
  const Files before = ReadFiles(*sim_.files, kPath);
  EXPECT_THAT(Verify(sim_.SmallOptions(), kPath), StatusIs(Code::kInvalidArgument, HasSubstr("LevelDB")));
  EXPECT_THAT(Repair(sim_.SmallOptions(), kPath), StatusIs(Code::kInvalidArgument, HasSubstr("LevelDB")));
  EXPECT_EQ(ReadFiles(*sim_.files, kPath), before);
}

TEST_F(ConvertTest, DestroyRemovesLevelDbsFiles) {
  Files files = GoldenFiles("raw");
  files["notes.txt"] = "mine";
  Write(files);
  EXPECT_OK(DB::Destroy(sim_.SmallOptions(), kPath));
  EXPECT_EQ(ReadFiles(*sim_.files, kPath), (Files{{"notes.txt", "mine"}}));
}

// LevelDB's RepairDB turns a mergedb directory into an empty LevelDB database and puts mergedb's MANIFEST
// into lost/.
TEST_F(ConvertTest, ADatabaseThatLevelDbRepairedIsRefusedAndCanBeRepaired) {
  {
    auto db = sim_.Open();
    ASSERT_OK(db);
    for (int i = 0; i < 100; ++i) ASSERT_OK((*db)->Put({}, "key" + std::to_string(i), "value"));
    ASSERT_OK((*db)->Flush());
    ASSERT_OK((*db)->Put({}, "late", "value"));
    ASSERT_OK((*db)->Close());
  }
  ASSERT_OK(sim_.files->CreateDirectory(kPath + "/lost"));
  for (const auto& [name, bytes] : ReadFiles(*sim_.files, kPath)) {
    if (name.starts_with("MANIFEST")) { ASSERT_OK(sim_.files->Rename(kPath + "/" + name, kPath + "/lost/" + name)); }
  }
  LevelDbDirectory nothing;
  for (const auto& [name, bytes] : nothing.Finish()) ASSERT_OK(sim_.files->WriteWhole(kPath + "/" + name, bytes));
  const Files before = ReadFiles(*sim_.files, kPath);
  EXPECT_THAT(sim_.Open(), StatusIs(Code::kCorruption, HasSubstr("run `mergedb repair /")));
  EXPECT_THAT(RepairLevelDb(sim_.SmallOptions(), kPath), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(ReadFiles(*sim_.files, kPath), before);
  ASSERT_OK(Repair(sim_.SmallOptions(), kPath));
  auto db = sim_.Open();
  ASSERT_OK(db);
  EXPECT_EQ(Scan(**db).size(), 101u);
}

// ---- damage -----------------------------------------------------------------------------------------------

TEST_F(ConvertTest, ATornTailOfTheNewestLogIsDropped) {
  Files files = GoldenFiles("raw");
  files["000004.log"].back() ^= 1;
  Write(files);
  {
    auto db = sim_.Open();
    ASSERT_OK(db);
    std::string report;
    ASSERT_TRUE((*db)->GetProperty("mergedb.recovery", &report));
    EXPECT_THAT(report, HasSubstr("dropped a torn tail: /db/000004.log: offset 54"));
  }
  EXPECT_EQ(OpenTwice(), (Shown{{"", "empty"}, {"apple", "red"}, {"apricot", "orange"}, {"banana", "brown"}}));
}

// LevelDB skips the rest of the block, whatever it holds.
TEST_F(ConvertTest, DamageBeforeWholeRecordsOfItsBlockIsAnError) {
  Files files = GoldenFiles("raw");
  files["000004.log"][10] ^= 1;
  ExpectRefusal(files, Code::kCorruption, "000004.log: offset 0, 85 bytes: checksum");
}

TEST_F(ConvertTest, DamageThatWholeRecordsFollowIsAnError) {
  LevelDbDirectory directory;
  const uint64_t number = directory.AddLog({{{"a", 1, kv::Kind::kPut, "1"}}, {{"b", 2, kv::Kind::kPut, "2"}}});
  directory.AddLog({{{"c", 3, kv::Kind::kPut, "3"}}});
  Files files = directory.Finish();
  files[leveldb_format::PrintName(leveldb_format::NameKind::kLog, kv::FileNumber{number})].back() ^= 1;
  ExpectRefusal(files, Code::kCorruption, "000002.log: offset");
}

// A page of the log that was never written.
TEST_F(ConvertTest, AHoleInALogIsAnErrorAndALossOfASalvage) {
  // of 512 bytes each: valid batches follow after the block, or only after the page
  for (const size_t batches : {100, 20}) {
    LevelDbDirectory directory;
    std::vector<std::vector<KeyChange>> log;
    for (size_t i = 0; i < batches; ++i) {
      log.push_back({{"k" + std::to_string(1000 + i), i + 1, kv::Kind::kPut, std::string(484, 'v')}});
    }
    directory.AddLog(log);
    Files files = directory.Finish();
    files.at("000002.log").replace(4096, 4096, 4096, '\0');
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kPath, files);
    EXPECT_THAT(sim.Open(), StatusIs(Code::kCorruption, HasSubstr("zeros")));
    EXPECT_EQ(ReadFiles(*sim.files, kPath), files);
    ASSERT_OK_AND_ASSIGN(const RepairReport report, RepairLevelDb(sim.SmallOptions(), kPath));
    EXPECT_FALSE(report.losses.empty());
    EXPECT_LT(Scan(**sim.Open()).size(), batches);
    EXPECT_EQ(*sim.files->ReadWhole(kPath + "/lost/000002.log"), files.at("000002.log"));
  }
}

// One flipped bit anywhere: the open fails and changes nothing, or shows the original contents, possibly
// without the last record.
TEST_F(ConvertTest, EveryFlippedBitIsAnErrorOrHarmless) {
  for (const char* golden : {"raw", "snappy"}) {
    const Files whole = GoldenFiles(golden);
    Shown shown, without_last;
    for (Shown* found : {&shown, &without_last}) {
      SimulatedEnv sim;
      Files files = whole;
      if (found == &without_last) files["000004.log"].pop_back();
      WriteFiles(sim.files.get(), kPath, files);
      *found = Scan(**sim.Open());
    }
    EXPECT_NE(shown, without_last);
    for (const auto& [name, bytes] : whole) {
      for (size_t at = 0; at < bytes.size(); at += name.ends_with(".ldb") && !IsFullSize() ? 5 : 1) {
        SCOPED_TRACE(name + " byte " + std::to_string(at));
        SimulatedEnv sim;
        WriteFiles(sim.files.get(), kPath, whole);
        ASSERT_OK(sim.files->FlipBit(kPath + "/" + name, at, static_cast<int>(at % 8)));
        const Files before = ReadFiles(*sim.files, kPath);
        auto db = sim.Open();
        if (!db) {
          EXPECT_EQ(ReadFiles(*sim.files, kPath), before) << db.error().ToString();
          continue;
        }
        const Shown found = Scan(**db);
        if (!name.ends_with(".log")) { EXPECT_EQ(found, shown); }
        // Only the last record can look like one that was not completely written.
        if (name.ends_with(".log")) { EXPECT_TRUE(found == shown || found == without_last); }
      }
    }
  }
}

// ---- repair of damaged directories ------------------------------------------------------------------------

TEST_F(ConvertTest, SavesWhatIsWholeAndKeepsTheRest) {
  LevelDbDirectory directory;
  std::vector<KeyChange> changes;
  for (int i = 0; i < 100; ++i)
    changes.push_back({"key" + std::to_string(100 + i), kv::Sequence(i + 1), kv::Kind::kPut, std::string(50, 'v')});
  directory.AddTable(1, changes);
  directory.AddLog({{{"a", 200, kv::Kind::kPut, "1"}}, {{"b", 201, kv::Kind::kPut, "2"}}});
  directory.AddLog({{{"c", 202, kv::Kind::kPut, "3"}}});
  Files files = directory.Finish();
  files["000002.ldb"][600] ^= 1;
  files["000003.log"].back() ^= 1;
  Write(files);
  EXPECT_THAT(sim_.Open(), StatusIs(Code::kCorruption));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, RepairLevelDb(sim_.SmallOptions(), kPath));
  ASSERT_EQ(report.losses.size(), 2u);
  EXPECT_EQ(report.losses[0].file, "000003.log");
  EXPECT_EQ(report.losses[1].file, "000002.ldb");
  const Shown shown = OpenTwice();
  EXPECT_TRUE(shown.contains("a") && shown.contains("c") && !shown.contains("b"));
  EXPECT_GT(shown.size(), 80u);
  EXPECT_LT(shown.size(), 102u);
  for (const char* name : {"000002.ldb", "000003.log", "000004.log"})
    EXPECT_EQ(*sim_.files->ReadWhole(kPath + "/lost/" + name), files[name]) << name;
}

TEST_F(ConvertTest, SavesAWholeDatabaseWithoutALoss) {
  Write(GoldenFiles("raw"));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, RepairLevelDb(sim_.SmallOptions(), kPath));
  EXPECT_TRUE(report.losses.empty());
  EXPECT_EQ(OpenTwice().size(), 5u);
  ExpectNothingOfLevelDb();
}

TEST_F(ConvertTest, SavesWithoutCurrentAndWithoutManifest) {
  Files files = GoldenFiles("raw");
  files["CURRENT"] = "";
  {
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kPath, files);
    ASSERT_OK_AND_ASSIGN(const RepairReport report, RepairLevelDb(sim.SmallOptions(), kPath));
    ASSERT_FALSE(report.notes.empty());
    EXPECT_THAT(report.notes[0], HasSubstr("MANIFEST-000002 is used"));
    EXPECT_EQ(Scan(**sim.Open()).size(), 5u);
  }
  files.erase("MANIFEST-000002");
  files.erase("CURRENT");
  Write(files);
  ASSERT_OK(RepairLevelDb(sim_.SmallOptions(), kPath));
  EXPECT_EQ(OpenTwice().size(), 5u);
}

// mergedb's own repair would turn them into an empty database.
TEST_F(ConvertTest, LevelDbsFilesWithoutAWholeCurrentAreNotForRepair) {
  const Files golden = GoldenFiles("raw");
  for (const bool was_converting : {false, true}) {
    for (const char* current : {"", "MANIFEST-000", "gone"}) {
      SCOPED_TRACE(std::string(current) + (was_converting ? ", a conversion was interrupted" : ""));
      Files files = golden;
      files["CURRENT"] = current;
      if (files["CURRENT"] == "gone") files.erase("CURRENT");
      if (was_converting) files["IMPORT"] = "A conversion from LevelDB";
      if (was_converting) files["000040.tbl"] = "half a table";
      SimulatedEnv sim;
      WriteFiles(sim.files.get(), kPath, files);
      const auto names_it = HasSubstr("`mergedb convert --salvage /db`");
      EXPECT_THAT(sim.Open(), StatusIs(Code::kCorruption, names_it));
      EXPECT_THAT(Repair(sim.SmallOptions(), kPath), StatusIs(Code::kInvalidArgument, names_it));
      EXPECT_THAT(Verify(sim.SmallOptions(), kPath), StatusIs(Code::kInvalidArgument, names_it));
      EXPECT_EQ(ReadFiles(*sim.files, kPath), files);
      ASSERT_OK(RepairLevelDb(sim.SmallOptions(), kPath));
      EXPECT_EQ(Scan(**sim.Open()).size(), 5u);
    }
  }
}

TEST_F(ConvertTest, NothingOfLevelDbIsNotFound) {
  EXPECT_THAT(RepairLevelDb(sim_.SmallOptions(), kPath), StatusIs(Code::kNotFound));
  { ASSERT_OK(sim_.Open()); }
  EXPECT_THAT(RepairLevelDb(sim_.SmallOptions(), kPath), StatusIs(Code::kNotFound));
}

// ---- interruptions ----------------------------------------------------------------------------------------

LevelDbDirectory SmallDirectory() {
  LevelDbDirectory directory;
  std::vector<std::vector<KeyChange>> batches;
  for (kv::Sequence i = 1; i <= 40; ++i)
    batches.push_back({{"key" + std::to_string(i % 25), i, i % 6 == 0 ? kv::Kind::kDelete : kv::Kind::kPut,
                        i % 6 == 0 ? "" : std::to_string(i)}});
  directory.AddTable(
      0,
      {{"key1", 41, kv::Kind::kPut, "newer"}, {"key2", 42, kv::Kind::kDelete, ""}, {"other", 43, kv::Kind::kPut, "o"}});
  directory.AddLog(batches);
  return directory;
}

// Checks the state on disk: LevelDB's files, byte for byte; or mergedb's, complete. Then opens it.
void ExpectWholeOrUntouched(SimulatedEnv& sim, const Files& before, const Shown& shown) {
  const auto owner = leveldb_import::OwnerOf(sim.files.get(), kPath);
  ASSERT_OK(owner);
  if (*owner == leveldb_import::Owner::kLevelDb) {
    const Files now = LevelDbsFiles(*sim.files);
    for (const auto& [name, bytes] : before) {
      if (name == "LOCK") continue;
      ASSERT_TRUE(now.contains(name)) << name;
      EXPECT_EQ(now.at(name), bytes) << name;
    }
  } else {
    EXPECT_EQ(*owner, leveldb_import::Owner::kOther);
  }
  auto db = sim.Open();
  ASSERT_OK(db);
  EXPECT_EQ(Scan(**db), shown);
  ASSERT_OK((*db)->Close());
  for (const char* part : {".ldb", ".log", ".dbtmp", "IMPORT", "CURRENT.tmp"})
    EXPECT_FALSE(HasName(*sim.files, part)) << part;
}

TEST(ConvertInterrupted, APowerCutOrKillAtAnyOperationLosesNothing) {
  LevelDbDirectory directory = SmallDirectory();
  const Files before = directory.Finish();
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, before);
  std::set<uint64_t> seen;
  uint64_t images = 0;
  bool is_opening = true;
  sim.files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    if (!is_opening) return;
    std::vector<CrashMode> modes(std::begin(kPowerCutModes), std::end(kPowerCutModes));
    modes.push_back(CrashMode::kKill);
    for (const CrashMode mode : modes) {
      for (const CrashModel model : kCrashModels) {
        for (uint64_t seed = 0; seed < (mode == CrashMode::kBlockMix ? Sized(3, 20) : 1); ++seed) {
          auto image = SimulatedEnv::After(sim, mode, model, op * 100 + seed);
          if (!seen.insert(image->files->Fingerprint()).second) continue;
          ++images;
          SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path + " " + CrashModeName(mode) +
                       " " + CrashModelName(model));
          ExpectWholeOrUntouched(*image, before, directory.shown());
        }
      }
    }
  });
  { ASSERT_OK(sim.Open()); }
  is_opening = false;
  EXPECT_GT(images, 20u);
}

TEST(ConvertInterrupted, AnErrorOfAnyOperationLosesNothing) {
  LevelDbDirectory directory = SmallDirectory();
  const Files before = directory.Finish();
  for (const bool sticky : {false, true}) {
    for (const bool has_happened : {false, true}) {
      bool was_hit = true;
      for (uint64_t nth = 1; was_hit; ++nth) {
        SCOPED_TRACE("operation " + std::to_string(nth) + (sticky ? " and all after it" : "") +
                     (has_happened ? ", which happened" : ""));
        SimulatedEnv sim;
        WriteFiles(sim.files.get(), kPath, before);
        sim.files->AddFault({.op = FileOp::kAny,
                             .nth = nth,
                             .sticky = sticky,
                             .status = Status::IOError("injected"),
                             .has_happened = has_happened});
        auto db = sim.Open();
        was_hit = sim.files->faults_hit() > 0;
        const bool opened = db.has_value();
        if (opened && was_hit) (void)(*db)->Close();
        db = Status::Aborted("closed");
        sim.files->ClearFaults();
        if (!was_hit) break;
        if (!opened && !sticky && !has_happened && LevelDbsFiles(*sim.files).contains("000002.ldb")) {
          const auto owner = leveldb_import::OwnerOf(sim.files.get(), kPath);
          ASSERT_OK(owner);
          EXPECT_NE(*owner, leveldb_import::Owner::kOverwritten);
        }
        auto again = SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, nth);
        ExpectWholeOrUntouched(*again, before, directory.shown());
        auto cut = SimulatedEnv::After(sim, CrashMode::kMin, CrashModel::kStrict, nth);
        ExpectWholeOrUntouched(*cut, before, directory.shown());
      }
    }
  }
}

TEST(ConvertInterrupted, AFullDiskLeavesLevelDbsDatabase) {
  LevelDbDirectory directory = RandomDirectory(3, 3000, 2000);
  const Files before = directory.Finish();
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, before);
  const uint64_t used = sim.files->bytes_used();
  bool was_refused = false;
  for (uint64_t room = 0; room < (uint64_t{1} << 20); room += 16 << 10) {
    sim.files->SetCapacity(used + room);
    const auto db = sim.Open();
    if (db) break;
    was_refused = true;
    EXPECT_THAT(db, StatusIs(Code::kNoSpace)) << room;
    if (leveldb_import::OwnerOf(sim.files.get(), kPath).value() != leveldb_import::Owner::kLevelDb)
      break;  // there was room for the conversion, but not for a WAL
    EXPECT_THAT(db, StatusIs(Code::kNoSpace, HasSubstr("free space"))) << room;
    EXPECT_EQ(ReadFiles(*sim.files, kPath), before) << room;
  }
  EXPECT_TRUE(was_refused);
  sim.files->SetCapacity(UINT64_MAX);
  auto db = sim.Open();
  ASSERT_OK(db);
  EXPECT_EQ(Scan(**db), directory.shown());
}

// The same for a repair: at the end all undamaged data is there, and LevelDB's files are in place or in
// lost/.
TEST(ConvertInterrupted, ARepairMayBeInterruptedAnywhere) {
  LevelDbDirectory directory = SmallDirectory();
  Files before = directory.Finish();
  before["000002.ldb"][5] ^= 1;
  Shown shown;
  {
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kPath, before);
    EXPECT_FALSE(sim.Open());
    ASSERT_OK_AND_ASSIGN(const auto report, RepairLevelDb(sim.SmallOptions(), kPath));
    EXPECT_FALSE(report.losses.empty());
    shown = Scan(**sim.Open());
  }
  const auto expect_kept = [&](SimulatedEnv& sim) {
    std::multiset<std::string> bytes;
    for (const auto& [name, content] : ReadFiles(*sim.files, kPath)) bytes.insert(content);
    for (const auto& [name, content] : before) {
      if (name.find(".l") != std::string::npos) { EXPECT_TRUE(bytes.contains(content)) << name; }
    }
  };
  std::set<uint64_t> seen;
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, before);
  sim.files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    for (const CrashMode mode :
         {CrashMode::kKill, CrashMode::kMin, CrashMode::kNamesFull, CrashMode::kNamesMinDataFull}) {
      auto image = SimulatedEnv::After(sim, mode, CrashModel::kStrict, op);
      if (!seen.insert(image->files->Fingerprint()).second) continue;
      SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path + " " + CrashModeName(mode));
      expect_kept(*image);
      if (leveldb_import::OwnerOf(image->files.get(), kPath).value() == leveldb_import::Owner::kLevelDb) {
        ASSERT_OK(RepairLevelDb(image->SmallOptions(), kPath));
      }
      auto db = image->Open();
      ASSERT_OK(db);
      EXPECT_EQ(Scan(**db), shown);
      expect_kept(*image);
      EXPECT_FALSE(HasName(*image->files, "IMPORT"));
    }
  });
  ASSERT_OK(RepairLevelDb(sim.SmallOptions(), kPath));
  sim.files->SetOpHook(nullptr);
  for (const bool sticky : {false, true}) {
    for (uint64_t nth = 1;; ++nth) {
      SCOPED_TRACE("error of operation " + std::to_string(nth) + (sticky ? " and all after it" : ""));
      SimulatedEnv failing;
      WriteFiles(failing.files.get(), kPath, before);
      failing.files->AddFault({.op = FileOp::kAny, .nth = nth, .sticky = sticky});
      (void)RepairLevelDb(failing.SmallOptions(), kPath);
      const bool was_hit = failing.files->faults_hit() > 0;
      failing.files->ClearFaults();
      expect_kept(failing);
      if (leveldb_import::OwnerOf(failing.files.get(), kPath).value() == leveldb_import::Owner::kLevelDb) {
        ASSERT_OK(RepairLevelDb(failing.SmallOptions(), kPath));
      }
      auto db = failing.Open();
      ASSERT_OK(db);
      EXPECT_EQ(Scan(**db), shown);
      if (!was_hit) break;
    }
  }
}

TEST(ConvertInterrupted, DestroyTakesWhatAConversionLeft) {
  LevelDbDirectory directory = SmallDirectory();
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, directory.Finish());
  sim.files->AddFault({.op = FileOp::kRemove, .path_contains = ".l", .sticky = true});
  { ASSERT_OK(sim.Open()); }
  EXPECT_TRUE(HasName(*sim.files, ".log"));
  EXPECT_TRUE(HasName(*sim.files, "IMPORT"));
  sim.files->ClearFaults();
  ASSERT_OK(DB::Destroy(sim.SmallOptions(), kPath));
  EXPECT_EQ(ReadFiles(*sim.files, kPath), (Files{{"LOG", "text for people\n"}}));
}

// The conversion is committed durably, but LevelDB's files or IMPORT could not be removed.
void ConvertWithout(SimulatedEnv& sim, const std::string& removal, const Shown& shown) {
  sim.files->AddFault({.op = FileOp::kRemove, .path_contains = removal, .sticky = true});
  {
    auto db = sim.Open();
    ASSERT_OK(db);
    EXPECT_EQ(Scan(**db), shown);
  }
  ASSERT_TRUE(HasName(*sim.files, "IMPORT"));
  sim.files->ClearFaults();
}

TEST(ConvertInterrupted, ASalvageOfAConvertedDatabaseIsRefused) {
  for (const char* removal : {".l", "IMPORT"}) {
    SCOPED_TRACE(removal);
    LevelDbDirectory directory = SmallDirectory();
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kPath, directory.Finish());
    ConvertWithout(sim, removal, directory.shown());
    const auto is_refusal = StatusIs(Code::kInvalidArgument, HasSubstr("converted already"));
    const Files before = ReadFiles(*sim.files, kPath);
    EXPECT_THAT(RepairLevelDb(sim.SmallOptions(), kPath), is_refusal);
    EXPECT_EQ(ReadFiles(*sim.files, kPath), before);
    // The MANIFEST alone shows it too.
    ASSERT_OK(sim.files->Remove(kPath + "/CURRENT"));
    EXPECT_THAT(RepairLevelDb(sim.SmallOptions(), kPath), is_refusal);
    EXPECT_THAT(sim.Open(), StatusIs(Code::kCorruption, HasSubstr("`mergedb repair")));
    ASSERT_OK(sim.files->WriteWhole(kPath + "/CURRENT", before.at("CURRENT")));
    EXPECT_EQ(Scan(**sim.Open()), directory.shown());
    EXPECT_FALSE(HasName(*sim.files, "IMPORT"));
  }
}

// Without CURRENT it is unknown whether the earlier conversion was committed: its tables go to lost/.
TEST(ConvertInterrupted, ASalvageWithoutCurrentKeepsTheTablesOfAnEarlierConversion) {
  LevelDbDirectory directory = SmallDirectory();
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, directory.Finish());
  ConvertWithout(sim, ".l", directory.shown());
  const Files before = ReadFiles(*sim.files, kPath);
  for (const auto& [name, bytes] : before) {
    const bool stays = name == "IMPORT" || name.ends_with(".tbl") || name.ends_with(".ldb") || name.ends_with(".log");
    if (!stays) { ASSERT_OK(sim.files->Remove(kPath + "/" + name)); }
  }
  ASSERT_OK(RepairLevelDb(sim.SmallOptions(), kPath));
  size_t tables = 0;
  for (const auto& [name, bytes] : before) {
    if (!name.ends_with(".tbl")) continue;
    ++tables;
    ASSERT_OK_AND_ASSIGN(const std::string kept, sim.files->ReadWhole(kPath + "/lost/" + name));
    EXPECT_EQ(kept, bytes);
  }
  EXPECT_GT(tables, 0u);
  EXPECT_EQ(Scan(**sim.Open()), directory.shown());
}

// After a kill between the rename of CURRENT and the sync of the directory the commit is not durable.
TEST(ConvertInterrupted, ThePowerMayFailWhileTheNextOpenRemovesLevelDbsFiles) {
  LevelDbDirectory directory = SmallDirectory();
  const Files before = directory.Finish();
  uint64_t images = 0;
  for (uint64_t nth = 1; images == 0; ++nth) {
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kPath, before);
    sim.files->AddFault({.op = FileOp::kSyncDirectory, .nth = nth});
    ASSERT_FALSE(sim.Open().has_value());
    sim.files->ClearFaults();
    const auto owner = leveldb_import::OwnerOf(sim.files.get(), kPath);
    ASSERT_OK(owner);
    if (*owner == leveldb_import::Owner::kLevelDb) continue;  // not the sync after the rename
    bool is_opening = true;
    sim.files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
      if (!is_opening) return;
      for (const CrashMode mode : kPowerCutModes) {
        for (uint64_t seed = 0; seed < Sized(3, 50); ++seed) {
          SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path + " " + CrashModeName(mode));
          ++images;
          const auto image = SimulatedEnv::After(sim, mode, CrashModel::kStrict, op * 100 + seed);
          ExpectWholeOrUntouched(*image, before, directory.shown());
        }
      }
    });
    { ASSERT_OK(sim.Open()); }
    is_opening = false;
  }
  EXPECT_GT(images, 20u);
}

// In that state LevelDB's files are the only intact copy.
TEST(ConvertInterrupted, LevelDbsFilesStayUnlessTheConvertedDatabaseOpens) {
  LevelDbDirectory directory = SmallDirectory();
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, directory.Finish());
  ConvertWithout(sim, ".l", directory.shown());
  Files before = ReadFiles(*sim.files, kPath);
  std::erase_if(before,
                [](const auto& each) { return !each.first.ends_with(".ldb") && !each.first.ends_with(".log"); });
  ASSERT_EQ(before.size(), 2u);
  for (const auto& [name, bytes] : ReadFiles(*sim.files, kPath)) {
    if (name.ends_with(".tbl")) { ASSERT_OK(sim.files->Remove(kPath + "/" + name)); }
  }
  EXPECT_THAT(sim.Open(), StatusIs(Code::kCorruption, HasSubstr("LevelDB's files still exist")));
  for (const auto& [name, bytes] : before) EXPECT_TRUE(sim.files->ReadWhole(kPath + "/" + name).has_value()) << name;
  // A repair saves the intact part of the converted files, and the next open keeps LevelDB's files.
  ASSERT_OK(Repair(sim.SmallOptions(), kPath));
  EXPECT_EQ(Scan(**sim.Open()), Shown());
  EXPECT_FALSE(HasName(*sim.files, "IMPORT"));
  Files kept;
  for (const auto& [name, bytes] : before) {
    ASSERT_OK_AND_ASSIGN(kept[name], sim.files->ReadWhole(kPath + "/lost/" + name));
  }
  EXPECT_EQ(kept, before);
  SimulatedEnv again;
  WriteFiles(again.files.get(), kPath, kept);
  ASSERT_OK(RepairLevelDb(again.SmallOptions(), kPath));
  EXPECT_EQ(Scan(**again.Open()), directory.shown());
}

// LevelDB uses a directory whose conversion was interrupted; the next conversion starts from that state.
TEST(ConvertInterrupted, LevelDbMayGoOnMeanwhile) {
  LevelDbDirectory directory = SmallDirectory();
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, directory.Finish());
  sim.files->AddFault({.op = FileOp::kRename, .path_contains = "CURRENT", .sticky = true});
  auto image = [&] {
    EXPECT_FALSE(sim.Open());
    return SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, 1);
  }();
  ASSERT_OK(image->files->WriteWhole(kPath + "/IMPORT", "half"));  // as if the process had been killed
  ASSERT_OK(image->files->WriteWhole(kPath + "/000040.tbl", "half a table"));
  directory.AddTable(0, {{"later", 99, kv::Kind::kPut, "x"}});
  for (const auto& [name, bytes] : directory.Finish()) ASSERT_OK(image->files->WriteWhole(kPath + "/" + name, bytes));
  auto db = image->Open();
  ASSERT_OK(db);
  EXPECT_EQ(Scan(**db), directory.shown());
  EXPECT_FALSE(HasName(*image->files, "000040.tbl"));
}

}  // namespace
}  // namespace mergedb::testing
