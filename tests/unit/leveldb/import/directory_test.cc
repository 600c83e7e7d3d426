// Goal: the files that make up a LevelDB database are found: CURRENT chooses the MANIFEST, the MANIFEST the tables
// and the logs, and damage is an error that names the file. The owner of a directory is not mistaken. Method:
// directories made file by file, in memory; tables and logs hold any bytes where only their names count.
#include "leveldb/import/directory.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "format/table_layout.h"
#include "manifest/loader.h"
#include "manifest/mirror_layout.h"
#include "testing/reverse_comparator.h"
#include "testing/simulated_env.h"
#include "tests/unit/leveldb/import/sources.h"
#include "wal/frame.h"

namespace mergedb::leveldb_import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace mergedb::testing;

void AddFile(leveldb_format::VersionEdit* edit, uint32_t level, uint64_t number, uint64_t bytes = 1) {
  std::string key;
  leveldb_format::AppendInternalKey(&key, "k", kv::MakeTag(1, kv::Kind::kPut));
  edit->added.emplace_back(
      level, leveldb_format::File{.number = kv::FileNumber{number}, .bytes = bytes, .smallest = key, .largest = key});
}

class DirectoryTest : public ImportTest {
 protected:
  void WriteCurrent(uint64_t manifest) { Write("CURRENT", leveldb_format::EncodeCurrent(kv::FileNumber{manifest})); }
  Result<Source> Read() { return ReadSource(&files_, kHome, order_); }
  Result<Source> Guess(std::string* what) { return GuessSource(&files_, kHome, order_, what); }
  Result<Owner> WhoOwns() { return OwnerOf(&files_, kHome); }

  static std::vector<std::string> Names(const std::vector<SourceTable>& tables) {
    std::vector<std::string> names;
    for (const SourceTable& table : tables) names.push_back(table.name + "@" + std::to_string(table.level));
    return names;
  }
  static std::vector<std::string> Names(const std::vector<SourceLog>& logs) {
    std::vector<std::string> names;
    for (const SourceLog& log : logs) names.push_back(log.name);
    return names;
  }
};

TEST_F(DirectoryTest, CurrentChoosesTheManifest) {
  auto older = FirstEdit(0, 6, 10);
  AddFile(&older, 1, 3);
  auto newer = FirstEdit(0, 12, 20);
  AddFile(&newer, 2, 8);
  Write({{"MANIFEST-000004", ManifestOf({older})}, {"MANIFEST-000009", ManifestOf({newer})}});
  Write({{"000003.ldb", "x"}, {"000008.ldb", "x"}});

  WriteCurrent(4);
  ASSERT_OK_AND_ASSIGN(Source source, Read());
  EXPECT_THAT(Names(source.tables), ElementsAre("000003.ldb@1"));
  EXPECT_THAT(source.unnamed, IsEmpty());
  EXPECT_EQ(source.last_sequence, 10u);
  EXPECT_EQ(source.largest_number, 9u) << "the other MANIFEST";

  WriteCurrent(9);
  ASSERT_OK_AND_ASSIGN(source, Read());
  EXPECT_THAT(Names(source.tables), ElementsAre("000008.ldb@2"));
  EXPECT_EQ(source.last_sequence, 20u);
  EXPECT_EQ(source.largest_number, 12u) << "the next file number";
}

