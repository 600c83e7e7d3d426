// Goal: the export of a database shows the same contents as the database: merge operands folded, deletes and
// range deletes applied, in any order of keys. An export that failed or was interrupted is no database to
// LevelDB, and can be run again.
// Method: exports in memory, read back by the import; errors and crashes at every operation.
// tests/leveldb/stock_test.cc tests that LevelDB itself reads exports.
#include "leveldb/import/export.h"

#include <gtest/gtest.h>

#include "leveldb/import/directory.h"
#include "mergedb/merge.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "tests/leveldb/leveldb_directory.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;

const std::string kTarget = "/out";

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() : db_(std::move(sim_.Open()).value()) {}

  void Fill(int keys) {
    base::Random random(1);
    for (int i = 0; i < keys; ++i)
      ASSERT_OK(db_->Put({}, "key" + std::to_string(random.Uniform(100'000)), std::string(random.Uniform(200), 'v')));
  }
  Result<LevelDbExport> Export(const LevelDbExportOptions& options = {}) {
    return ExportToLevelDb(*db_, sim_.SmallOptions(), kTarget, options);
  }
  // Opens a copy of the export, which converts the copy.
  static Shown ReadBack(SimulatedEnv& sim) {
    SimulatedEnv copy;
    WriteFiles(copy.files.get(), SimulatedEnv::kPath, ReadFiles(*sim.files, kTarget));
    auto db = copy.Open();
    EXPECT_OK(db.status());
    return db ? Scan(**db) : Shown();
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
};

// Two exports to one directory would remove each other's files.
TEST_F(ExportTest, IsBusyWhileAnotherExportWritesToTheDirectory) {
  Fill(100);
  ASSERT_OK(sim_.files->CreateDirectory(kTarget));
  {
    ASSERT_OK_AND_ASSIGN(const auto other, sim_.files->Lock(kTarget + "/LOCK"));
    EXPECT_THAT(Export().status(), StatusIs(Code::kBusy, HasSubstr(kTarget + ": another export")));
    EXPECT_EQ(ReadFiles(*sim_.files, kTarget).size(), 1u) << "LOCK";
  }
  ASSERT_OK(Export().status());
  EXPECT_EQ(ReadBack(sim_), Scan(*db_));
  EXPECT_THAT(Export().status(), StatusIs(Code::kInvalidArgument)) << "it is not empty any more";
}

TEST_F(ExportTest, ShowsWhatTheDatabaseShows) {
  Fill(2000);
  ASSERT_OK(db_->Delete({}, Scan(*db_).begin()->first));
  ASSERT_OK(db_->DeleteRange({}, "key3", "key5"));
  ASSERT_OK(db_->Merge({}, "counter", merge::AddU64(5)));
  ASSERT_OK(db_->Merge({}, "counter", merge::AddU64(7)));
  ASSERT_OK(db_->Put({}, "", "empty key"));
  const Shown shown = Scan(*db_);
  ASSERT_OK_AND_ASSIGN(const LevelDbExport exported, Export({.table_bytes = 10'000}));
  EXPECT_EQ(exported.entries, shown.size());
  EXPECT_GT(exported.tables, 1u);
  EXPECT_EQ(ReadBack(sim_), shown);
  EXPECT_FALSE(ReadFiles(*sim_.files, kTarget).contains("EXPORT"));
  EXPECT_EQ(Scan(*db_), shown) << "the database itself is as it was";
}

TEST_F(ExportTest, NothingIsADatabaseToo) {
  ASSERT_OK_AND_ASSIGN(const LevelDbExport exported, Export());
  EXPECT_EQ(exported.tables, 0u);
  EXPECT_EQ(ReadBack(sim_), Shown());
}

TEST_F(ExportTest, CodecsAndFiltersAreChosen) {
  Fill(300);
  const Shown shown = Scan(*db_);
  for (const Compression compression : {Compression::kNone, Compression::kSnappy, Compression::kZstd}) {
    SimulatedEnv target;
    Options options = sim_.SmallOptions();
    options.env.file_system = target.files.get();
    ASSERT_OK(ExportToLevelDb(
        *db_, options, kTarget,
        {.compression = compression, .bloom_bits_per_key = compression == Compression::kNone ? 0 : 10}));
    EXPECT_EQ(ReadBack(target), shown);
  }
  EXPECT_THAT(Export({.compression = Compression::kLz4}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Export({.table_bytes = 0}), StatusIs(Code::kInvalidArgument));
}

TEST_F(ExportTest, OtherFilesAreNotTouched) {
  ASSERT_OK(sim_.files->CreateDirectory(kTarget));
  ASSERT_OK(sim_.files->WriteWhole(kTarget + "/mine", "x"));
  EXPECT_THAT(Export(), StatusIs(Code::kInvalidArgument, HasSubstr("found mine")));
  EXPECT_THAT(ExportToLevelDb(*db_, sim_.SmallOptions(), SimulatedEnv::kPath), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(ReadFiles(*sim_.files, kTarget), (Files{{"mine", "x"}}));
}

TEST_F(ExportTest, ASecondExportDoesNotReplaceTheFirst) {
  Fill(10);
  ASSERT_OK(Export());
  EXPECT_THAT(Export(), StatusIs(Code::kInvalidArgument));
}

TEST_F(ExportTest, AKeyThatCannotBeFoldedFailsTheExport) {
  Fill(100);
  ASSERT_OK(db_->Put({}, "bad", "not a number"));
  ASSERT_OK(db_->Merge({}, "bad", merge::AddU64(1)));
  EXPECT_THAT(Export(), StatusIs(Code::kMergeFailed, HasSubstr("bad")));
  EXPECT_EQ(ReadFiles(*sim_.files, kTarget), Files());
  ASSERT_OK(db_->Delete({}, "bad"));
  ASSERT_OK(Export());
}

TEST_F(ExportTest, KeyspacesAreExportedEachByItself) {
  ASSERT_OK(db_->Put({}, "default", "1"));
  ASSERT_OK_AND_ASSIGN(const Keyspace named, db_->CreateKeyspace("named"));
  ASSERT_OK(db_->Put({}, named, "inside", "2"));
  EXPECT_THAT(Export(), StatusIs(Code::kNotSupported, HasSubstr("\"named\"; export each keyspace separately")));
  for (const auto& [keyspace, shown] :
       {std::pair(Keyspace(), Shown{{"default", "1"}}), std::pair(named, Shown{{"inside", "2"}})}) {
    SimulatedEnv target;
    Options options = sim_.SmallOptions();
    options.env.file_system = target.files.get();
    ASSERT_OK(ExportToLevelDb(*db_, options, kTarget, {.keyspace = keyspace}));
    EXPECT_EQ(ReadBack(target), shown);
  }
}

TEST_F(ExportTest, GivesUpOnRequest) {
  Fill(500);
  EXPECT_THAT(Export({.table_bytes = 1000, .progress = [](uint64_t, uint64_t) { return false; }}),
              StatusIs(Code::kAborted));
  EXPECT_EQ(ReadFiles(*sim_.files, kTarget), Files());
}

// To LevelDB a directory without CURRENT is no database.
void ExpectNoneOrWhole(SimulatedEnv& sim, const Shown& shown) {
  const Files files = ReadFiles(*sim.files, kTarget);
  if (!files.contains("CURRENT")) return;
  Files whole = files;
  whole.erase("EXPORT");
  SimulatedEnv copy;
  WriteFiles(copy.files.get(), SimulatedEnv::kPath, whole);
  auto db = copy.Open();
  ASSERT_OK(db);
  EXPECT_EQ(Scan(**db), shown);
}

TEST_F(ExportTest, InterruptedAnywhereItIsNoDatabaseOrWhole) {
  Fill(60);
  const Shown shown = Scan(*db_);
  std::set<uint64_t> seen;
  sim_.files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    std::vector<CrashMode> modes(std::begin(kPowerCutModes), std::end(kPowerCutModes));
    modes.push_back(CrashMode::kKill);
    for (const CrashMode mode : modes) {
      auto image = SimulatedEnv::After(sim_, mode, CrashModel::kStrict, op);
      if (!seen.insert(image->files->Fingerprint()).second) continue;
      SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path + " " + CrashModeName(mode));
      ExpectNoneOrWhole(*image, shown);
      // A second run gives the same result, unless the export was complete.
      auto again = ExportToLevelDb(*db_,
                                   [&] {
                                     Options options = image->SmallOptions();
                                     return options;
                                   }(),
                                   kTarget, {.table_bytes = 1000});
      if (!again) { EXPECT_THAT(again, StatusIs(Code::kInvalidArgument)); }
      ExpectNoneOrWhole(*image, shown);
    }
  });
  ASSERT_OK(Export({.table_bytes = 1000}));
  sim_.files->SetOpHook(nullptr);
  EXPECT_GT(seen.size(), 10u);
}

TEST_F(ExportTest, AnErrorOfAnyOperationCanBeTriedAgain) {
  Fill(60);
  const Shown shown = Scan(*db_);
  for (const bool sticky : {false, true}) {
    for (uint64_t nth = 1;; ++nth) {
      SCOPED_TRACE("operation " + std::to_string(nth) + (sticky ? " and all after it" : ""));
      SimulatedEnv target;
      Options options = sim_.SmallOptions();
      options.env.file_system = target.files.get();
      target.files->AddFault({.op = FileOp::kAny, .nth = nth, .sticky = sticky});
      const auto failed = ExportToLevelDb(*db_, options, kTarget, {.table_bytes = 1000});
      const bool was_hit = target.files->faults_hit() > 0;
      target.files->ClearFaults();
      ExpectNoneOrWhole(target, shown);
      if (!was_hit) break;
      if (!failed) {
        const auto again = ExportToLevelDb(*db_, options, kTarget, {.table_bytes = 1000});
        // Once CURRENT exists the export is complete, whatever failed.
        if (!again) {
          EXPECT_TRUE(again.error().IsInvalidArgument() && ReadFiles(*target.files, kTarget).contains("CURRENT"))
              << again.error().ToString();
        }
      }
      EXPECT_EQ(ReadBack(target), shown);
    }
  }
}

}  // namespace
}  // namespace mergedb::testing
