// Goal: an inspection finds which MANIFEST leads to the newest state, which files are damaged and what their loss
// means, and changes nothing. Method: one small database in memory, killed or closed, with chosen damage. tests/flips
// damages every byte.
#include "repair/inspection.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/whole_database.h"
#include "tests/leveldb/leveldb_directory.h"

namespace mergedb::repair {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace mergedb::testing;

const std::string kPath = SimulatedEnv::kPath;
const kv::Order kBytewise{BytewiseComparator()};

const WholeDatabase& Closed() {
  static const WholeDatabase database({.is_closed = true, .separates = true});
  return database;
}
const WholeDatabase& Killed() {
  static const WholeDatabase database({.is_closed = false, .separates = true});
  return database;
}

class InspectionTest : public ::testing::Test {
 protected:
  void Use(const WholeDatabase& database) { sim_ = database.Copy(); }
  FaultFileSystem& files() { return *sim_->files; }
  Result<Inspection> Look(const kv::Order& order = kBytewise, const Progress& progress = {}) {
    return Inspect({.file_system = sim_->files.get(), .directory = kPath, .order = order, .progress = progress});
  }
  std::string CurrentManifest() {
    return format::PrintFileName(format::FileKind::kManifest, manifest::ReadCurrent(&files(), kPath).value().manifest);
  }
  static std::vector<std::string> Texts(const Inspection& inspection) {
    std::vector<std::string> texts;
    for (const Damage& damage : inspection.report.damages) texts.push_back(ToText(damage));
    return texts;
  }
  // A table with blocks that the MANIFEST names.
  std::string LiveTable(const WholeDatabase& database) {
    for (const std::string& path : database.Files(".tbl")) {
      if (database.IsLiveTable(path)) return path;
    }
    return "";
  }

