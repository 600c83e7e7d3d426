// Goal: whatever call fails while a LevelDB directory is recognised, converted, converted again after an
// interruption, repaired, destroyed or is the target of an export: the call returns an error, nothing is
// lost, and the same call succeeds once the files work again. A directory with contradictory contents is
// refused.
// Method: directories made by hand, in memory; each call of the file system fails, once; each call of the
// progress callback asks to stop. Small directories, and permanent errors: convert_test.cc, export_test.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "format/file_name.h"
#include "leveldb/import/convert.h"
#include "leveldb/import/directory.h"
#include "mergedb/leveldb.h"
#include "tests/crash/each_call.h"
#include "tests/leveldb/leveldb_directory.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;
using Image = std::unique_ptr<FaultFileSystem>;

const std::string kPath = SimulatedEnv::kPath;

Shown OpenAndScan(SimulatedEnv& sim) {
  auto db = sim.Open();
  EXPECT_OK(db.status());
  return db ? Scan(**db) : Shown();
}

Image ImageOf(const Files& files) {
  auto image = std::make_unique<FaultFileSystem>();
  WriteFiles(image.get(), kPath, files);
  return image;
}

bool IsInjected(const Status& status) { return status.message().find("injected") != std::string_view::npos; }

LevelDbDirectory SmallDirectory() {
  LevelDbDirectory directory;
  directory.AddTable(
      0,
      {{"key1", 41, kv::Kind::kPut, "newer"}, {"key2", 42, kv::Kind::kDelete, ""}, {"other", 43, kv::Kind::kPut, "o"}});
  directory.AddTable(1, {{"key1", 1, kv::Kind::kPut, "older"}, {"key3", 2, kv::Kind::kPut, "3"}});
  directory.AddLog({{{"key4", 44, kv::Kind::kPut, "4"}}, {{"key5", 45, kv::Kind::kPut, "5"}}});
  return directory;
}

// A log that exceeds the import's memory: a batch of several values that a single write cannot hold.
LevelDbDirectory DirectoryWithALargeLog() {
  LevelDbDirectory directory;
  std::vector<KeyChange> batch;
  for (kv::Sequence i = 1; i <= 8; ++i)
    batch.push_back({"key" + std::to_string(i), i, kv::Kind::kPut, std::string(200'000, 'v')});
  directory.AddLog({batch, {{"last", 9, kv::Kind::kPut, "one"}}});
  return directory;
}

// The database is converted; LevelDB's files and the marker are still there.
Image ConvertedWithItsSource() {
  LevelDbDirectory directory = SmallDirectory();
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, directory.Finish());
  sim.files->AddFault({.op = FileOp::kRemove, .path_contains = ".l", .sticky = true});
  EXPECT_EQ(OpenAndScan(sim), directory.shown());
  sim.files->ClearFaults();
  EXPECT_TRUE(ReadFiles(*sim.files, kPath).contains("IMPORT"));
  return sim.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1);
}

// A conversion was killed before it made a table: its marker is there.
Files Interrupted(Files files) {
  files["IMPORT"] = "half";
  return files;
}

// ---- conversion -------------------------------------------------------------------------------------------

class ConvertErrors : public ::testing::Test {
 protected:
  void FailEach(const FaultFileSystem& before, const Shown& shown) {
    ForEachFailingCall(before, [&](SimulatedEnv& sim, const Fault& fault) {
      sim.files->AddFault(fault);
      const Status status = sim.Open().status();
      const bool was_hit = EndFault(sim);
      // If the size of a marker is unknown, the open reports that the marker exists already.
      EXPECT_TRUE(status.ok() || (was_hit && (IsInjected(status) || status.IsInvalidArgument()))) << status.ToString();
      EXPECT_EQ(OpenAndScan(sim), shown);
      EXPECT_EQ(OpenAndScan(sim), shown);
      const Files after = ReadFiles(*sim.files, kPath);
      for (const char* name : {"IMPORT", "000002.ldb"}) EXPECT_FALSE(after.contains(name)) << name;
      return was_hit;
    });
  }
};

TEST_F(ConvertErrors, AnInterruptedConversionIsTakenUpWhenTheCallsWorkAgain) {
  LevelDbDirectory directory = SmallDirectory();
  FailEach(*ImageOf(Interrupted(directory.Finish())), directory.shown());
}

TEST_F(ConvertErrors, ALogLargerThanMemoryIsConvertedWhenTheCallsWorkAgain) {
  LevelDbDirectory directory = DirectoryWithALargeLog();
  FailEach(*ImageOf(directory.Finish()), directory.shown());
}

TEST_F(ConvertErrors, WhatAConversionLeftGoesWhenTheCallsWorkAgain) {
  FailEach(*ConvertedWithItsSource(), SmallDirectory().shown());
}

// A conversion begins a new table after 64 MiB.
TEST_F(ConvertErrors, ATableThatCannotBeEndedBeforeTheNextLeavesAllToTheNextOpen) {
  LevelDbDirectory directory;
  for (kv::Sequence i = 1; i <= 9; ++i) {
    directory.AddTable(
        1, {{"key" + std::to_string(i), i, kv::Kind::kPut, std::string(8 << 20, static_cast<char>('a' + i))}});
  }
  const Files before = directory.Finish();
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, before);
  sim.files->AddFault({.op = FileOp::kSync, .path_contains = ".tbl"});
  EXPECT_THAT(sim.Open(), StatusIs(Code::kIOError, HasSubstr("/db: converting from LevelDB: /db/")));
  EXPECT_TRUE(EndFault(sim));
  EXPECT_TRUE(ReadFiles(*sim.files, kPath) == before);
  EXPECT_TRUE(OpenAndScan(sim) == directory.shown());
  const auto after = ReadFiles(*sim.files, kPath);
  EXPECT_EQ(std::count_if(after.begin(), after.end(), [](const auto& each) { return each.first.ends_with(".tbl"); }),
            2);
}

