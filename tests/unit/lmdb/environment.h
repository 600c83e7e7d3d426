// Shared by the tests of the LMDB interface that also use its internals: an environment in a real directory,
// and calls that must succeed.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lmdb/handles.h"
#include "testing/temp_directory.h"
#include "testing/write_lock.h"

namespace mergedb {

inline MDB_val Val(const std::string& bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
inline std::string Text(const MDB_val& val) { return {static_cast<const char*>(val.mv_data), val.mv_size}; }

class LmdbEnvironment : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(Open(home_, 0, &env_), 0); }
  void TearDown() override { mdb_env_close(env_); }

  // For two named databases.
  static int Open(const std::string& path, unsigned flags, MDB_env** env) {
    EXPECT_EQ(mdb_env_create(env), 0);
    EXPECT_EQ(mdb_env_set_mapsize(*env, size_t{1} << 30), 0);
    EXPECT_EQ(mdb_env_set_maxdbs(*env, 2), 0);
    const int code = mdb_env_open(*env, path.c_str(), flags | MDB_NOSYNC, 0640);
    if (code == 0) return 0;
    mdb_env_close(*env);
    *env = nullptr;
    return code;
  }
  MDB_txn* Begin(unsigned flags = 0) const { return Begin(env_, flags); }
  static MDB_txn* Begin(MDB_env* env, unsigned flags) {
    MDB_txn* txn = nullptr;
    EXPECT_EQ(mdb_txn_begin(env, nullptr, flags, &txn), 0);
    return txn;
  }
  // If `name` is null, opens the main database.
  static MDB_dbi OpenDbi(MDB_txn* txn, const char* name) {
    MDB_dbi dbi = 0;
    EXPECT_EQ(mdb_dbi_open(txn, name, name == nullptr ? 0 : MDB_CREATE, &dbi), 0);
    return dbi;
  }
  static int Put(MDB_txn* txn, MDB_dbi dbi, const std::string& key, const std::string& value, unsigned flags = 0) {
    MDB_val k = Val(key), v = Val(value);
    return mdb_put(txn, dbi, &k, &v, flags);
  }

  // As long as these locks live, an open of the environment can hold none of the tables and blob files that exist now.
  // REQUIRES: nobody has the environment open, so no file disappears.
  std::vector<std::unique_ptr<testing::WriteLock>> RefuseHolds() const {
    std::vector<std::unique_ptr<testing::WriteLock>> locks;
    for (const auto& file : std::filesystem::directory_iterator(home_)) {
      if (file.path().extension() == ".tbl" || file.path().extension() == ".val")
        locks.push_back(std::make_unique<testing::WriteLock>(file.path()));
    }
    return locks;
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  MDB_env* env_ = nullptr;
};

}  // namespace mergedb
