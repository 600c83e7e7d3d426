// Goal: databases of one key that rest hold almost no memory, through the LevelDB and LMDB interfaces, too. Method:
// real time, since these interfaces bring their own clock and threads. The test waits until each database has flushed
// its key, as a database does five seconds after its last write. tests/db/small_database_test.cc tests the rest of it
// in simulated time.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/db.h"
#include "lmdb.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

constexpr int kCount = 20;  // of each interface
constexpr uint64_t kRestingBytesMax = uint64_t{512} << 10;

uint64_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib << 10;
  }
  return 0;
}

int Tables(const std::string& directory) {
  int tables = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    tables += entry.path().extension() == ".tbl";
  return tables;
}

std::unique_ptr<leveldb::DB> OpenLevelDb(const std::string& path) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* db = nullptr;
  EXPECT_TRUE(leveldb::DB::Open(options, path, &db).ok());
  return std::unique_ptr<leveldb::DB>(db);
}

MDB_env* OpenLmdb(const std::string& path) {
  std::filesystem::create_directory(path);
  MDB_env* env = nullptr;
  EXPECT_EQ(mdb_env_create(&env), 0);
  EXPECT_EQ(mdb_env_set_mapsize(env, size_t{1} << 30), 0);
  EXPECT_EQ(mdb_env_open(env, path.c_str(), MDB_NOSYNC, 0640), 0);
  return env;
}

void PutLmdb(MDB_env* env) {
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  char key[] = "key", value[] = "value";
  MDB_val name{3, key}, data{5, value};
  ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
  ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
  ASSERT_EQ(mdb_put(txn, dbi, &name, &data, 0), 0);
  ASSERT_EQ(mdb_txn_commit(txn), 0);
}

TEST(RestingInterfaces, HoldLittleMemoryWithOneKey) {
  const TempDirectory directory;
  const uint64_t before = AnonymousBytes();
  std::vector<std::unique_ptr<leveldb::DB>> databases;
  std::vector<MDB_env*> environments;
  for (int i = 0; i < kCount; ++i) {
    databases.push_back(OpenLevelDb(directory / ("leveldb" + std::to_string(i))));
    ASSERT_NE(databases.back(), nullptr);
    ASSERT_TRUE(databases.back()->Put({}, "key", "value").ok());
    environments.push_back(OpenLmdb(directory / ("lmdb" + std::to_string(i))));
    ASSERT_NO_FATAL_FAILURE(PutLmdb(environments.back()));
  }
  for (int tenths = 0; Tables(directory.path()) < 2 * kCount; ++tenths) {
    ASSERT_LT(tenths, 1200) << "the databases do not flush";
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const uint64_t bytes = AnonymousBytes() - before;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(bytes, 2 * kCount * kRestingBytesMax);
#endif
  RecordProperty("bytes_of_one", std::to_string(bytes / (2 * kCount)));
  for (MDB_env* env : environments) mdb_env_close(env);
}

}  // namespace
}  // namespace mergedb::testing