TEST(IsLevelDbErrors, NobodyIsTakenForAnotherWhoCannotBeRead) {
  LevelDbDirectory directory = SmallDirectory();
  ForEachFailingCall(*ImageOf(directory.Finish()), [&](SimulatedEnv& sim, const Fault& fault) {
    EXPECT_THAT(IsLevelDb(sim.SmallOptions(), kPath), IsOkAndHolds(true));
    sim.files->AddFault(fault);
    const auto is_leveldb = IsLevelDb(sim.SmallOptions(), kPath);
    const bool was_hit = EndFault(sim);
    EXPECT_EQ(is_leveldb.has_value(), !was_hit) << is_leveldb.status().ToString();
    EXPECT_TRUE(is_leveldb || IsInjected(is_leveldb.error()));
    return was_hit;
  });
}

// ---- repair -----------------------------------------------------------------------------------------------

class RepairErrors : public ::testing::Test {
 protected:
  static void ExpectAllKept(const Files& before, SimulatedEnv& sim) {
    std::multiset<std::string> bytes;
    for (const auto& [name, content] : ReadFiles(*sim.files, kPath)) bytes.insert(content);
    for (const auto& [name, content] : before) {
      if (name.find(".l") != std::string::npos) { EXPECT_TRUE(bytes.contains(content)) << name; }
    }
  }
  // Until the MANIFEST is mergedb's, the LevelDB repair is run again. After that, mergedb's own repair makes
  // a missing CURRENT.
  static Shown Finish(SimulatedEnv& sim) {
    const auto is_leveldbs = leveldb_import::LooksLikeLevelDb(sim.files.get(), kPath);
    EXPECT_OK(is_leveldbs);
    if (!DB::Open(MustExist(sim), kPath)) {
      const Options options = sim.SmallOptions();
      const auto again = *is_leveldbs ? RepairLevelDb(options, kPath) : Repair(options, kPath);
      EXPECT_OK(again.status());
    }
    return OpenAndScan(sim);
  }
  static Options MustExist(SimulatedEnv& sim) {
    Options options = sim.SmallOptions();
    options.mode = OpenMode::kReadOnly;  // which converts nothing
    return options;
  }
};

// Without a MANIFEST nothing lists the tables: their bounds are read from the tables themselves.
Files WithoutManifest(Files files) {
  std::erase_if(files, [](const auto& each) { return each.first == "CURRENT" || each.first.starts_with("MANIFEST"); });
  return files;
}

TEST_F(RepairErrors, IsRunAgainWhenTheCallsWorkAgain) {
  LevelDbDirectory directory = SmallDirectory();
  const Files whole = directory.Finish();
  for (const Files& before : {whole, WithoutManifest(whole)}) {
    SCOPED_TRACE(before.contains("CURRENT") ? "with CURRENT" : "without CURRENT");
    Shown shown;
    {
      const auto sim = CopyOf(*ImageOf(before));
      ASSERT_OK(RepairLevelDb(sim->SmallOptions(), kPath).status());
      shown = OpenAndScan(*sim);
    }
    ForEachFailingCall(*ImageOf(before), [&](SimulatedEnv& sim, const Fault& fault) {
      sim.files->AddFault(fault);
      const auto report = RepairLevelDb(sim.SmallOptions(), kPath);
      const bool was_hit = EndFault(sim);
      EXPECT_TRUE(report || (was_hit && IsInjected(report.error()))) << report.error().ToString();
      EXPECT_EQ(Finish(sim), shown);
      return was_hit;
    });
  }
}

