// Goal: mergedb recognises a RocksDB directory by each of its distinctive features, and no call of any
// interface changes a byte of it or adds a file. Method: LevelDB's files with one feature of RocksDB's among
// them, in memory; and a database that Debian's RocksDB wrote, if the library is installed, under every call.
#include "leveldb/import/rocksdb.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "base/coding.h"
#include "leveldb/db.h"
#include "leveldb/import/directory.h"
#include "mergedb/leveldb.h"
#include "mergedb/repair.h"
#include "testing/simulated_env.h"
#include "testing/temp_directory.h"
#include "tests/leveldb/leveldb_directory.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;

const std::string kPath = SimulatedEnv::kPath;

Files LevelDbsFiles() {
  LevelDbDirectory directory;
  directory.AddTable(1, {{"a", 7, kv::Kind::kPut, "1"}});
  return directory.Finish();
}

std::string Fixed64(uint64_t number) {
  std::string bytes(8, '\0');
  base::StoreFixed64(bytes.data(), number);
  return bytes;
}

// A MANIFEST whose second VersionEdit has a tag of RocksDB's after a field of LevelDB's.
std::string ManifestWithTag(uint32_t tag) {
  leveldb_format::VersionEdit comparator, next_file;
  comparator.comparator = std::string(leveldb_format::kBytewiseName);
  next_file.next_file = kv::FileNumber{9};
  const std::string first = leveldb_format::EncodeVersionEdit(comparator);
  std::string second = leveldb_format::EncodeVersionEdit(next_file);
  base::AppendVarint32(&second, tag);
  second += '\x01';
  std::string bytes;
  leveldb_format::LogWriter writer;
  writer.Append(first, &bytes);
  writer.Append(second, &bytes);
  return bytes;
}

struct Trait {
  std::string name, bytes, found;
};
const std::vector<Trait> kTraits = {
    {"OPTIONS-000007", "[Version]\n", "OPTIONS-000007 exists"},
    {"IDENTITY", "0d5b6e2c-77f1-4d9e-9f0a-b33b1d1c2f11", "IDENTITY exists"},
    {"IDENTITY", "0d5b6e2c-77f1-4d9e-9f0a-b33b1d1c2f11\n", "IDENTITY exists"},
    {"LOG", "2026/11/23-01:43:23.574545 13469 RocksDB version: 7.8.3\n", "LOG says so"},
    {"000009.sst", "bytes" + Fixed64(0x88e241b785f4cff7), "000009.sst is a table of RocksDB's"},
    {"000009.sst", Fixed64(0x8242229663bf9564), "000009.sst is a table of RocksDB's"},
    {"MANIFEST-000099", ManifestWithTag(103), "MANIFEST-000099 holds edits that only RocksDB makes"},
    {"MANIFEST-000099", ManifestWithTag(8193), "MANIFEST-000099 holds edits that only RocksDB makes"},
    {"MANIFEST-000099", ManifestWithTag(201), "MANIFEST-000099 holds edits that only RocksDB makes"},
};

void ExpectRefusals(const Options& options, const std::string& path, const std::string& found) {
  const auto refused = StatusIs(
      Code::kNotSupported, ::testing::AllOf(HasSubstr("RocksDB"), HasSubstr(found), HasSubstr("nothing was changed")));
  for (const OpenMode mode :
       {OpenMode::kCreateIfMissing, OpenMode::kMustExist, OpenMode::kMustNotExist, OpenMode::kReadOnly}) {
    Options opening = options;
    opening.mode = mode;
    EXPECT_THAT(DB::Open(opening, path), refused);
  }
  EXPECT_THAT(IsLevelDb(options, path), IsOkAndHolds(false));
  EXPECT_THAT(Verify(options, path), refused);
  EXPECT_THAT(Repair(options, path, {}), refused);
  EXPECT_THAT(Repair(options, path, {.dry_run = true}), refused);
  EXPECT_THAT(RepairLevelDb(options, path), refused);
}

