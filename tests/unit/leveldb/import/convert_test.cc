// Goal: a conversion takes of each key the newest put, goes on from LevelDB's sequences, and commits by one rename:
// before it the LevelDB database is as it was, after it the directory is mergedb's. Nothing that may be the only copy
// is deleted. Method: conversions of small directories in memory, ended or killed at chosen operations.
// tests/leveldb/convert_test.cc converts whole and damaged databases under every fault.
#include "leveldb/import/convert.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "manifest/loader.h"
#include "mergedb/leveldb.h"
#include "testing/simulated_env.h"
#include "tests/unit/leveldb/import/sources.h"

namespace mergedb::leveldb_import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace mergedb::testing;

class ConvertTest : public ::testing::Test {
 protected:
  static Result<Converted> Run(SimulatedEnv& sim, bool saves_what_is_whole = false,
                               std::function<Status(uint64_t, uint64_t)> progress = {}) {
    const Options options = sim.SmallOptions();
    const kv::Order order(BytewiseComparator());
    return Convert({.options = options,
                    .directory = kHome,
                    .order = order,
                    .saves_what_is_whole = saves_what_is_whole,
                    .progress = std::move(progress)});
  }
  Result<Converted> Run(bool saves_what_is_whole = false) { return Run(sim_, saves_what_is_whole); }
  void Write(const Files& files) { WriteFiles(sim_.files.get(), kHome, files); }
  void Write(const std::string& name, std::string_view bytes) {
    ASSERT_OK(sim_.files->WriteWhole(kHome + "/" + name, bytes));
  }
  Files Now() { return ReadFiles(*sim_.files, kHome); }
  Shown Opened() { return Opened(sim_); }
  static Shown Opened(SimulatedEnv& sim) {
    auto db = sim.Open();
    EXPECT_OK(db.status());
    return db ? Scan(**db) : Shown();
  }
  // Two tables and a log; sequences 1 to 9; 000002.ldb, 000003.ldb, 000004.log.
  static LevelDbDirectory SmallDirectory() {
    LevelDbDirectory directory;
    directory.AddTable(1, {Put("a", 1, "old"), Put("b", 2, "old"), Put("c", 3, "3")});
    directory.AddTable(0, {Deleted("a", 5), Put("b", 4, "older than the log")});
    directory.AddLog({{Put("b", 6, "6"), Put("d", 7, "7")}, {Deleted("d", 8)}, {Put("e", 9, "9")}});
    return directory;
  }
  static std::vector<std::string> Names(const Files& files) {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files) names.push_back(name);
    return names;
  }

  SimulatedEnv sim_;
};

TEST_F(ConvertTest, TakesOfEachKeyTheNewestPutAndGoesOnFromItsSequence) {
  LevelDbDirectory directory = SmallDirectory();
  Write(directory.Finish());
  uint64_t bytes = 0;
  for (const auto& [name, contents] : Now()) {
    if (name.ends_with(".ldb") || name.ends_with(".log")) bytes += contents.size();
  }
  ASSERT_OK_AND_ASSIGN(const Converted converted, Run());
  EXPECT_EQ(converted.entries, 3u) << "b, c and e; deleted keys are no entries";
  EXPECT_EQ(converted.tables, 2u);
  EXPECT_EQ(converted.logs, 1u);
  EXPECT_EQ(converted.bytes_before, bytes);
  EXPECT_EQ(converted.report, "");
  EXPECT_TRUE(converted.losses.empty());
  // The numbers of LevelDB's files end at 5, and its next number is 6.
  EXPECT_THAT(Names(Now()), ElementsAre("000007.tbl", "CURRENT", "LOCK", "LOG", "MANIFEST-000008"));
  EXPECT_EQ(converted.bytes_after, Now().at("000007.tbl").size());
  ASSERT_OK_AND_ASSIGN(const manifest::Loaded loaded,
                       manifest::Load(sim_.files.get(), kHome, kv::Order(BytewiseComparator())));
  EXPECT_EQ(loaded.last_sequence, 9u);
  EXPECT_EQ(kv::ToInt(loaded.next_file), 9u);
  EXPECT_NE(loaded.database_id, 0u);
  EXPECT_EQ(Opened(), (Shown{{"b", "6"}, {"c", "3"}, {"e", "9"}}));
}

