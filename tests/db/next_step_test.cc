// Goal: an error says what happened and what to do next, and only keys and databases are NotFound. A read or
// a write of an open database whose files or directory are gone returns IOError; Corruption names the
// commands that help, once. Method: files and a directory that are renamed under an open database; every kind of file
// call returns NotFound, under every call of the database.
#include "read/next_step.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "env/held_files.h"
#include "mergedb/c.h"
#include "mergedb/db.h"
#include "mergedb/transaction.h"
#include "testing/counters.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing::next_step_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kVerify = "`mergedb verify /db`";

TEST(NextStep, IsNamedOnceAndOfCorruptionAlone) {
  const Status damage = Status::Corruption("a block");
  const Status told = read::WithNextStep(damage, "/db");
  EXPECT_THAT(told, StatusIs(Code::kCorruption,
                             AllOf(HasSubstr("a block; "), HasSubstr(kVerify), HasSubstr("`mergedb repair /db`"))));
  EXPECT_EQ(read::WithNextStep(told, "/db").message(), told.message());
  EXPECT_EQ(read::OfWrite(told, "/db").message(), told.message());
  EXPECT_EQ(read::WithNextStep(damage, "").message(), "a block");
  EXPECT_EQ(read::WithNextStep(Status::NotFound("key"), "/db").ToString(), "NotFound: key");
  EXPECT_OK(read::WithNextStep({}, "/db"));
  EXPECT_OK(read::OfWrite({}, "/db"));
  EXPECT_THAT(read::OfWrite(Status::NotFound("/db/1"), "/db"),
              StatusIs(Code::kIOError, AllOf(HasSubstr("/db/1; "), HasSubstr("directory /db"))));
  EXPECT_TRUE(read::OfWrite(Status::NotFound("x").WithOutcomeUnknown(), "/db").outcome_unknown());
}

// Damage in the only table, met by every way to read it.
TEST(NextStep, IsNamedByOpensAndReads) {
  SimulatedEnv sim;
  {
    ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
    for (int i = 0; i < 100; ++i) ASSERT_OK(db->Put({}, "k" + std::to_string(i), "v"));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Close());
  }
  for (const std::string& path : sim.files->Files()) {
    if (!path.ends_with(".tbl")) continue;
    ASSERT_OK(sim.files->FlipBit(path, 20, 3));
  }
  const auto names_it = StatusIs(Code::kCorruption, AllOf(HasSubstr(kVerify), HasSubstr("`mergedb repair /db`")));
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  std::string value;
  std::vector<std::string> values;
  EXPECT_THAT(db->Get({}, "k1", &value), names_it);
  EXPECT_THAT(db->MultiGet({}, {"k1"}, &values)[0], names_it);
  const auto it = db->NewIterator();
  it->SeekToFirst();
  EXPECT_THAT(it->status(), names_it);
  EXPECT_FALSE(it->failed_key());
  ASSERT_OK_AND_ASSIGN(const auto transaction, Transaction::Begin(*db, {}));
  EXPECT_THAT(transaction->Get("k1", &value), names_it);
  transaction->Rollback();
  ASSERT_OK(db->Put({}, "k50", "newer"));  // otherwise there is nothing to compact
  EXPECT_THAT(db->CompactRange(nullptr, nullptr), names_it);
  db = nullptr;
  ASSERT_OK(sim.files->WriteWhole("/db/CURRENT", "damaged"));
  EXPECT_THAT(sim.Open(), StatusIs(Code::kCorruption, HasSubstr("`mergedb repair")));
}

// ---- read-only, beside a writer ---------------------------------------------------------------------------