TEST_F(DirectoryTest, EveryEditCounts) {
  auto first = FirstEdit(3, 6, 10);
  AddFile(&first, 1, 5, 50);
  AddFile(&first, 0, 6, 600);
  AddFile(&first, 0, 7, 7000);
  leveldb_format::VersionEdit second;
  second.removed.insert({0, kv::FileNumber{6}});
  AddFile(&second, 0, 10, 10'000);
  AddFile(&second, 2, 6, 600);
  second.last_sequence = 99;
  Write("MANIFEST-000004", ManifestOf({first, second}));
  WriteCurrent(4);
  for (const char* table : {"000005.ldb", "000006.ldb", "000007.ldb", "000010.ldb", "000011.ldb"}) Write(table, "x");
  ASSERT_OK_AND_ASSIGN(const Source source, Read());
  EXPECT_THAT(Names(source.tables), ElementsAre("000010.ldb@0", "000007.ldb@0", "000005.ldb@1", "000006.ldb@2"));
  EXPECT_EQ(source.bytes, 17'650u) << "the sizes that the MANIFEST states";
  EXPECT_EQ(source.last_sequence, 99u);
  EXPECT_EQ(source.largest_number, 11u) << "a table that no edit names";
  EXPECT_FALSE(source.is_cut_short);
}

TEST_F(DirectoryTest, LogsCountFromTheLogNumberOnAndThePreviousOne) {
  auto edit = FirstEdit(7, 13, 10);
  edit.previous_log = kv::FileNumber{3};
  Write("MANIFEST-000004", ManifestOf({edit}));
  WriteCurrent(4);
  Write(
      {{"000012.log", "4444"}, {"000002.log", "x"}, {"000003.log", "22"}, {"000005.log", "x"}, {"000007.log", "333"}});
  ASSERT_OK_AND_ASSIGN(const Source source, Read());
  EXPECT_THAT(Names(source.logs), ElementsAre("000003.log", "000007.log", "000012.log"));
  EXPECT_EQ(source.bytes, 9u);
}

TEST_F(DirectoryTest, TablesHaveOneOfTwoNamesOrAreMissing) {
  auto edit = FirstEdit(0, 9, 10);
  for (const uint64_t number : {5, 6, 7}) AddFile(&edit, 1, number);
  Write("MANIFEST-000004", ManifestOf({edit}));
  WriteCurrent(4);
  Write({{"000006.sst", "x"}, {"000007.sst", "x"}, {"000007.ldb", "x"}, {"5.tmp", "x"}, {"000005.tbl", "x"}});
  ASSERT_OK_AND_ASSIGN(const Source source, Read());
  EXPECT_THAT(Names(source.tables), ElementsAre("000007.ldb@1", "000006.sst@1"));
  EXPECT_THAT(source.missing, ElementsAre("000005.ldb"));
}

TEST_F(DirectoryTest, NewNumbersAreLargerThanEveryFileAndForeignNumbersAreLeftOut) {
  Write("MANIFEST-000004", ManifestOf({FirstEdit(1, 5, 10)}));
  WriteCurrent(4);
  Write("000020.tbl", "of an earlier conversion");
  const std::string beyond = std::to_string(format::kFileNumberMax + 1);
  Write(beyond + ".log", "foreign");
  ASSERT_OK_AND_ASSIGN(const Source source, Read());
  EXPECT_EQ(source.largest_number, 20u);
  EXPECT_THAT(source.logs, IsEmpty());
  Write("MANIFEST-000004", ManifestOf({FirstEdit(1, format::kFileNumberMax + 1, 10)}));
  EXPECT_THAT(Read(), StatusIs(Code::kCorruption, AllOf(HasSubstr("/db/MANIFEST-000004"), HasSubstr(beyond))));
}

// ---- damage ---------------------------------------------------------------------------------------------------

TEST_F(DirectoryTest, ADamagedCurrentChoosesNothing) {
  Write("MANIFEST-000004", ManifestOf({FirstEdit(1, 5, 10)}));
  const auto names_current = StatusIs(Code::kNotFound, HasSubstr("/db/CURRENT"));
  EXPECT_THAT(Read(), names_current);
  for (const char* text : {"", "\n", "MANIFEST-000004", "MANIFEST-\n", "MANIFEST-00000x\n", "000004.log\n",
                           "MANIFEST-000004\nx", "MANIFEST-000004\n\n"}) {
    Write("CURRENT", text);
    EXPECT_THAT(Read(), names_current) << text;
    EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kOther)) << text;
  }
  WriteCurrent(44);
  EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("/db/MANIFEST-000044: missing, but CURRENT names it")));
  WriteCurrent(4);
  EXPECT_OK(Read());
  files_.AddFault({.op = FileOp::kRead, .path_contains = "CURRENT", .sticky = true});
  EXPECT_THAT(Read(), StatusIs(Code::kIOError));
  EXPECT_THAT(WhoOwns(), StatusIs(Code::kIOError));
}