TEST_F(ConvertTest, MissingTablesAreNamedOrAreLosses) {
  Files files = SmallDirectory().Finish();
  files.erase("000002.ldb");
  Write(files);
  EXPECT_THAT(Run(), StatusIs(Code::kCorruption, AllOf(HasSubstr("/db: converting from LevelDB"),
                                                       HasSubstr("1 missing files; e.g.: /db/000002.ldb"))));
  EXPECT_EQ(Now(), files);
  ASSERT_OK_AND_ASSIGN(const Converted converted, Run(true));
  ASSERT_EQ(converted.losses.size(), 1u);
  EXPECT_EQ(converted.losses.front().name, "000002.ldb");
  EXPECT_EQ(Opened(), (Shown{{"b", "6"}, {"e", "9"}}));
  // Since something is lost, LevelDB's files may be needed again.
  for (const char* name : {"000003.ldb", "000004.log", "MANIFEST-000005"})
    EXPECT_EQ(Now()["lost/" + std::string(name)], files.at(name)) << name;
}

// ---- interruptions --------------------------------------------------------------------------------------------

TEST_F(ConvertTest, TheCallerMayEndItAnywhereAndNothingHasChanged) {
  const Files before = SmallDirectory().Finish();
  Write(before);
  bool was_ended = true;
  for (int nth = 1; was_ended; ++nth) {
    ASSERT_LT(nth, 100);
    SCOPED_TRACE(nth);
    int calls = 0;
    was_ended = false;
    const auto converted = Run(sim_, false, [&](uint64_t done, uint64_t all) {
      EXPECT_LE(done, all);
      if (++calls < nth) return Status();
      was_ended = true;
      return Status::Aborted("enough");
    });
    if (was_ended) {
      EXPECT_THAT(converted, StatusIs(Code::kAborted, HasSubstr("enough")));
      EXPECT_EQ(Now(), before);
    } else {
      EXPECT_GE(nth, 4) << "a log and two tables";
      EXPECT_OK(converted);
    }
  }
  EXPECT_EQ(Opened(), SmallDirectory().shown());
}

TEST_F(ConvertTest, KilledBeforeTheRenameTheDatabaseIsLevelDbsAndAfterItMergedbs) {
  LevelDbDirectory directory = SmallDirectory();
  const Files before = directory.Finish();
  Write(before);
  int of_leveldb = 0, of_mergedb = 0;
  bool is_converting = true, is_renamed = false;
  sim_.files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    if (!is_converting) return;
    SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path);
    const auto image = SimulatedEnv::After(sim_, CrashMode::kKill, CrashModel::kStrict, op);
    const auto owner = OwnerOf(image->files.get(), kHome);
    ASSERT_OK(owner);
    EXPECT_EQ(*owner == Owner::kLevelDb, !is_renamed);
    if (*owner == Owner::kLevelDb) {
      ++of_leveldb;
      Files now = ReadFiles(*image->files, kHome);
      for (const auto& [name, bytes] : before) EXPECT_EQ(now[name], bytes) << name;
      ASSERT_OK(Run(*image));
      // What the first attempt left is gone: one table and one MANIFEST.
      now = ReadFiles(*image->files, kHome);
      EXPECT_EQ(std::count_if(now.begin(), now.end(), [](const auto& each) { return each.first.ends_with(".tbl"); }),
                1);
      EXPECT_FALSE(now.contains("IMPORT"));
    } else {
      ++of_mergedb;
    }
    EXPECT_EQ(Opened(*image), directory.shown());
    is_renamed |= std::string_view(what) == OpName(FileOp::kRename);
  });
  ASSERT_OK(Run());
  is_converting = false;
  EXPECT_GT(of_leveldb, 5);
  EXPECT_GT(of_mergedb, 3);
}

// If the rename of CURRENT reports an error, either CURRENT may be the durable one.
TEST_F(ConvertTest, AfterACommitOfUnknownOutcomeBothDatabasesStay) {
  LevelDbDirectory directory = SmallDirectory();
  const Files before = directory.Finish();
  Write(before);
  sim_.files->AddFault({.op = FileOp::kRename, .path_contains = "CURRENT", .has_happened = true});
  const auto converted = Run();
  EXPECT_THAT(converted, StatusIs(Code::kIOError));
  EXPECT_TRUE(converted.error().outcome_unknown());
  Files now = Now();
  for (const auto& [name, bytes] : before) {
    if (name != "CURRENT") { EXPECT_EQ(now[name], bytes) << name; }
  }
  EXPECT_TRUE(now.contains("IMPORT"));
  EXPECT_EQ(Opened(), directory.shown());

  SimulatedEnv other;
  WriteFiles(other.files.get(), kHome, before);
  other.files->AddFault({.op = FileOp::kRename, .path_contains = "CURRENT"});
  const auto failed = Run(other);
  EXPECT_THAT(failed, StatusIs(Code::kIOError));
  EXPECT_FALSE(failed.error().outcome_unknown());
  EXPECT_EQ(ReadFiles(*other.files, kHome), before);
}

