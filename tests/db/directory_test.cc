// Goal: an open database stays in its directory. If the directory is renamed, another one takes its name, or the
// working directory changes, writes and reads go on as before, and nothing else is touched. If LOCK is removed or
// replaced, so that another process may have opened the database, this one stops writing and says so; what it
// acknowledged before is there. Method: real directories; a second database under the old name; a process that opens
// the database beside this one after LOCK was removed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "mergedb/checkpoint.h"
#include "mergedb/db.h"
#include "mergedb/repair.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;
using Pairs = std::map<std::string, std::string>;

Options SmallOptions(bool is_mapped) {
  return {.memory_bytes = size_t{1} << 20,
          .write_buffer_bytes = size_t{64} << 10,
          .blob_value_bytes_min = 4000,
          .use_mapped_wal_buffer = is_mapped,
          .log_bytes_max = uint64_t{1} << 20};
}

// Writes `count` pairs; every 50th value is in a blob file.
Status WriteSome(DB& db, const std::string& prefix, int count, Pairs* pairs) {
  for (int i = 0; i < count; ++i) {
    const std::string key = prefix + std::to_string(i);
    const std::string value(i % 50 == 0 ? 5000 : 500, static_cast<char>('a' + i % 26));
    RETURN_IF_ERROR(db.Put({}, key, value));
    (*pairs)[key] = value;
  }
  return {};
}

Pairs All(DB& db) {
  Pairs pairs;
  const auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) pairs.emplace(it->key(), it->value());
  EXPECT_OK(it->status());
  return pairs;
}

Pairs ReadAll(const std::string& path) {
  Options options = SmallOptions(true);
  options.mode = OpenMode::kMustExist;
  const auto db = DB::Open(options, path);
  EXPECT_OK(db.status());
  if (!db) return {};
  EXPECT_OK((*db)->CheckIntegrity());
  std::string recovery;
  EXPECT_TRUE((*db)->GetProperty("mergedb.recovery", &recovery));
  EXPECT_EQ(recovery, "");
  return All(**db);
}

std::map<std::string, std::string> FilesOf(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    std::ostringstream bytes;
    if (entry.is_regular_file()) bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path()] = bytes.str();
  }
  return files;
}

class Directory : public ::testing::TestWithParam<bool> {
 protected:
  Options SmallOptions() const { return testing::SmallOptions(GetParam()); }
  std::unique_ptr<DB> Open(const std::string& path) const {
    auto db = DB::Open(SmallOptions(), path);
    EXPECT_OK(db.status());
    return db ? std::move(*db) : nullptr;
  }

  const TempDirectory home_;
  const std::string path_ = home_ / "data";
  const std::string moved_ = home_ / "data.bak";
  Pairs pairs_;
};

// Everything that opens, makes, renames, links or removes a file: flushes, compactions, commits of the MANIFEST, new
// and reused segments, recycled files, LOG, LIVE, a checkpoint, and the reads of tables that are not open.
void UseEverything(DB& db, const std::string& home, const std::string& name, Pairs* pairs) {
  ASSERT_OK(WriteSome(db, name, 3000, pairs));
  ASSERT_OK(db.Put({.durability = Durability::kSynced}, name + "synced", "1"));
  (*pairs)[name + "synced"] = "1";
  ASSERT_OK(db.Flush());
  ASSERT_OK(db.CompactRange(nullptr, nullptr));
  ASSERT_OK(WriteSome(db, name, 3000, pairs));
  ASSERT_OK(Checkpoint(db, home + "/copy of " + name));
  ASSERT_OK(db.CheckIntegrity());
  ASSERT_EQ(All(db), *pairs);
}

// Symptom: after `mv data data.bak; mkdir data`, 20,000 of 20,000 acknowledged puts and a synced one were lost. New WAL
// segments and tables went to the new directory.
TEST_P(Directory, RenamedWithAnotherInItsPlace) {
  auto db = Open(path_);
  ASSERT_OK(WriteSome(*db, "old", 1000, &pairs_));
  fs::rename(path_, moved_);
  fs::create_directory(path_);
  UseEverything(*db, home_.path(), "new", &pairs_);
  ASSERT_OK(WriteSome(*db, "last", 100, &pairs_));
  EXPECT_OK(db->Close());
  EXPECT_EQ(FilesOf(path_).size(), 0u);
  EXPECT_EQ(ReadAll(moved_), pairs_);
  EXPECT_EQ(ReadAll(home_ / "copy of new").size(), 4001u);
}