// A reader that holds no file, as under a file system without locks, beside a writer that replaces all of them.
TEST(NextStep, OfAReadOnlyOpenIsToOpenAgainIfTheWriterHasReplacedTheFile) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
  const auto overwrite = [&](int round) {
    for (int i = 0; i < 2'000; ++i) {
      const size_t bytes = i % 10 == 0 ? 2'000 : 50;  // in blob files and in tables
      ASSERT_OK(db->Put({}, "k" + std::to_string(i), std::string(bytes, static_cast<char>('a' + round))));
    }
    ASSERT_OK(db->CompactRange(nullptr, nullptr));
  };
  overwrite(0);
  env::HeldFiles without_holds(sim.files.get(), 0);
  Options options = sim.SmallOptions();
  options.mode = OpenMode::kReadOnly;
  options.env.file_system = &without_holds;
  ASSERT_OK_AND_ASSIGN(const auto reader, DB::Open(options, SimulatedEnv::kPath));
  ASSERT_OK(reader->CheckIntegrity());
  for (int round = 1; round < 8; ++round) overwrite(round);
  EXPECT_GT(Counter(*db, "files_recycled"), 0u);

  const auto says_so = StatusIs(
      Code::kBusy, AllOf(HasSubstr("has replaced this file"), HasSubstr("open it again"), Not(HasSubstr("`mergedb"))));
  EXPECT_THAT(reader->CheckIntegrity(), says_so);
  const auto it = reader->NewIterator();
  it->SeekToFirst();
  while (it->Valid()) it->Next();
  EXPECT_THAT(it->status(), says_so);
  int busy = 0;
  for (int i = 0; i < 2'000; ++i) {
    std::string value;
    const Status status = reader->Get({}, "k" + std::to_string(i), &value);
    if (status.ok()) {
      EXPECT_EQ(value.find_first_not_of('a'), std::string::npos) << i;
    } else {
      EXPECT_THAT(status, says_so) << i;
      ++busy;
    }
  }
  EXPECT_GT(busy, 0);
  EXPECT_OK(db->CheckIntegrity());
}

// The files of a reader that holds them stay, whatever the writer does; damage stays damage.
TEST(NextStep, OfAReadOnlyOpenIsARepairIfTheFileIsDamaged) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
  for (int i = 0; i < 2'000; ++i) ASSERT_OK(db->Put({}, "k" + std::to_string(i), "v"));
  ASSERT_OK(db->CompactRange(nullptr, nullptr));
  Options options = sim.SmallOptions();
  options.mode = OpenMode::kReadOnly;
  ASSERT_OK_AND_ASSIGN(const auto reader, DB::Open(options, SimulatedEnv::kPath));
  for (const std::string& path : sim.files->Files()) {
    if (!path.ends_with(".tbl")) continue;
    ASSERT_OK(sim.files->FlipBit(path, 20, 3));
  }
  EXPECT_THAT(reader->CheckIntegrity(), StatusIs(Code::kCorruption, AllOf(HasSubstr(kVerify), HasSubstr("repair"))));
  const auto it = reader->NewIterator();
  it->SeekToFirst();
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption, AllOf(HasSubstr(kVerify), HasSubstr("repair"))));
}

// REPAIR exists while `mergedb repair` runs, which has the lock, and after an interrupted one.
TEST(NextStep, OfAReadOnlyOpenBesideARepairIsToWait) {
  const TempDirectory home;
  const std::string path = home / "db";
  { ASSERT_OK(DB::Open({}, path)); }
  FileSystem* const files = DefaultEnv().file_system;
  ASSERT_OK(files->Open(path + "/REPAIR", {.access = Access::kCreate}));
  {
    ASSERT_OK_AND_ASSIGN(const auto lock, files->Lock(path + "/LOCK"));
    EXPECT_THAT(DB::Open({.mode = OpenMode::kReadOnly}, path),
                StatusIs(Code::kBusy, AllOf(HasSubstr(path), HasSubstr("a repair of the database runs"))));
    std::filesystem::rename(path + "/CURRENT", path + "/moved");
    EXPECT_THAT(DB::Open({.mode = OpenMode::kReadOnly}, path), StatusIs(Code::kBusy)) << "it may be replacing CURRENT";
    std::filesystem::rename(path + "/moved", path + "/CURRENT");
  }
  EXPECT_THAT(DB::Open({.mode = OpenMode::kReadOnly}, path),
              StatusIs(Code::kCorruption, HasSubstr("run `mergedb repair " + path + "` again")));
}

// ---- files that are gone ----------------------------------------------------------------------------------

// Calls the database while file calls return NotFound, and accepts every answer except NotFound.
class NeverNotFound {
 public:
  explicit NeverNotFound(DB& db) : db_(db) {}