TEST_F(DirectoryTest, EveryDamagedByteOfTheManifestIsCorruption) {
  auto edit = FirstEdit(1, 9, 10);
  AddFile(&edit, 1, 5);
  const std::string whole = ManifestOf({edit});
  Write("000005.ldb", "x");
  WriteCurrent(4);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 0x10;
    Write("MANIFEST-000004", damaged);
    EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("/db/MANIFEST-000004"))) << "byte " << at;
  }
  Write("MANIFEST-000004", whole);
  EXPECT_OK(Read());
}

TEST_F(DirectoryTest, AManifestWithoutANecessaryFactIsCorruption) {
  WriteCurrent(4);
  for (const char* fact : {"log number", "next file number", "last sequence"}) {
    auto edit = FirstEdit(1, 5, 10);
    if (std::string_view(fact) == "log number") edit.log.reset();
    if (std::string_view(fact) == "next file number") edit.next_file.reset();
    if (std::string_view(fact) == "last sequence") edit.last_sequence.reset();
    Write("MANIFEST-000004", ManifestOf({edit}));
    EXPECT_THAT(Read(), StatusIs(Code::kCorruption, AllOf(HasSubstr("/db/MANIFEST-000004"), HasSubstr(fact))));
  }
}

TEST_F(DirectoryTest, AnotherOrderIsRefusedAndBothAreNamed) {
  Write("MANIFEST-000004", ManifestOf({FirstEdit(1, 5, 10)}));
  WriteCurrent(4);
  const ReverseComparator reverse;
  EXPECT_THAT(ReadSource(&files_, kHome, kv::Order(&reverse)),
              StatusIs(Code::kInvalidArgument, AllOf(HasSubstr("ordered by \"leveldb.BytewiseComparator\""),
                                                     HasSubstr(std::string(reverse.Name())))));
  std::string what;
  EXPECT_THAT(GuessSource(&files_, kHome, kv::Order(&reverse), &what), StatusIs(Code::kInvalidArgument))
      << "no reason to take all tables";
  auto edit = FirstEdit(1, 5, 10);
  edit.comparator = std::string(reverse.Name());
  Write("MANIFEST-000004", ManifestOf({edit}));
  EXPECT_OK(ReadSource(&files_, kHome, kv::Order(&reverse)));
  EXPECT_THAT(Read(), StatusIs(Code::kInvalidArgument));
}

