// Goal: an open that LevelDB refuses is refused with LevelDB's status and changes nothing, whatever the directory holds.
// Seeks count for the compactions that reads pay for.
// Method: real directories, empty, of mergedb and of LevelDB. tests/compat/ compares everything else of DB with the
// original.
#include "leveldb/db.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>

#include "leveldb/env.h"
#include "testing/counters.h"
#include "testing/temp_directory.h"
#include "tests/leveldb/leveldb_directory.h"

namespace leveldb {
namespace {

using ::mergedb::testing::Counter;
using ::testing::HasSubstr;

std::map<std::string, std::string> FilesOf(const std::string& path) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

Status OpenOnce(const std::string& path, bool create_if_missing, bool error_if_exists) {
  Options options;
  options.create_if_missing = create_if_missing;
  options.error_if_exists = error_if_exists;
  DB* db = nullptr;
  const Status status = DB::Open(options, path, &db);
  EXPECT_EQ(status.ok(), db != nullptr);
  delete db;
  return status;
}

class DbOpen : public ::testing::Test {
 protected:
  void ExpectExists(const std::string& path) {
    const auto before = FilesOf(path);
    for (const bool create_if_missing : {true, false}) {
      const Status status = OpenOnce(path, create_if_missing, true);
      EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
      EXPECT_THAT(status.ToString(), HasSubstr("exists (error_if_exists is true)"));
      EXPECT_TRUE(FilesOf(path) == before) << "create_if_missing is " << create_if_missing;
    }
  }

  const mergedb::testing::TempDirectory home_;
  const std::string path_ = home_ / "db";
};

// Seeks a new iterator over at least two sorted runs, and returns the visits that it reports; they should be `*expected`.
uint64_t VisitsOf(DB& database, const std::function<void(Iterator&)>& seek, uint64_t* expected) {
  for (;;) {
    EXPECT_TRUE(database.Put({}, "key", "value").ok());
    EXPECT_TRUE(database.Write({}, nullptr).ok());  // flushes
    const uint64_t runs = Counter(database, "runs"), before = Counter(database, "extra_run_visits");
    std::unique_ptr<Iterator> iterator(database.NewIterator({}));
    seek(*iterator);
    EXPECT_TRUE(iterator->Valid());
    iterator->Next();  // a step visits no further run
    EXPECT_FALSE(iterator->Valid());
    iterator = nullptr;  // it reports when it ends
    *expected = runs - 1;
    // A compaction may begin at any time, if the machine is slow.
    if (runs >= 2 && Counter(database, "runs") == runs) return Counter(database, "extra_run_visits") - before;
  }
}

TEST(Seeks, CountTheSortedRunsThatTheyVisit) {
  const mergedb::testing::TempDirectory home;
  Options options;
  options.create_if_missing = true;
  DB* opened = nullptr;
  ASSERT_TRUE(DB::Open(options, home / "db", &opened).ok());
  const std::unique_ptr<DB> database(opened);
  const std::function<void(Iterator&)> seeks[] = {[](Iterator& iterator) { iterator.Seek("k"); },
                                                  [](Iterator& iterator) { iterator.SeekToFirst(); },
                                                  [](Iterator& iterator) { iterator.SeekToLast(); }};
  for (const auto& seek : seeks) {
    uint64_t expected = 0;
    EXPECT_EQ(VisitsOf(*database, seek, &expected), expected) << "seek " << &seek - seeks;
  }
}

TEST_F(DbOpen, ADatabaseThatIsMissingIsNotMadeUnlessAskedFor) {
  for (const bool error_if_exists : {true, false}) {
    const Status status = OpenOnce(path_, false, error_if_exists);
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr("does not exist (create_if_missing is false)"));
    EXPECT_FALSE(std::filesystem::exists(path_ + "/CURRENT"));
  }
  EXPECT_TRUE(OpenOnce(path_, true, true).ok());
}

TEST_F(DbOpen, ADatabaseThatMustNotExistStaysAsItIs) {
  ASSERT_TRUE(OpenOnce(path_, true, false).ok());
  ExpectExists(path_);
  EXPECT_TRUE(OpenOnce(path_, false, false).ok());
}

// An open converts LevelDB's databases, but not if it fails.
TEST_F(DbOpen, ALevelDbDatabaseThatMustNotExistIsNotConverted) {
  mergedb::testing::LevelDbDirectory directory;
  directory.AddTable(1, {{"k", 7, mergedb::kv::Kind::kPut, "v"}});
  std::filesystem::create_directory(path_);
  for (const auto& [name, bytes] : directory.Finish()) std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
  ExpectExists(path_);
  EXPECT_TRUE(OpenOnce(path_, false, false).ok());
  EXPECT_FALSE(FilesOf(path_).contains("000002.ldb")) << "converted";
}

}  // namespace
}  // namespace leveldb