  void TryAll() {
    std::string value;
    WriteBatch batch;
    batch.Put("batch", "1");
    Check("Put", db_.Put({}, "new", std::string(3000, 'x')));
    Check("synced Put", db_.Put({.durability = Durability::kSynced}, "new", "x"));
    Check("Delete", db_.Delete({}, "new"));
    Check("DeleteRange", db_.DeleteRange({}, "x", "y"));
    Check("Write", db_.Write({}, batch));
    Check("SyncWal", db_.SyncWal());
    Check("Flush", db_.Flush());
    Check("CompactRange", db_.CompactRange(nullptr, nullptr));
    Check("WaitForCompaction", db_.WaitForCompaction());
    Check("CreateKeyspace", db_.CreateKeyspace("x", {.may_exist = true}).status());
    if (auto begun = Transaction::Begin(db_, {})) {
      Check("Put of a transaction", (*begun)->Put("new", "x"));
      Check("Commit", (*begun)->Commit());
    }
    for (const char* key : {"k10", "k55", "large"}) Check("Get", db_.Get({}, key, &value));
    std::vector<std::string> values;
    for (const Status& status : db_.MultiGet({}, {"k20", "large"}, &values)) Check("MultiGet", status);
    const auto it = db_.NewIterator();
    int seen = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) seen += it->key().starts_with("k");
    Check("iterator", it->status());
    if (it->status().ok()) { EXPECT_EQ(seen, 100) << "an end that is none"; }
    it->SeekToLast();
    Check("iterator, backward", it->status());
    Check("CheckIntegrity", db_.CheckIntegrity());
  }
  bool has_failed() const { return has_failed_; }

 private:
  void Check(const std::string& what, const Status& status) {
    has_failed_ |= !status.ok();
    EXPECT_FALSE(status.IsNotFound()) << what << ": " << status.ToString();
  }

  DB& db_;
  bool has_failed_ = false;
};

void Fill(DB& db) {
  for (int i = 0; i < 100; ++i) ASSERT_OK(db.Put({}, "k" + std::to_string(i), std::string(100, 'v')));
  for (int i = 0; i < 300; ++i) ASSERT_OK(db.Put({}, "large" + std::to_string(i), std::string(100, 'l')));
  ASSERT_OK(db.Put({}, "large", std::string(20'000, 'l')));
  ASSERT_OK(db.Flush());
}

// Opens the tables and blob files without caching their blocks.
void OpenFiles(DB& db) {
  std::string value;
  for (const char* key : {"k10", "large", "large7"}) ASSERT_OK(db.Get({.fill_cache = false}, key, &value));
}

// Symptom: after a rename of its directory a Put returned NotFound. Symptom: with a file system that returns
// NotFound to a read, Get reported an existing key as absent.
TEST(NextStep, NotFoundOfAFileIsNoAnswerToAnyCall) {
  int failures = 0;
  for (const FileOp op : {FileOp::kOpen, FileOp::kCreate, FileOp::kRead, FileOp::kWrite, FileOp::kSync,
                          FileOp::kTruncate, FileOp::kMap, FileOp::kSizeOf, FileOp::kList, FileOp::kRename,
                          FileOp::kRemove, FileOp::kLink, FileOp::kSyncDirectory, FileOp::kAny}) {
    for (const auto& [part, is_open] : {std::pair("", false),
                                        {"", true},
                                        {".tbl", false},
                                        {".tbl", true},
                                        {".val", false},
                                        {".val", true},
                                        {".seg", false},
                                        {"MANIFEST", false},
                                        {"CURRENT", false},
                                        {"STAGING", false}}) {
      SCOPED_TRACE(std::string(OpName(op)) + " of \"" + part + "\"" + (is_open ? ", open" : ""));
      SimulatedEnv sim;
      {
        ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
        Fill(*db);
      }
      ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
      if (is_open) OpenFiles(*db);
      sim.files->AddFault({.op = op, .path_contains = part, .sticky = true, .status = Status::NotFound("injected")});
      NeverNotFound calls(*db);
      calls.TryAll();
      calls.TryAll();
      failures += calls.has_failed();
      EXPECT_FALSE(db->Close().IsNotFound());
    }
  }
  EXPECT_GT(failures, 30);
}

TEST(NextStep, AnOpenThatLosesItsFilesOnTheWaySaysSo) {
  for (const FileOp op :
       {FileOp::kCreate, FileOp::kWrite, FileOp::kRename, FileOp::kSyncDirectory, FileOp::kSync, FileOp::kMap}) {
    for (const bool is_new : {false, true}) {
      SCOPED_TRACE(std::string(OpName(op)) + (is_new ? ", a new one" : ""));
      SimulatedEnv sim;
      if (!is_new) {
        ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
        Fill(*db);
      }
      sim.files->AddFault({.op = op, .path_contains = "/db", .sticky = true, .status = Status::NotFound("injected")});
      EXPECT_FALSE(sim.Open().status().IsNotFound());
    }
  }
}

// With a file system of the program, which opens each file by its path (FileSystem::Bind). Real files of the default
// one do not mind: tests/db/directory_test.cc.
TEST(NextStep, ADirectoryThatWasRenamedIsNamed) {
  for (const bool is_mapped : {true, false}) {
    SCOPED_TRACE(is_mapped ? "mapped" : "not mapped");
    const TempDirectory directory;
    WatchedFileSystem by_path(DefaultEnv().file_system, {});
    const std::string path = directory / "db", elsewhere = directory / "elsewhere";
    Options options{.memory_bytes = size_t{1} << 20, .write_buffer_bytes = 65536, .use_mapped_wal_buffer = is_mapped};
    options.env.file_system = &by_path;
    {
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, path));
      Fill(*db);
    }
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, path));
    std::filesystem::rename(path, elsewhere);
    Status failed;
    for (int i = 0; i < 100'000 && failed.ok(); ++i)
      failed = db->Put({}, "new" + std::to_string(i), std::string(1000, 'x'));
    EXPECT_THAT(failed, StatusIs(Code::kIOError, AllOf(HasSubstr(path), HasSubstr("renamed or removed"),
                                                       HasSubstr("`mergedb verify " + path + "`"))));
    NeverNotFound calls(*db);
    calls.TryAll();
    EXPECT_TRUE(calls.has_failed());
    // The database recovers when its directory returns.
    std::filesystem::rename(elsewhere, path);
    Status status;
    for (int attempt = 0; attempt < 1000; ++attempt) {
      status = db->Put({.durability = Durability::kSynced}, "after", "1");
      if (status.ok()) break;
      DefaultEnv().clock->SleepNanos(10'000'000);
    }
    EXPECT_OK(status);
    EXPECT_OK(db->Flush());
    EXPECT_OK(db->Close());
  }
}