// A crash while LevelDB appended the second edit: the first edit's state counts, and its log still exists.
TEST_F(DirectoryTest, AnUnfinishedLastEditIsAsIfItWereNotThere) {
  auto first = FirstEdit(6, 7, 10);
  AddFile(&first, 1, 5);
  auto second = FirstEdit(8, 9, 20);
  second.comparator.reset();
  AddFile(&second, 0, 7);
  const std::string before = ManifestOf({first});
  const std::string whole = ManifestOf({first, second});
  WriteCurrent(4);
  Write({{"000005.ldb", "x"}, {"000007.ldb", "22"}, {"000006.log", "x"}});
  for (size_t bytes = before.size(); bytes <= whole.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    Write("MANIFEST-000004", whole.substr(0, bytes));
    ASSERT_OK_AND_ASSIGN(const Source source, Read());
    const bool is_cut = bytes > before.size() && bytes < whole.size();
    EXPECT_EQ(source.is_cut_short, is_cut);
    EXPECT_EQ(source.last_sequence, bytes == whole.size() ? 20u : 10u);
    EXPECT_EQ(source.tables.size(), bytes == whole.size() ? 2u : 1u);
    EXPECT_EQ(Names(source.unnamed), is_cut ? std::vector<std::string>{"000007.ldb@0"} : std::vector<std::string>());
    if (is_cut) { EXPECT_FALSE(source.unnamed.front().has_bounds); }
  }
  // Without the log that the first edit names, the second edit was finished once.
  Remove("000006.log");
  Write("MANIFEST-000004", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(Read(), StatusIs(Code::kCorruption, AllOf(HasSubstr("/db/MANIFEST-000004"), HasSubstr("cut short"))));
  Write("MANIFEST-000004", before);
  EXPECT_OK(Read());
}

// ---- repair without a usable CURRENT --------------------------------------------------------------------------

TEST_F(DirectoryTest, AGuessTakesTheNewestManifestWhoseTablesExist) {
  std::string what;
  for (const uint64_t number : {4, 6, 9}) {
    auto edit = FirstEdit(20, 21, number);
    AddFile(&edit, 1, number - 1);
    const std::string name = leveldb_format::PrintName(leveldb_format::NameKind::kManifest, kv::FileNumber{number});
    Write(name, ManifestOf({edit}));
  }
  Write({{"000003.ldb", "x"}, {"000005.ldb", "x"}, {"000020.log", "x"}, {"000002.log", "x"}});
  ASSERT_OK_AND_ASSIGN(Source source, Guess(&what));
  EXPECT_EQ(what, "MANIFEST-000006 is used");
  EXPECT_THAT(Names(source.tables), ElementsAre("000005.ldb@1"));
  EXPECT_THAT(Names(source.logs), ElementsAre("000020.log"));

  ASSERT_OK(files_.FlipBit(kHome + "/MANIFEST-000006", 0, 0));
  ASSERT_OK_AND_ASSIGN(source, Guess(&what));
  EXPECT_EQ(what, "MANIFEST-000004 is used");
  EXPECT_THAT(Names(source.tables), ElementsAre("000003.ldb@1"));

  files_.AddFault({.op = FileOp::kRead, .path_contains = "MANIFEST-000006", .sticky = true});
  EXPECT_THAT(Guess(&what), StatusIs(Code::kIOError)) << "an unreadable MANIFEST is not passed over";
}

TEST_F(DirectoryTest, AGuessWithoutAManifestTakesEverything) {
  std::string what;
  Write({{"MANIFEST-000004", "damage"},
         {"000003.ldb", "1"},
         {"000008.sst", "22"},
         {"000005.log", "333"},
         {"000002.log", "4444"},
         {"LOG", "text"}});
  ASSERT_OK_AND_ASSIGN(const Source source, Guess(&what));
  EXPECT_THAT(what, HasSubstr("no MANIFEST is valid"));
  EXPECT_THAT(Names(source.tables), ElementsAre("000008.sst@0", "000003.ldb@0"));
  for (const SourceTable& table : source.tables) EXPECT_FALSE(table.has_bounds);
  EXPECT_EQ(source.tables.front().file.bytes, 2u);
  EXPECT_THAT(Names(source.logs), ElementsAre("000002.log", "000005.log"));
  EXPECT_EQ(source.bytes, 10u);
  EXPECT_EQ(source.largest_number, 8u);
}

// ---- whose directory it is ------------------------------------------------------------------------------------

TEST_F(DirectoryTest, TheOwnerIsKnownByCurrentAndTheFilesBesideIt) {
  ASSERT_OK_AND_ASSIGN(const Owner none, OwnerOf(&files_, "/nowhere"));
  EXPECT_EQ(none, Owner::kOther);
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kOther));
  WriteCurrent(4);
  Write({{"MANIFEST-000004", ManifestOf({FirstEdit(1, 5, 10)})}, {"000003.ldb", "x"}});
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kLevelDb));
  // An interrupted conversion leaves tables beside its marker. Other files of mergedb show that it had a database.
  Write("000020.tbl", "x");
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kOverwritten));
  Write("IMPORT", "");
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kLevelDb));
  for (const char* name : {"000021.seg", "STAGING", "000022.val"}) {
    Write(name, "x");
    EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kOverwritten)) << name;
    Remove(name);
  }
  Write("CURRENT", manifest::EncodeCurrent({.manifest = kv::FileNumber{4}}));
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kOther));
}