TEST_F(ConvertTest, AFullDiskIsExplainedAndLeavesNothing) {
  const Files before = SmallDirectory().Finish();
  Write(before);
  sim_.files->SetCapacity(sim_.files->bytes_used() + 4096);
  EXPECT_THAT(Run(),
              StatusIs(Code::kNoSpace, AllOf(HasSubstr("free space"), HasSubstr("LevelDB's files are unchanged"))));
  EXPECT_EQ(Now(), before);
}

// Without LevelDB's CURRENT an earlier conversion may have been committed: its tables may be the only copy.
TEST_F(ConvertTest, TablesOfAnEarlierConversionAreMovedUnlessCurrentIsLevelDbs) {
  for (const bool has_current : {true, false}) {
    SCOPED_TRACE(has_current);
    SimulatedEnv sim;
    Files files = SmallDirectory().Finish();
    files["IMPORT"] = "";
    files["000020.tbl"] = "earlier";
    if (!has_current) files.erase("CURRENT");
    WriteFiles(sim.files.get(), kHome, files);
    ASSERT_OK(sim.files->CreateDirectory(kHome + "/lost"));
    ASSERT_OK(sim.files->WriteWhole(kHome + "/lost/000020.tbl", "earliest"));
    ASSERT_OK(Run(sim, true));
    const Files now = ReadFiles(*sim.files, kHome);
    EXPECT_FALSE(now.contains("000020.tbl"));
    EXPECT_EQ(now.at("lost/000020.tbl"), "earliest");
    EXPECT_EQ(now.contains("lost/000020.tbl.1"), !has_current);
    if (!has_current) { EXPECT_EQ(now.at("lost/000020.tbl.1"), "earlier"); }
    EXPECT_EQ(Opened(sim), SmallDirectory().shown());
  }
}

// ---- a MANIFEST that is cut short -----------------------------------------------------------------------------

// The logs hold what an unfinished edit would have named, if no sequence is missing between the MANIFEST and them.
TEST_F(ConvertTest, AManifestThatIsCutShortIsEnoughIfTheLogsGoOnWhereItEnds) {
  for (const kv::Sequence first : {10, 11, 12}) {
    SCOPED_TRACE(first);
    LevelDbDirectory directory;
    directory.AddTable(1, {Put("a", 10, "1")});
    const uint64_t number = directory.AddLog({{Put("b", first, "2")}});
    directory.edit().added.back().second.largest = directory.edit().added.back().second.smallest;
    auto edit = FirstEdit(number, 9, 10);
    edit.added = directory.edit().added;
    Files files = directory.Finish();
    const std::string name = "MANIFEST-000004";
    ASSERT_TRUE(files.contains(name));
    files[name] = ManifestOf({edit, edit});
    files[name].pop_back();
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kHome, files);
    const auto converted = Run(sim);
    if (first <= 11) {
      EXPECT_OK(converted);
      EXPECT_EQ(Opened(sim), (Shown{{"a", "1"}, {"b", "2"}}));
      continue;
    }
    EXPECT_THAT(converted, StatusIs(Code::kCorruption, HasSubstr("it knows of sequence 10, but the logs begin at 12")));
    EXPECT_EQ(ReadFiles(*sim.files, kHome), files);
    ASSERT_OK_AND_ASSIGN(const Converted saved, Run(sim, true));
    EXPECT_EQ(saved.losses.size(), 1u);
  }
}

// ---- LevelDB's files afterwards -------------------------------------------------------------------------------

// A directory after a commit whose process was killed before it removed LevelDB's files.
class RemoveSourceTest : public ConvertTest {
 protected:
  void SetUp() override {
    before_ = SmallDirectory().Finish();
    Write(before_);
    sim_.files->AddFault({.op = FileOp::kRemove, .path_contains = ".l", .sticky = true});
    ASSERT_OK(Run());
    sim_.files->ClearFaults();
    ASSERT_TRUE(Now().contains("IMPORT"));
    ASSERT_TRUE(Now().contains("000002.ldb"));
    Write("notes.txt", "mine");
  }
  Status RemoveAgain() { return RemoveSource(sim_.files.get(), kHome); }
  void ExpectMergedbsAlone() {
    Files now = Now();
    std::erase_if(now, [](const auto& each) { return each.first.starts_with("lost/"); });
    EXPECT_THAT(Names(now), ElementsAre("000007.tbl", "CURRENT", "LOCK", "LOG", "MANIFEST-000008", "notes.txt"));
  }