TEST(RocksDb, IsKnownByEachThingThatLevelDbDoesNotMake) {
  for (const Trait& trait : kTraits) {
    for (const bool has_current : {true, false}) {
      SCOPED_TRACE(trait.name + (has_current ? "" : ", without CURRENT"));
      SimulatedEnv sim;
      Files files = LevelDbsFiles();
      files[trait.name] = trait.bytes;
      if (!has_current) files.erase("CURRENT");
      WriteFiles(sim.files.get(), kPath, files);
      ExpectRefusals(sim.SmallOptions(), kPath, trait.found);
      EXPECT_THAT(DB::Destroy(sim.SmallOptions(), kPath),
                  StatusIs(has_current ? Code::kNotSupported : Code::kNotFound));
      EXPECT_EQ(ReadFiles(*sim.files, kPath), files);
    }
  }
}

TEST(RocksDb, IsNotMadeADatabaseOfOursWhereNothingButItsLogIsLeft) {
  SimulatedEnv sim;
  const Files files = {{"LOCK", ""}, {"000004.log", "bytes"}, {"OPTIONS-000007", "[Version]\n"}};
  WriteFiles(sim.files.get(), kPath, files);
  EXPECT_THAT(sim.Open(), StatusIs(Code::kNotSupported, HasSubstr("OPTIONS-000007 exists")));
  EXPECT_EQ(ReadFiles(*sim.files, kPath), files);
}

TEST(RocksDb, IsNotWhatOnlyLooksAlike) {
  const std::vector<std::pair<std::string, std::string>> harmless = {
      {"OPTIONS", "mine"},      {"OPTIONS-", "mine"},    {"OPTIONS-old", "mine"},
      {"IDENTITY", "who I am"}, {"IDENTITY", ""},        {"LOG", "about RocksDB"},
      {"000009.sst", "short"},  {"MANIFEST-000099", ""}, {"MANIFEST-000099", "no log at all, and long enough for one"}};
  for (const auto& [name, bytes] : harmless) {
    SCOPED_TRACE(name);
    SimulatedEnv sim;
    Files files = LevelDbsFiles();
    files[name] = bytes;
    WriteFiles(sim.files.get(), kPath, files);
    EXPECT_THAT(IsLevelDb(sim.SmallOptions(), kPath), IsOkAndHolds(true));
    ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
    EXPECT_EQ(Scan(*db), (Shown{{"a", "1"}}));
  }
  LevelDbDirectory old;  // LevelDB's own tables had this name, too
  old.has_old_names = true;
  old.AddTable(1, {{"a", 7, kv::Kind::kPut, "1"}});
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), kPath, old.Finish());
  EXPECT_OK(sim.Open());
}

TEST(RocksDb, IsNotDecidedWhereAFileCannotBeRead) {
  for (const char* name : {"IDENTITY", "LOG", "000009.sst", "MANIFEST-"}) {
    for (const FileOp op : {FileOp::kOpen, FileOp::kRead}) {
      SCOPED_TRACE(std::string(OpName(op)) + " of " + name);
      SimulatedEnv sim;
      Files files = LevelDbsFiles();
      files["IDENTITY"] = "who I am";
      files["000009.sst"] = "not a table of RocksDB's";
      WriteFiles(sim.files.get(), kPath, files);
      sim.files->AddFault({.op = op, .path_contains = name, .sticky = true});
      EXPECT_THAT(IsLevelDb(sim.SmallOptions(), kPath), StatusIs(Code::kIOError));
      EXPECT_THAT(sim.Open(), StatusIs(Code::kIOError));
      EXPECT_THAT(RepairLevelDb(sim.SmallOptions(), kPath), StatusIs(Code::kIOError));
      sim.files->ClearFaults();
      EXPECT_EQ(ReadFiles(*sim.files, kPath), files);
    }
  }
}

TEST(RocksDb, IsNotADatabaseOfOursWithSuchFilesBesideIt) {
  SimulatedEnv sim;
  {
    ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
    ASSERT_OK(db->Put({}, "a", "1"));
  }
  for (const Trait& trait : kTraits) ASSERT_OK(sim.files->WriteWhole(kPath + "/" + trait.name, trait.bytes));
  {
    ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
    EXPECT_EQ(Scan(*db), (Shown{{"a", "1"}}));
  }
  ASSERT_OK(sim.files->WriteWhole(kPath + "/CURRENT", "damaged"));
  EXPECT_THAT(sim.Open(), StatusIs(Code::kCorruption));
  ASSERT_OK(Repair(sim.SmallOptions(), kPath, {}));
  ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
  EXPECT_EQ(Scan(*db), (Shown{{"a", "1"}}));
}

// ---- a database that RocksDB wrote ------------------------------------------------------------------------

Files FilesOn(const std::string& path) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  return files;
}