TEST_F(DirectoryTest, RocksDbIsRefusedUnlessTheDatabaseIsMergedbs) {
  WriteCurrent(4);
  Write("OPTIONS-000007", "");
  std::string found;
  ASSERT_OK_AND_ASSIGN(const Owner owner, OwnerOf(&files_, kHome, &found));
  EXPECT_EQ(owner, Owner::kRocksDb);
  EXPECT_EQ(found, "OPTIONS-000007 exists");
  EXPECT_THAT(RefuseRocksDb(&files_, kHome),
              StatusIs(Code::kNotSupported, AllOf(HasSubstr("/db: "), HasSubstr("OPTIONS-000007 exists"))));
  Remove("CURRENT");
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kRocksDb)) << "CURRENT may be lost";
  Write("000021.seg", "x");
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kOther));
  EXPECT_OK(RefuseRocksDb(&files_, kHome));
}

std::string SegmentOf(uint64_t database_id) {
  std::string block(wal::kBlockBytes, '\0');
  wal::StoreSegmentHead(block.data(), {.database_id = database_id, .epoch = 1, .generation = 1, .capacity = 4096});
  return block;
}

TEST_F(DirectoryTest, FilesOfMergedbUnderLevelDbsNamesAreRecognised) {
  Write("000005.ldb", "bytes" + std::string(format::kTableMagic));
  Write("000006.ldb", std::string(format::kTableMagic) + "bytes");
  Write("000007.ldb", std::string(format::kTableMagic.substr(1)));
  EXPECT_THAT(HoldsOurTable(&files_, kHome + "/000005.ldb"), IsOkAndHolds(true));
  for (const char* name : {"000006.ldb", "000007.ldb", "000008.ldb"})
    EXPECT_THAT(HoldsOurTable(&files_, kHome + "/" + name), IsOkAndHolds(false)) << name;
  Write("000009.log", SegmentOf(77));
  EXPECT_THAT(HoldsOurSegment(&files_, kHome + "/000009.log"), IsOkAndHolds(true));
  EXPECT_THAT(HoldsOurSegment(&files_, kHome + "/000009.log", 77), IsOkAndHolds(true));
  EXPECT_THAT(HoldsOurSegment(&files_, kHome + "/000009.log", 78), IsOkAndHolds(false));
  ASSERT_OK(files_.FlipBit(kHome + "/000009.log", 17, 0));
  EXPECT_THAT(HoldsOurSegment(&files_, kHome + "/000009.log"), IsOkAndHolds(false));
}

TEST_F(DirectoryTest, RepairTakesADirectoryForLevelDbsOnlyIfNothingIsMergedbs) {
  const auto looks = [&] { return LooksLikeLevelDb(&files_, kHome); };
  Write({{"LOG", "text"}, {"LOCK", ""}, {"CURRENT", "damage"}});
  EXPECT_THAT(looks(), IsOkAndHolds(false)) << "no data";
  Write("000003.log", "x");
  EXPECT_THAT(looks(), IsOkAndHolds(true));
  WriteCurrent(4);
  EXPECT_THAT(looks(), IsOkAndHolds(true));
  Write("CURRENT", manifest::EncodeCurrent({.manifest = kv::FileNumber{4}}));
  EXPECT_THAT(looks(), IsOkAndHolds(false)) << "CURRENT is mergedb's";
  Remove("CURRENT");
  EXPECT_THAT(looks(), IsOkAndHolds(true));
  const Files own = {{"000020.tbl", "x"},
                     {"000021.seg", "x"},
                     {"000022.ldb", std::string(format::kTableMagic)},
                     {"000023.log", SegmentOf(1)}};
  for (const auto& [name, bytes] : own) {
    Write(name, bytes);
    EXPECT_THAT(looks(), IsOkAndHolds(false)) << name;
    Remove(name);
  }
  Write({{"IMPORT", ""}, {"000020.tbl", "x"}});
  EXPECT_THAT(looks(), IsOkAndHolds(true)) << "an unfinished conversion";
  files_.AddFault({.op = FileOp::kRead, .path_contains = "000003.log", .sticky = true});
  EXPECT_THAT(looks(), StatusIs(Code::kIOError));
}