  Files before_;
};

TEST_F(RemoveSourceTest, RemovesLevelDbsFilesAndTheMarkerLast) {
  sim_.files->AddFault({.op = FileOp::kRemove, .path_contains = ".log"});
  EXPECT_THAT(RemoveAgain(), StatusIs(Code::kIOError));
  EXPECT_TRUE(Now().contains("IMPORT")) << "the next open tries again";
  ASSERT_OK(RemoveAgain());
  EXPECT_FALSE(Now().contains("lost/000002.ldb"));
  ExpectMergedbsAlone();
  EXPECT_EQ(Opened(), SmallDirectory().shown());
}

TEST_F(RemoveSourceTest, KeepsThemIfTheMarkerIsOfARepairOrARepairRanSince) {
  Write("IMPORT", "A repair of a LevelDB database is under way, or was interrupted.\n");
  ASSERT_OK(RemoveAgain());
  for (const char* name : {"000002.ldb", "000003.ldb", "000004.log"})
    EXPECT_EQ(Now()["lost/" + std::string(name)], before_.at(name)) << name;
  ExpectMergedbsAlone();

  Write("IMPORT", "another text");
  Write("000002.ldb", "again");
  Write("lost/report.txt", "of a repair");
  ASSERT_OK(RemoveAgain());
  EXPECT_EQ(Now()["lost/000002.ldb"], before_.at("000002.ldb"));
  EXPECT_EQ(Now()["lost/000002.ldb.1"], "again");
  ExpectMergedbsAlone();
  EXPECT_EQ(Opened(), SmallDirectory().shown());
}

// The power fails while LevelDB's files move to lost/: each file is in one place or in the other.
TEST_F(RemoveSourceTest, APowerCutWhileFilesMoveLosesNone) {
  Write("IMPORT", "A repair of a LevelDB database is under way, or was interrupted.\n");
  ASSERT_OK(sim_.files->SyncDirectory(kHome));
  int images = 0;
  bool is_moving = true;
  sim_.files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    if (!is_moving) return;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      for (const CrashMode mode : kPowerCutModes) {
        SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path + " seed " +
                     std::to_string(seed) + " " + CrashModeName(mode));
        const auto image = sim_.files->Crash(mode, CrashModel::kStrict, op * 100 + seed);
        Files now = ReadFiles(*image, kHome);
        ++images;
        for (const char* name : {"000002.ldb", "000003.ldb", "000004.log"})
          EXPECT_TRUE(now[name] == before_.at(name) || now["lost/" + std::string(name)] == before_.at(name)) << name;
      }
    }
  });
  ASSERT_OK(RemoveAgain());
  is_moving = false;
  EXPECT_GT(images, 100);
}

TEST_F(ConvertTest, APowerCutWhileTablesOfAnEarlierConversionMoveLosesNone) {
  Files files = SmallDirectory().Finish();
  files["IMPORT"] = "";
  files["000020.tbl"] = "earlier";
  files.erase("CURRENT");
  Write(files);
  bool is_converting = true;
  sim_.files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    if (!is_converting) return;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path + " seed " +
                   std::to_string(seed));
      const auto image = sim_.files->Crash(CrashMode::kPrefixTorn, CrashModel::kStrict, op * 100 + seed);
      Files now = ReadFiles(*image, kHome);
      EXPECT_TRUE(now["000020.tbl"] == "earlier" || now["lost/000020.tbl"] == "earlier");
    }
  });
  ASSERT_OK(Run(true));
  is_converting = false;
}

TEST_F(ConvertTest, RemoveLevelDbTakesItsFilesAndCurrentLast) {
  Files files = SmallDirectory().Finish();
  files["IMPORT"] = files["000020.tbl"] = files["CURRENT.tmp"] = "half a conversion";
  files["notes.txt"] = files["000021.seg"] = "mine";
  for (int removals = 1; removals <= 10; ++removals) {
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kHome, files);
    sim.files->AddFault({.op = FileOp::kRemove, .nth = static_cast<uint64_t>(removals), .sticky = true});
    const Status status = RemoveLevelDb(sim.files.get(), kHome);
    const Files now = ReadFiles(*sim.files, kHome);
    EXPECT_EQ(status.ok(), removals == 10) << status.ToString();
    if (!status.ok()) {
      EXPECT_TRUE(now.contains("CURRENT")) << "still a database after " << removals - 1 << " removals";
    } else {
      EXPECT_THAT(Names(now), ElementsAre("000021.seg", "LOCK", "notes.txt"));
    }
  }
}

}  // namespace
}  // namespace mergedb::leveldb_import