  std::unique_ptr<SimulatedEnv> sim_;
};

TEST_F(InspectionTest, AWholeDatabaseHasNoDamageAndEveryFileIsRead) {
  for (const WholeDatabase* database : {&Closed(), &Killed()}) {
    Use(*database);
    const uint64_t before = files().Fingerprint();
    uint64_t last_done = 0;
    ASSERT_OK_AND_ASSIGN(const Inspection found, Look(kBytewise, [&](uint64_t done, uint64_t all) {
                           EXPECT_GE(done, last_done);
                           EXPECT_LE(done, all);
                           last_done = done;
                           return true;
                         }));
    EXPECT_THAT(Texts(found), IsEmpty());
    ASSERT_TRUE(found.loaded.has_value());
    EXPECT_TRUE(found.is_current_right);
    EXPECT_TRUE(found.is_wal_whole());
    EXPECT_FALSE(found.has_marker);
    EXPECT_EQ(found.tables.size(), found.loaded->version->files().size());
    EXPECT_EQ(found.report.tables, found.tables.size());
    uint64_t entries = 0;
    for (const auto& meta : found.loaded->version->file_metas()) entries += meta->entries;
    EXPECT_EQ(found.report.entries, entries);
    EXPECT_GT(last_done, 0u);
    EXPECT_EQ(files().Fingerprint(), before) << "an inspection writes nothing";
  }
}

// ---- which MANIFEST -------------------------------------------------------------------------------------------

TEST_F(InspectionTest, WithoutCurrentTheManifestThatLeadsToTheNewestStateIsUsed) {
  for (const bool is_missing : {true, false}) {
    Use(Killed());
    const std::string name = CurrentManifest();
    if (is_missing) {
      ASSERT_OK(files().Remove(kPath + "/CURRENT"));
    } else {
      ASSERT_OK(files().FlipBit(kPath + "/CURRENT", 20, 3));
    }
    ASSERT_OK_AND_ASSIGN(const Inspection found, Look());
    EXPECT_FALSE(found.current.has_value());
    EXPECT_FALSE(found.is_current_right);
    ASSERT_TRUE(found.loaded.has_value());
    ASSERT_EQ(found.report.damages.size(), 1u);
    EXPECT_EQ(found.report.damages.front().file, "CURRENT");
    EXPECT_FALSE(found.report.damages.front().loses_entries);
    EXPECT_THAT(found.report.notes, Contains(name + ": used instead"));
    EXPECT_TRUE(found.is_wal_whole());
  }
}

// Without a MANIFEST it is not known which tables are obsolete.
TEST_F(InspectionTest, WithoutAManifestEveryTableCountsAndTheWalDescribesItself) {
  Use(Killed());
  const std::string name = CurrentManifest();
  for (const std::string& path : Killed().Files()) {
    if (path.find("MANIFEST") != std::string::npos) { ASSERT_OK(files().Remove(path)); }
  }
  ASSERT_OK_AND_ASSIGN(const Inspection found, Look());
  EXPECT_FALSE(found.loaded.has_value());
  EXPECT_THAT(Texts(found), Contains(HasSubstr(name + ": missing, but CURRENT names it")));
  EXPECT_THAT(Texts(found), Contains(AllOf(HasSubstr("no MANIFEST is valid"), HasSubstr("may be lost"))));
  EXPECT_EQ(found.tables.size(), Killed().Files(".tbl").size());
  for (const auto& [number, table] : found.tables) EXPECT_NE(table.meta, nullptr) << kv::ToInt(number);
  EXPECT_TRUE(found.origin.has_value()) << "the heads of the segments name the epoch";
}

// ---- tables and blob files ------------------------------------------------------------------------------------

TEST_F(InspectionTest, ADamagedBlockConcernsItsTableAndItsKeysOnly) {
  Use(Closed());
  const std::string path = LiveTable(Closed());
  ASSERT_NE(path, "");
  ASSERT_OK(files().FlipBit(path, 100, 2));
  ASSERT_OK_AND_ASSIGN(const Inspection found, Look());
  ASSERT_FALSE(found.report.damages.empty());
  for (const auto& [number, table] : found.tables) {
    EXPECT_EQ(table.is_whole(), format::TablePath(kPath, number) != path) << kv::ToInt(number);
    if (table.is_whole()) continue;
    EXPECT_TRUE(table.is_there);
    EXPECT_TRUE(table.loses_entries());
    EXPECT_EQ(found.report.damages.front().file, BaseName(path));
    ASSERT_TRUE(found.report.damages.front().smallest_key.has_value());
    EXPECT_GE(*found.report.damages.front().smallest_key, table.meta->smallest);
  }
}

TEST_F(InspectionTest, AMissingTableLosesTheKeysBetweenItsBounds) {
  Use(Closed());
  const std::string path = LiveTable(Closed());
  ASSERT_OK(files().Remove(path));
  ASSERT_OK_AND_ASSIGN(Inspection found, Look());
  ASSERT_EQ(found.report.damages.size(), 1u);
  const Damage& damage = found.report.damages.front();
  EXPECT_EQ(damage.file, BaseName(path));
  EXPECT_EQ(damage.what, "missing");
  EXPECT_TRUE(damage.loses_entries);
  const TableFinding& table = found.tables.at(format::ParseFileName(BaseName(path))->number);
  EXPECT_FALSE(table.is_there);
  EXPECT_FALSE(table.is_of_use());
  EXPECT_EQ(damage.smallest_key, table.meta->smallest);
  EXPECT_EQ(damage.largest_key, table.meta->largest);

  ASSERT_OK(files().CreateDirectory(path));
  ASSERT_OK_AND_ASSIGN(found, Look());
  ASSERT_EQ(found.report.damages.size(), 1u);
  EXPECT_EQ(found.report.damages.front().what, "not a regular file");
}

TEST_F(InspectionTest, AMissingBlobFileLosesValuesOfTheTablesThatReferToIt) {
  Use(Closed());
  const std::vector<std::string> blobs = Closed().Files(".val");
  ASSERT_FALSE(blobs.empty());
  ASSERT_OK(files().Remove(blobs.front()));
  const kv::FileNumber number = format::ParseFileName(BaseName(blobs.front()))->number;
  ASSERT_OK_AND_ASSIGN(const Inspection found, Look());
  EXPECT_THAT(Texts(found), Contains(StartsWith(BaseName(blobs.front()) + ": missing; entries of keys from \"k")));
  for (const auto& [id, table] : found.tables) {
    bool refers = false;
    for (const auto& share : table.meta->values) refers |= share.file == number;
    EXPECT_EQ(table.refers_to_damaged, refers) << kv::ToInt(id);
    EXPECT_EQ(table.lost_values.empty(), !refers) << kv::ToInt(id);
    EXPECT_TRUE(table.flaws.empty());
  }
}

// ---- the WAL and the rest -------------------------------------------------------------------------------------

TEST_F(InspectionTest, AMissingPartOfTheWalIsDamage) {
  Use(Killed());
  std::vector<std::string> segments = Killed().Files(".seg");
  if (segments.empty()) segments = Killed().Files("STAGING");
  ASSERT_FALSE(segments.empty());
  for (const std::string& path : segments) ASSERT_OK(files().Remove(path));
  if (files().ReadWhole(kPath + "/STAGING")) { ASSERT_OK(files().Remove(kPath + "/STAGING")); }
  ASSERT_OK_AND_ASSIGN(const Inspection found, Look());
  EXPECT_FALSE(found.is_wal_whole());
  bool loses = false;
  for (const Damage& damage : found.report.damages) loses |= damage.loses_entries;
  EXPECT_TRUE(loses);
}

TEST_F(InspectionTest, FilesThatNothingNamesAreNotesAndNoDamage) {
  Use(Closed());
  ASSERT_OK(files().WriteWhole(kPath + "/000901.tbl", "x"));
  ASSERT_OK(files().WriteWhole(kPath + "/000902.val", "x"));
  ASSERT_OK(files().WriteWhole(kPath + "/notes\n.txt", "x"));
  for (const char* log : {"/LOG", "/LOG.old"}) ASSERT_OK(files().WriteWhole(kPath + log, "{}\n"));
  ASSERT_OK(files().CreateDirectory(kPath + "/lost"));
  ASSERT_OK_AND_ASSIGN(Inspection found, Look());
  EXPECT_THAT(Texts(found), IsEmpty());
  EXPECT_THAT(found.report.notes,
              AllOf(Contains("000901.tbl: the MANIFEST does not name it; the next open removes it"),
                    Contains("000902.val: the MANIFEST does not name it; the next open removes it"),
                    Contains(HasSubstr(".txt: not a file of mergedb")), ::testing::Not(Contains(HasSubstr("lost"))),
                    ::testing::Not(Contains(HasSubstr("LOG")))));
  EXPECT_THAT(found.report.notes, ::testing::Not(Contains(HasSubstr("\n")))) << "names are escaped";
  // With KEEP the next open moves them.
  ASSERT_OK(files().WriteWhole(kPath + "/KEEP", "x"));
  ASSERT_OK_AND_ASSIGN(found, Look());
  EXPECT_THAT(found.report.notes,
              Contains("000901.tbl: the MANIFEST does not name it; the next open moves it to lost/"));
}

TEST_F(InspectionTest, AnInterruptedRepairIsDamage) {
  Use(Closed());
  ASSERT_OK(files().WriteWhole(kPath + "/REPAIR", "x"));
  ASSERT_OK_AND_ASSIGN(const Inspection found, Look());
  EXPECT_TRUE(found.has_marker);
  EXPECT_THAT(Texts(found), ::testing::ElementsAre(HasSubstr("REPAIR: a repair was interrupted")));
}

// ---- refusals -------------------------------------------------------------------------------------------------

TEST_F(InspectionTest, WhatIsNoDamageIsAnError) {
  Use(Closed());
  EXPECT_THAT(Look(kBytewise, [](uint64_t, uint64_t) { return false; }), StatusIs(Code::kAborted, HasSubstr(kPath)));
  class Named final : public Comparator {
   public:
    int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
    std::string_view Name() const override { return "test.named"; }
  };
  const Named named;
  EXPECT_THAT(Look(kv::Order(&named)), StatusIs(Code::kInvalidArgument, HasSubstr("test.named")));
  // No file descriptor is left: nothing is known about the files.
  files().AddFault(
      {.op = FileOp::kOpen, .path_contains = ".tbl", .sticky = true, .status = Status::Busy("no descriptor")});
  EXPECT_THAT(Look(), StatusIs(Code::kBusy));
}

TEST(CheckIsDatabase, OnlyADirectoryWithFilesOfMergedbIsOne) {
  FaultFileSystem files;
  const auto check = [&] { return CheckIsDatabase(&files, "/d"); };
  EXPECT_THAT(check(), StatusIs(Code::kNotFound, HasSubstr("no such directory")));
  ASSERT_OK(files.CreateDirectory("/d"));
  for (const char* name : {"LOCK", "CURRENT.tmp", "notes.txt", "000005.ldb"})
    ASSERT_OK(files.WriteWhole(std::string("/d/") + name, "x"));
  EXPECT_THAT(check(), StatusIs(Code::kNotFound, HasSubstr("no database")));
  ASSERT_OK(files.Remove("/d/000005.ldb"));
  ASSERT_OK(files.WriteWhole("/d/000007.tbl", "x"));
  EXPECT_OK(check()) << "CURRENT may be lost";
  ASSERT_OK(files.Remove("/d/000007.tbl"));
  for (const auto& [name, bytes] : LevelDbDirectory().Finish()) ASSERT_OK(files.WriteWhole("/d/" + name, bytes));
  EXPECT_THAT(check(), StatusIs(Code::kInvalidArgument, HasSubstr("a LevelDB database")));
  ASSERT_OK(files.WriteWhole("/d/OPTIONS-000001", "x"));
  EXPECT_THAT(check(), StatusIs(Code::kNotSupported, HasSubstr("RocksDB")));
}

TEST(LockForRepair, VerifyWorksWithoutALockWhereItCannotMakeOne) {
  FaultFileSystem files;
  ASSERT_OK(files.CreateDirectory("/d"));
  ASSERT_OK_AND_ASSIGN(auto lock, LockForRepair(&files, "/d", false));
  EXPECT_EQ(lock, nullptr);
  EXPECT_THAT(files.Files(), IsEmpty()) << "Verify makes no file";
  ASSERT_OK_AND_ASSIGN(lock, LockForRepair(&files, "/d", true));
  EXPECT_NE(lock, nullptr);
  for (const bool may_create : {false, true})
    EXPECT_THAT(LockForRepair(&files, "/d", may_create), StatusIs(Code::kBusy));
  lock = nullptr;
  files.AddFault({.op = FileOp::kLock, .sticky = true});
  ASSERT_OK_AND_ASSIGN(lock, LockForRepair(&files, "/d", false));
  EXPECT_EQ(lock, nullptr) << "a read-only file system";
  EXPECT_THAT(LockForRepair(&files, "/d", true), StatusIs(Code::kIOError)) << "a repair writes";
}

}  // namespace
}  // namespace mergedb::repair