// The marker IMPORT alone does not tell whether the conversion was committed.
TEST_F(DirectoryTest, AConversionIsCommittedByCurrentOrByTheManifestBesideItsMarker) {
  const auto is_converted = [&] { return IsConverted(&files_, kHome); };
  Write({{"000003.log", "x"}, {"000020.tbl", "x"}});
  Write("CURRENT", manifest::EncodeCurrent({.manifest = kv::FileNumber{21}}));
  EXPECT_THAT(is_converted(), IsOkAndHolds(false)) << "no marker";
  Write("IMPORT", "");
  EXPECT_THAT(is_converted(), IsOkAndHolds(true));
  WriteCurrent(4);
  EXPECT_THAT(is_converted(), IsOkAndHolds(false));
  Remove("CURRENT");
  EXPECT_THAT(is_converted(), IsOkAndHolds(false));
  // A MANIFEST of mergedb is written right before the commit.
  Write("MANIFEST-000021", manifest::kMirrorMagic);
  EXPECT_THAT(is_converted(), IsOkAndHolds(true));
  EXPECT_THAT(LooksLikeLevelDb(&files_, kHome), IsOkAndHolds(false));
  WriteCurrent(4);
  EXPECT_THAT(is_converted(), IsOkAndHolds(false));
  EXPECT_THAT(LooksLikeLevelDb(&files_, kHome), IsOkAndHolds(true));
  Remove("MANIFEST-000021");
  Remove("CURRENT");
  Write("000022.seg", "x");
  EXPECT_THAT(is_converted(), IsOkAndHolds(true)) << "a WAL segment is younger than the commit";
}

TEST_F(DirectoryTest, APieceIsOfTheBeginningOrOfTheEnd) {
  Write("f", "0123456789");
  EXPECT_THAT(ReadPiece(&files_, kHome + "/f", 3, false), IsOkAndHolds("012"));
  EXPECT_THAT(ReadPiece(&files_, kHome + "/f", 3, true), IsOkAndHolds("789"));
  for (const bool at_the_end : {false, true}) {
    EXPECT_THAT(ReadPiece(&files_, kHome + "/f", 99, at_the_end), IsOkAndHolds("0123456789"));
    EXPECT_THAT(ReadPiece(&files_, kHome + "/absent", 3, at_the_end), IsOkAndHolds(""));
  }
}

// A directory or a link with such a name is foreign. It must not keep a database from being opened.
TEST_F(DirectoryTest, APathThatIsNoRegularFileIsNobodys) {
  for (const char* name : {"000005.ldb", "000006.log", "000007.sst", "MANIFEST-000008", "IDENTITY", "LOG"})
    ASSERT_OK(files_.CreateDirectory(kHome + "/" + name));
  EXPECT_THAT(ReadPiece(&files_, kHome + "/LOG", 3, false), IsOkAndHolds(""));
  EXPECT_THAT(HoldsOurTable(&files_, kHome + "/000005.ldb"), IsOkAndHolds(false));
  EXPECT_THAT(HoldsOurSegment(&files_, kHome + "/000006.log"), IsOkAndHolds(false));
  EXPECT_THAT(manifest::HoldsManifest(&files_, kHome + "/MANIFEST-000008"), IsOkAndHolds(false));
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kOther));
  WriteCurrent(4);
  EXPECT_THAT(WhoOwns(), IsOkAndHolds(Owner::kLevelDb));
}

TEST(Database, OpensBesideADirectoryWithTheNameOfALog) {
  SimulatedEnv sim;
  { ASSERT_OK(sim.Open()); }
  ASSERT_OK(sim.files->CreateDirectory(kHome + "/000123.log"));
  EXPECT_OK(sim.Open());
}

}  // namespace
}  // namespace mergedb::leveldb_import