// Symptom: the Close of the renamed database replaced the CURRENT of the one that had been made under the old name.
TEST_P(Directory, RenamedWithAnotherDatabaseInItsPlace) {
  auto db = Open(path_);
  ASSERT_OK(WriteSome(*db, "old", 1000, &pairs_));
  fs::rename(path_, moved_);
  auto other = Open(path_);
  Pairs others;
  ASSERT_OK(WriteSome(*other, "other", 1000, &others));
  UseEverything(*db, home_.path(), "new", &pairs_);
  UseEverything(*other, home_.path(), "other", &others);
  EXPECT_EQ(All(*db), pairs_);
  EXPECT_OK(db->Close());
  EXPECT_OK(other->Close());
  EXPECT_EQ(ReadAll(moved_), pairs_);
  EXPECT_EQ(ReadAll(path_), others);
}

// Symptom: each put of a program that calls chdir (a daemon) failed after some time.
TEST_P(Directory, RelativePathAndAnotherWorkingDirectory) {
  const fs::path before = fs::current_path();
  fs::current_path(home_.path());
  for (const std::string path : {"./relative", "relative/"}) {
    SCOPED_TRACE(path);
    pairs_ = path == "./relative" ? Pairs() : pairs_;
    auto db = Open(path);
    ASSERT_OK(WriteSome(*db, "old", 100, &pairs_));
    fs::create_directory("elsewhere");
    fs::current_path("elsewhere");
    UseEverything(*db, home_.path(), path == "./relative" ? "first" : "second", &pairs_);
    EXPECT_OK(db->Close());
    EXPECT_EQ(FilesOf(".").size(), 0u);
    fs::current_path("..");
    EXPECT_EQ(ReadAll(path), pairs_);
  }
  fs::current_path(before);
}

// A read-only open finds its files, although it opens most of them later, and the next attempt too.
TEST_P(Directory, ReadOnlyAndRenamed) {
  {
    auto db = Open(path_);
    ASSERT_OK(WriteSome(*db, "old", 3000, &pairs_));
    ASSERT_OK(db->Flush());
    EXPECT_OK(db->Close());
  }
  Options options = SmallOptions();
  options.mode = OpenMode::kReadOnly;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, path_));
  fs::rename(path_, moved_);
  fs::create_directory(path_);
  EXPECT_EQ(All(*db), pairs_);
  EXPECT_OK(db->CheckIntegrity());
}

// ---- LOCK -------------------------------------------------------------------------------------------------

// Puts until one fails. The WAL is synced after a second at the latest, and a put of that time may still succeed.
Status PutUntilItFails(DB& db, const std::string& prefix, Pairs* pairs) {
  Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i) {
    const std::string key = prefix + std::to_string(i);
    status = db.Put({}, key, std::string(500, 'x'));
    if (status.ok()) (*pairs)[key] = std::string(500, 'x');
  }
  return status;
}

// Symptom: LOCK was removed by hand, another process opened the database and wrote, both were told OK, and the database
// did not open any more. Now writes end, and all that was acknowledged is there.
TEST_P(Directory, ALockThatWasRemovedOrReplacedEndsTheWrites) {
  for (const std::string how : {"removed", "replaced", "moved away and back"}) {
    SCOPED_TRACE(how);
    pairs_.clear();
    fs::remove_all(path_);
    auto db = Open(path_);
    ASSERT_OK(WriteSome(*db, "old", 1000, &pairs_));
    const std::string lock = path_ + "/LOCK";
    fs::rename(lock, home_ / "LOCK.kept");
    if (how == "replaced") std::ofstream(lock).put('x');
    EXPECT_THAT(DB::Open(SmallOptions(), path_).status(), StatusIs(Code::kBusy)) << "in the same process";
    const auto names_lock = StatusIs(
        Code::kIOError, AllOf(HasSubstr(lock), HasSubstr("removed or replaced"), HasSubstr("close the database")));
    EXPECT_THAT(db->Put({.durability = Durability::kSynced}, "synced", "1"), names_lock);
    if (how == "moved away and back") {
      fs::remove(lock);
      fs::rename(home_ / "LOCK.kept", lock);
    }
    EXPECT_THAT(PutUntilItFails(*db, "new", &pairs_), names_lock);
    EXPECT_THAT(db->Flush(), names_lock);
    EXPECT_THAT(db->CompactRange(nullptr, nullptr), names_lock);
    std::string value;
    EXPECT_OK(db->Get({}, "old7", &value)) << "reads go on";
    const auto before = FilesOf(path_);
    EXPECT_THAT(db->Close(), names_lock);
    const auto after = FilesOf(path_);
    for (const auto& [file, bytes] : before) {
      if (!file.ends_with("STAGING")) { EXPECT_TRUE(after.contains(file) && after.at(file) == bytes) << file; }
    }
    Pairs found = ReadAll(path_);
    found.erase("synced");  // its outcome is not known
    // The last put, which failed, may be there.
    for (const auto& [key, expected] : pairs_) EXPECT_EQ(found[key], expected) << key;
    EXPECT_LE(found.size(), pairs_.size() + 1);
  }
}