template <typename Call>
Call Find(void* library, const char* name) {
  return reinterpret_cast<Call>(dlsym(library, name));
}

// Returns false if the library is not on this machine.
bool WriteByRocksDb(const std::string& path, bool flushes) {
  void* library = dlopen("librocksdb.so.7.8", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("librocksdb.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  void* const options = Find<void* (*)()>(library, "rocksdb_options_create")();
  Find<void (*)(void*, unsigned char)>(library, "rocksdb_options_set_create_if_missing")(options, 1);
  char* error = nullptr;
  void* const db = Find<void* (*)(void*, const char*, char**)>(library, "rocksdb_open")(options, path.c_str(), &error);
  EXPECT_EQ(error, nullptr) << error;
  void* const write = Find<void* (*)()>(library, "rocksdb_writeoptions_create")();
  for (const char* key : {"a", "b", "c"}) {
    Find<void (*)(void*, void*, const char*, size_t, const char*, size_t, char**)>(library, "rocksdb_put")(
        db, write, key, 1, "v", 1, &error);
  }
  void* const flush = Find<void* (*)()>(library, "rocksdb_flushoptions_create")();
  if (flushes) Find<void (*)(void*, void*, char**)>(library, "rocksdb_flush")(db, flush, &error);
  EXPECT_EQ(error, nullptr) << error;
  Find<void (*)(void*)>(library, "rocksdb_close")(db);
  Find<void (*)(void*)>(library, "rocksdb_flushoptions_destroy")(flush);
  Find<void (*)(void*)>(library, "rocksdb_writeoptions_destroy")(write);
  Find<void (*)(void*)>(library, "rocksdb_options_destroy")(options);
  return true;
}

void ExpectUntouched(const std::string& path) {
  const Files before = FilesOn(path);
  ExpectRefusals({.memory_bytes = size_t{1} << 20}, path, "(");
  EXPECT_TRUE(FilesOn(path) == before);
  EXPECT_THAT(DB::Destroy({}, path), StatusIs(Code::kNotSupported, HasSubstr("RocksDB")));
  for (const bool may_create : {true, false}) {
    leveldb::Options options;
    options.create_if_missing = may_create;
    leveldb::DB* db = nullptr;
    const leveldb::Status opened = leveldb::DB::Open(options, path, &db);
    EXPECT_THAT(opened.ToString(), HasSubstr("a database of RocksDB"));
  }
  EXPECT_THAT(leveldb::RepairDB(path, {}).ToString(), HasSubstr("a database of RocksDB"));
  EXPECT_THAT(leveldb::DestroyDB(path, {}).ToString(), HasSubstr("a database of RocksDB"));
  EXPECT_TRUE(FilesOn(path) == before);
}

TEST(RocksDb, IsLeftAsItIsByEveryCall) {
  for (const bool flushes : {true, false}) {
    SCOPED_TRACE(flushes ? "with tables" : "without tables");
    const TempDirectory directory;
    const std::string path = directory / "rocks";
    if (!WriteByRocksDb(path, flushes)) GTEST_SKIP() << "no librocksdb on this machine";
    ExpectUntouched(path);
    for (const char* verb : {"convert", "convert --salvage", "repair", "verify", "scan", "put", "destroy --yes"}) {
      const Files before = FilesOn(path);
      const std::string words = std::string(verb) == "put" ? " a b" : "";
      const std::string command = "'" MERGEDB_COMMAND "' " + std::string(verb) + " '" + path + "'" + words + " 2> '" +
                                  (directory / "err") + "' > /dev/null";
      EXPECT_NE(std::system(command.c_str()), 0) << verb;
      std::ifstream in(directory / "err");
      EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}), HasSubstr("a database of RocksDB")) << verb;
      EXPECT_TRUE(FilesOn(path) == before) << verb;
    }
    // First remove the two files that identify it as RocksDB's.
    std::filesystem::remove(path + "/IDENTITY");
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().filename().string().starts_with("OPTIONS-")) std::filesystem::remove(entry.path());
    }
    const Files before = FilesOn(path);
    EXPECT_THAT(RepairLevelDb({}, path),
                StatusIs(Code::kNotSupported, HasSubstr(flushes ? "of RocksDB (" : "of RocksDB (LOG says so)")));
    EXPECT_TRUE(FilesOn(path) == before);
  }
}

}  // namespace
}  // namespace mergedb::testing