// An iterator in C returns NOT_FOUND at its end: an error with that code would look like the end.
TEST(NextStep, AnIteratorInCEndsWhereItsKeysEnd) {
  const TempDirectory directory;
  const std::string path = directory / "db";
  mergedb_options options = {};
  options.struct_size = sizeof options;
  mergedb_error error;
  mergedb_db db = 0;
  ASSERT_EQ(mergedb_open(path.c_str(), &options, &db, &error), MERGEDB_OK);
  ASSERT_EQ(mergedb_put(db, nullptr, "k", 1, "v", 1, &error), MERGEDB_OK);
  ASSERT_EQ(mergedb_close(db, &error), MERGEDB_OK);
  ASSERT_EQ(mergedb_open(path.c_str(), &options, &db, &error), MERGEDB_OK);
  ASSERT_EQ(mergedb_flush(db, &error), MERGEDB_OK);
  std::filesystem::create_directory(directory / "elsewhere");
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".tbl")
      std::filesystem::rename(entry.path(), directory / ("elsewhere/" + entry.path().filename().string()));
  }
  ASSERT_FALSE(std::filesystem::is_empty(directory / "elsewhere"));
  mergedb_iterator it = 0;
  const mergedb_code created = mergedb_iterator_create(db, nullptr, &it, &error);
  EXPECT_NE(created, MERGEDB_NOT_FOUND);
  if (created == MERGEDB_OK) {
    EXPECT_NE(mergedb_iterator_seek_to_first(it, &error), MERGEDB_NOT_FOUND) << error.message;
    (void)mergedb_iterator_close(it, nullptr);
  }
  void* value = nullptr;
  size_t size = 0;
  EXPECT_NE(mergedb_get(db, nullptr, "k", 1, &value, &size, &error), MERGEDB_NOT_FOUND) << error.message;
  mergedb_free(value);
  EXPECT_NE(mergedb_close(db, &error), MERGEDB_NOT_FOUND);
}

}  // namespace
}  // namespace mergedb::testing::next_step_test