// One byte through a pipe: the other process goes on.
class Signal {
 public:
  Signal() { EXPECT_EQ(pipe(ends_), 0); }
  ~Signal() {
    close(ends_[0]);
    NeverGive();
  }
  // This process only awaits. If the other one ends, Await returns false.
  void NeverGive() { close(std::exchange(ends_[1], -1)); }
  void Give() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  bool Await() const {
    char byte = 0;
    return read(ends_[0], &byte, 1) == 1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// The first process (a child) has the database open; the second (this one) opens it after LOCK was removed.
TEST_P(Directory, TwoProcessesAfterTheLockWasRemoved) {
  Signal is_open, is_replaced;
  const pid_t first = fork();
  if (first == 0) {
    is_replaced.NeverGive();
    auto db = DB::Open(SmallOptions(), path_);
    Pairs written;
    if (!db || !WriteSome(**db, "first", 3000, &written).ok()) _exit(2);
    // WHY: a table that is being made has the number that the other process gives to its first table.
    if (!(*db)->WaitForCompaction().ok()) _exit(2);
    is_open.Give();
    if (!is_replaced.Await()) _exit(3);
    const Status failed = PutUntilItFails(**db, "late", &written);
    const Status closed = (*db)->Close();
    const bool names_lock = failed.message().find("LOCK: removed or replaced") != std::string_view::npos;
    _exit(failed.IsIOError() && names_lock && !closed.ok() ? 0 : 4);
  }
  ASSERT_TRUE(is_open.Await());
  EXPECT_THAT(DB::Open(SmallOptions(), path_).status(), StatusIs(Code::kBusy));
  fs::remove(path_ + "/LOCK");
  auto db = Open(path_);
  ASSERT_NE(db, nullptr);
  Pairs pairs = All(*db);
  EXPECT_EQ(pairs.size(), 3000u) << "what the first process had acknowledged";
  is_replaced.Give();
  // Both write; files of this process get the numbers that the other one has used.
  ASSERT_OK(WriteSome(*db, "second", 6000, &pairs));
  int outcome = -1;
  ASSERT_EQ(waitpid(first, &outcome, 0), first);
  EXPECT_TRUE(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) << outcome;
  ASSERT_OK(WriteSome(*db, "third", 1000, &pairs));
  ASSERT_OK(db->CompactRange(nullptr, nullptr));
  EXPECT_EQ(All(*db), pairs);
  EXPECT_OK(db->Close());
  EXPECT_EQ(ReadAll(path_), pairs);
}

// The whole directory is gone: no file comes back, and the errors say so.
TEST_P(Directory, RemovedWhileOpen) {
  auto db = Open(path_);
  ASSERT_OK(WriteSome(*db, "old", 1000, &pairs_));
  std::error_code error(1, std::generic_category());
  while (error) fs::remove_all(path_, error);  // background work may make a file meanwhile, until LOCK is gone
  fs::create_directory(path_);
  EXPECT_THAT(PutUntilItFails(*db, "new", &pairs_), StatusIs(Code::kIOError, HasSubstr("LOCK: removed or replaced")));
  EXPECT_THAT(db->Close(), StatusIs(Code::kIOError));
  EXPECT_EQ(FilesOf(path_).size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Wal, Directory, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "Mapped" : "Written"); });

// Destroy, Verify and Repair of a directory that is renamed while they run do not touch another one: they use the same
// binding as an open. Destroy removes the lock last and the directory after it.
TEST(DirectoryOfOtherCalls, DestroyRemovesEverything) {
  const TempDirectory home;
  Pairs pairs;
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(SmallOptions(true), home / "db"));
    ASSERT_OK(WriteSome(*db, "k", 1000, &pairs));
  }
  ASSERT_OK(Verify(SmallOptions(true), home / "db"));
  ASSERT_OK(DB::Destroy(SmallOptions(true), home / "db"));
  EXPECT_FALSE(fs::exists(home / "db"));
}

}  // namespace
}  // namespace mergedb::testing