TEST_F(RepairErrors, GivesUpOnRequestAndChangesNothing) {
  LevelDbDirectory directory = SmallDirectory();
  const Files whole = directory.Finish();
  for (const Files& before : {whole, WithoutManifest(whole)}) {
    uint64_t given_up = 0;
    ForEachGivingUp(*ImageOf(before), [&](SimulatedEnv& sim, const Progress& progress) {
      const auto report = RepairLevelDb(sim.SmallOptions(), kPath, progress);
      if (report) return false;
      ++given_up;
      EXPECT_THAT(report, StatusIs(Code::kAborted, HasSubstr("cancelled by the progress callback")));
      EXPECT_EQ(ReadFiles(*sim.files, kPath), before);
      return true;
    });
    EXPECT_GT(given_up, 3u);
  }
}

// ---- destroy ----------------------------------------------------------------------------------------------

void FailEachOfADestroy(const FaultFileSystem& before) {
  ForEachFailingCall(before, [&](SimulatedEnv& sim, const Fault& fault) {
    sim.files->AddFault(fault);
    const Status status = DB::Destroy(sim.SmallOptions(), kPath);
    const bool was_hit = EndFault(sim);
    EXPECT_TRUE(status.ok() || (was_hit && IsInjected(status))) << status.ToString();
    const Status again = DB::Destroy(sim.SmallOptions(), kPath);
    EXPECT_TRUE(again.ok() || again.IsNotFound()) << again.ToString();
    for (const auto& [name, bytes] : ReadFiles(*sim.files, kPath)) EXPECT_TRUE(name == "LOG" || name == "LOCK") << name;
    return was_hit;
  });
}

TEST(DestroyErrors, LeavesWhatTheNextDestroyTakes) {
  FailEachOfADestroy(*ImageOf(Interrupted(SmallDirectory().Finish())));
}
// A Destroy must not treat an IMPORT of unknown size as absent: LevelDB's files would stay in a directory
// without an owner.
TEST(DestroyErrors, LeavesWhatTheNextDestroyTakesBehindAConversionToo) {
  FailEachOfADestroy(*ConvertedWithItsSource());
}

// ---- export -----------------------------------------------------------------------------------------------

class ExportErrors : public ::testing::Test {
 protected:
  ExportErrors() : db_(std::move(source_.Open()).value()) {}

  // Exports into `before`: a call that fails, and the next call.
  void FailEach(const FaultFileSystem& before, const LevelDbExportOptions& export_options) {
    const Shown shown = Scan(*db_);
    ForEachFailingCall(before, [&](SimulatedEnv& target, const Fault& fault) {
      Options options = source_.SmallOptions();
      options.env.file_system = target.files.get();
      target.files->AddFault(fault);
      const auto failed = ExportToLevelDb(*db_, options, kPath, export_options);
      const bool was_hit = EndFault(target);
      EXPECT_TRUE(failed || IsInjected(failed.error())) << failed.error().ToString();
      const bool is_whole = target.files->ReadWhole(kPath + "/CURRENT").has_value() &&
                            !target.files->ReadWhole(kPath + "/EXPORT").has_value();
      if (!failed && !is_whole) { EXPECT_OK(ExportToLevelDb(*db_, options, kPath, export_options).status()); }
      EXPECT_OK(target.files->Remove(kPath + "/EXPORT").IsNotFound() ? Status()
                                                                     : Status::Corruption("the marker stays"));
      EXPECT_EQ(OpenAndScan(target), shown);  // an open, which converts it
      return was_hit;
    });
  }

  SimulatedEnv source_;
  std::unique_ptr<DB> db_;
};

TEST_F(ExportErrors, WhatAnInterruptedOneLeftGoesWhenTheCallsWorkAgain) {
  for (int i = 0; i < 30; ++i) ASSERT_OK(db_->Put({}, "key" + std::to_string(i), std::string(50, 'v')));
  Files left = SmallDirectory().Finish();
  left.erase("LOCK");
  left.erase("LOG");
  left["EXPORT"] = "interrupted";
  FailEach(*ImageOf(left), {.table_bytes = 1000});
}

