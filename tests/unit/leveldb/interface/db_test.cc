// Goal: an open that LevelDB refuses is refused with LevelDB's status and changes nothing, whatever the directory
// holds. Seeks count for the compactions that reads pay for.
// Method: real directories, empty, of mergedb and of LevelDB. tests/compat/ compares everything else of DB with the
// original.
#include "leveldb/db.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "leveldb/env.h"
#include "leveldb/write_batch.h"
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

// Seeks a new iterator over at least two sorted runs, and returns the visits that it reports; they should be
// `*expected`.
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

// Calls `hook` before each write and sync of a file.
class HookedFile final : public WritableFile {
 public:
  HookedFile(WritableFile* file, const std::function<void()>* hook) : file_(file), hook_(*hook) {}
  Status Append(const Slice& data) override {
    hook_();
    return file_->Append(data);
  }
  Status Close() override { return file_->Close(); }
  Status Flush() override { return file_->Flush(); }
  Status Sync() override {
    hook_();
    return file_->Sync();
  }

 private:
  const std::unique_ptr<WritableFile> file_;
  const std::function<void()>& hook_;
};

class HookedEnv final : public EnvWrapper {
 public:
  HookedEnv() : EnvWrapper(Env::Default()) {}
  Status NewWritableFile(const std::string& name, WritableFile** file) override {
    const Status status = target()->NewWritableFile(name, file);
    if (status.ok()) *file = new HookedFile(*file, &hook);
    return status;
  }
  Status NewAppendableFile(const std::string& name, WritableFile** file) override {
    const Status status = target()->NewAppendableFile(name, file);
    if (status.ok()) *file = new HookedFile(*file, &hook);
    return status;
  }

  std::function<void()> hook = [] {};
};

// A program's Env that writes a batch to another database while a batch is written.
TEST_F(DbOpen, AWriteWithinAWriteKeepsBothBatches) {
  HookedEnv env;
  Options hooked, plain;
  hooked.create_if_missing = plain.create_if_missing = true;
  hooked.env = &env;
  DB* opened = nullptr;
  ASSERT_TRUE(DB::Open(plain, home_ / "other", &opened).ok());
  const std::unique_ptr<DB> other(opened);
  ASSERT_TRUE(DB::Open(hooked, path_, &opened).ok());
  std::unique_ptr<DB> database(opened);
  static thread_local bool is_writing = false;
  std::atomic<int> nested = 0;
  env.hook = [&] {
    if (!std::exchange(is_writing, false)) return;
    WriteBatch batch;
    batch.Put("x", "other");
    batch.Put("y", "other");
    EXPECT_TRUE(other->Write({}, &batch).ok());
    ++nested;
  };
  WriteOptions synced;
  synced.sync = true;
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "2");
  is_writing = true;
  EXPECT_TRUE(database->Write(synced, &batch).ok());
  is_writing = false;
  EXPECT_EQ(nested, 1);
  env.hook = [] {};
  std::string value;
  for (const auto& [key, wanted] : {std::pair("a", "1"), std::pair("b", "2")}) {
    EXPECT_TRUE(database->Get({}, key, &value).ok()) << key;
    EXPECT_EQ(value, wanted);
  }
  EXPECT_TRUE(database->Get({}, "x", &value).IsNotFound());
  for (const char* key : {"x", "y"}) EXPECT_TRUE(other->Get({}, key, &value).ok()) << key;
  database = nullptr;
}

}  // namespace
}  // namespace leveldb