TEST_F(ExportErrors, TablesOfManyWritesAreWrittenWhenTheCallsWorkAgain) {
  // Blocks of three values, written two at a time; the end of the table writes the last block, of two values,
  // and the block before it.
  for (int i = 0; i < 11; ++i)
    ASSERT_OK(db_->Put({}, "key" + std::to_string(10 + i), std::string(240'000, static_cast<char>('a' + i))));
  FailEach(FaultFileSystem(), {.compression = Compression::kNone, .table_bytes = 8 << 20, .block_bytes = 500'000});
}

// A few tables of long keys: the MANIFEST is written in several pieces.
TEST_F(ExportErrors, AManifestOfManyWritesIsWrittenWhenTheCallsWorkAgain) {
  for (const char first : {'a', 'b', 'c'}) ASSERT_OK(db_->Put({}, std::string(200'000, first), "v"));
  FailEach(FaultFileSystem(), {.compression = Compression::kNone, .table_bytes = 1000});
}

// ---- contradictory contents -------------------------------------------------------------------------------

// `files` with its log replaced by one valid record that is not a batch.
Files WithRecord(Files files, const std::string& record) {
  for (auto& [name, bytes] : files) {
    if (!name.ends_with(".log")) continue;
    bytes.clear();
    leveldb_format::LogWriter().Append(record, &bytes);
  }
  return files;
}

TEST(ForgedLevelDb, IsRefusedAndStaysAsItIs) {
  const Files small = SmallDirectory().Finish();
  const struct {
    const char* message;
    Code code;
    Files files;
  } cases[] = {
      {"record at offset", Code::kCorruption, WithRecord(small, "no batch")},
      {"the next file number is", Code::kCorruption,
       [] {
         Files files = SmallDirectory().Finish();
         for (auto& [name, bytes] : files) {
           if (!name.starts_with("MANIFEST")) continue;
           leveldb_format::LogWriter writer;
           leveldb_format::VersionEdit edit;
           edit.comparator = std::string(leveldb_format::kBytewiseName);
           edit.log = edit.previous_log = kv::FileNumber{0};
           edit.next_file = kv::FileNumber{format::kFileNumberMax + 1};
           edit.last_sequence = 45;
           bytes.clear();
           writer.Append(leveldb_format::EncodeVersionEdit(edit), &bytes);
         }
         return files;
       }()},
      {"a key of 8388609 bytes", Code::kNotSupported,
       [] {
         LevelDbDirectory directory;
         directory.AddTable(1, {{std::string((8 << 20) + 1, 'k'), 1, kv::Kind::kPut, "v"}});
         return directory.Finish();
       }()},
  };
  for (const auto& [message, code, files] : cases) {
    SCOPED_TRACE(message);
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kPath, files);
    EXPECT_THAT(sim.Open(), StatusIs(code, HasSubstr(message)));
    EXPECT_EQ(ReadFiles(*sim.files, kPath), files);
  }
}

// An incomplete VersionEdit is dropped, unless changes are missing between the remaining MANIFEST and the
// logs.
TEST(ForgedLevelDb, AManifestCutShortBeforeItsLogsIsRefused) {
  LevelDbDirectory directory = SmallDirectory();
  Files files = directory.Finish();
  for (auto& [name, bytes] : files) {
    if (!name.starts_with("MANIFEST")) continue;
    bytes.clear();
    leveldb_format::LogWriter writer;
    leveldb_format::VersionEdit edit = directory.edit();
    edit.last_sequence = 7;  // the log begins at 44
    writer.Append(leveldb_format::EncodeVersionEdit(edit), &bytes);
    const size_t whole = bytes.size();
    writer.Append(leveldb_format::EncodeVersionEdit(directory.edit()), &bytes);
    bytes.resize(whole + 20);
  }
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, files);
  EXPECT_THAT(sim.Open(),
              StatusIs(Code::kCorruption, HasSubstr("cut short: it knows of sequence 7, but the logs begin at 44")));
  EXPECT_EQ(ReadFiles(*sim.files, kPath), files);
}

// A MANIFEST that ends within the VersionEdit that adds the table with all changes except the first and the
// last; it names log 0.
Files CutBeforeATable(bool log_is_empty) {
  LevelDbDirectory directory;
  directory.AddTable(0, {{"first", 1, kv::Kind::kPut, "1"}});
  const leveldb_format::VersionEdit first = directory.edit();
  directory.AddTable(0, {{"middle", 2, kv::Kind::kPut, "2"}, {"middle2", 200, kv::Kind::kPut, "200"}});
  std::vector<KeyChange> batch;
  if (!log_is_empty) batch.push_back({"last", 201, kv::Kind::kPut, "201"});
  directory.AddLog({batch});
  Files files = directory.Finish();
  if (log_is_empty) files.at("000004.log").clear();
  for (auto& [name, bytes] : files) {
    if (!name.starts_with("MANIFEST")) continue;
    bytes.clear();
    leveldb_format::LogWriter writer;
    leveldb_format::VersionEdit edit = first;
    edit.comparator = std::string(leveldb_format::kBytewiseName);
    edit.log = edit.previous_log = kv::FileNumber{0};
    edit.next_file = kv::FileNumber{3};
    edit.last_sequence = 1;
    writer.Append(leveldb_format::EncodeVersionEdit(edit), &bytes);
    const size_t whole = bytes.size();
    writer.Append(leveldb_format::EncodeVersionEdit(directory.edit()), &bytes);
    bytes.resize(whole + 20);
  }
  return files;
}

TEST(ForgedLevelDb, TablesThatAManifestCutShortDoesNotNameAreNotGivenUp) {
  for (const bool log_is_empty : {false, true}) {
    SCOPED_TRACE(log_is_empty ? "an empty log" : "a log");
    const Files files = CutBeforeATable(log_is_empty);
    SimulatedEnv sim;
    WriteFiles(sim.files.get(), kPath, files);
    EXPECT_THAT(sim.Open(), StatusIs(Code::kCorruption, HasSubstr("cut short: it knows of sequence 1, but")));
    EXPECT_EQ(ReadFiles(*sim.files, kPath), files);
    ASSERT_OK_AND_ASSIGN(const RepairReport report, RepairLevelDb(sim.SmallOptions(), kPath));
    ASSERT_EQ(report.losses.size(), 1u);
    EXPECT_EQ(report.losses[0].file, "MANIFEST");
    Shown shown = {{"first", "1"}, {"middle", "2"}, {"middle2", "200"}};
    if (!log_is_empty) shown["last"] = "201";
    EXPECT_EQ(OpenAndScan(sim), shown);
    EXPECT_EQ(*sim.files->ReadWhole(kPath + "/lost/000003.ldb"), files.at("000003.ldb"));
  }
}

// A crash during a compaction leaves its table and an incomplete VersionEdit. The table holds nothing new.
TEST(ForgedLevelDb, TablesOfAnEditThatWasNeverFinishedGo) {
  LevelDbDirectory directory;
  directory.AddTable(0, {{"a", 1, kv::Kind::kPut, "1"}});
  directory.AddTable(0, {{"a", 2, kv::Kind::kDelete, ""}, {"b", 3, kv::Kind::kPut, "3"}});
  directory.AddLog({});
  Files files = directory.Finish();
  LevelDbDirectory compacted;
  compacted.AddTable(1, {{"b", 3, kv::Kind::kPut, "3"}}, 9);
  files["000009.ldb"] = compacted.Finish().at("000009.ldb");
  for (auto& [name, bytes] : files) {
    if (name.starts_with("MANIFEST")) bytes += "cut";
  }
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, files);
  EXPECT_EQ(OpenAndScan(sim), directory.shown());
  EXPECT_FALSE(ReadFiles(*sim.files, kPath).contains("000009.ldb"));
}

// A failure before the removal of the half table must not remove IMPORT: without IMPORT the table makes the
// directory ambiguous ("CURRENT is LevelDB's, but the files are mergedb's").
TEST(ConvertTakenUp, TheMarkerStaysAsLongAsAnEarlierTableDoes) {
  LevelDbDirectory directory;
  directory.AddTable(1, {{"key", 1, kv::Kind::kPut, "value"}});
  Files files = directory.Finish();
  files["IMPORT"] = "half";
  files["000090.tbl"] = "half a table";
  FaultFileSystem before;
  WriteFiles(&before, SimulatedEnv::kPath, files);
  ForEachFailingCall(before, [&](SimulatedEnv& sim, const Fault& fault) {
    sim.files->AddFault(fault);
    (void)sim.Open();
    const bool was_hit = EndFault(sim);
    auto db = sim.Open();
    EXPECT_OK(db.status());
    std::string value;
    EXPECT_TRUE(db && (*db)->Get({}, "key", &value).ok() && value == "value");
    return was_hit;
  });
}

}  // namespace
}  // namespace mergedb::testing
