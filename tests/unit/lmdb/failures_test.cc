// Goal: what a call of LMDB's interface cannot do it says by the code that lmdb.h has for it, and goes no further. Method: real directories:
// tables damaged under an open environment, places that are none, and what a transaction has dropped itself.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/lmdb/environment.h"

namespace mergedb {
namespace {

class LmdbFailures : public LmdbEnvironment {
 protected:
  static int Stat(MDB_txn* txn, MDB_dbi dbi, size_t* entries) {
    MDB_stat stat{};
    const int code = mdb_stat(txn, dbi, &stat);
    *entries = stat.ms_entries;
    return code;
  }
  // Committed, and in tables of which no byte was read yet.
  void Fill(const char* name) {
    MDB_txn* txn = Begin();
    const MDB_dbi dbi = OpenDbi(txn, name);
    for (const char* key : {"a", "b", "c"}) EXPECT_EQ(Put(txn, dbi, key, std::string("value of ") + key), 0);
    EXPECT_EQ(mdb_txn_commit(txn), 0);
    EXPECT_TRUE(env_->db->Flush().ok());
  }
  // Every byte of every table where `what` stands.
  void Damage(const std::string& what) const {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(home_)) {
      if (entry.path().extension() != ".tbl") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      file.clear();
      for (size_t at = bytes.find(what); at != std::string::npos; at = bytes.find(what, at + 1), ++found) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put('?');
      }
    }
    EXPECT_GT(found, 0);
  }
};

// ---- what cannot be read

TEST_F(LmdbFailures, ItemsThatCannotBeReadCannotBeCountedNorAppendedTo) {
  Fill(nullptr);
  mdb_env_close(env_);  // and what it remembers of counts
  ASSERT_EQ(Open(home_, 0, &env_), 0);
  Damage("value of b");
  size_t entries = 0;
  MDB_txn* txn = Begin(MDB_RDONLY);
  EXPECT_EQ(Stat(txn, OpenDbi(txn, nullptr), &entries), MDB_CORRUPTED);
  mdb_txn_abort(txn);

  txn = Begin();
  const MDB_dbi main = OpenDbi(txn, nullptr);
  EXPECT_EQ(Put(txn, main, "z", "", MDB_APPEND), MDB_CORRUPTED);
  EXPECT_EQ(Put(txn, main, "z", ""), 0) << "which reads nothing";
  EXPECT_EQ(Stat(txn, main, &entries), MDB_CORRUPTED);
  EXPECT_EQ(entries, 0u);
  mdb_txn_abort(txn);
}

TEST_F(LmdbFailures, NamesThatCannotBeReadKeepTheMainDatabase) {
  MDB_txn* txn = Begin();
  OpenDbi(txn, "first name");  // the catalog is there before the items
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  Fill(nullptr);
  Damage("first name");
  txn = Begin();
  EXPECT_EQ(mdb_drop(txn, OpenDbi(txn, nullptr), 0), MDB_CORRUPTED);
  EXPECT_EQ(mdb_txn_commit(txn), MDB_BAD_TXN) << "nothing of it";
}

// ---- what is gone

TEST_F(LmdbFailures, DroppingTheMainDatabaseDropsWhatItNames) {
  Fill("named");
  Fill(nullptr);
  MDB_txn* txn = Begin();
  const MDB_dbi main = OpenDbi(txn, nullptr), named = OpenDbi(txn, "named");
  EXPECT_EQ(mdb_drop(txn, main, 0), 0);
  size_t entries = 9;
  EXPECT_EQ(Stat(txn, main, &entries), 0);
  EXPECT_EQ(entries, 0u);
  EXPECT_EQ(Put(txn, named, "a", "new"), MDB_BAD_VALSIZE);
  EXPECT_EQ(Put(txn, named, "a", "new", MDB_RESERVE), MDB_BAD_VALSIZE);
  EXPECT_EQ(mdb_drop(txn, named, 1), MDB_BAD_VALSIZE) << "a second time";
  EXPECT_EQ(Put(txn, main, "a", "new"), 0);
  EXPECT_EQ(mdb_txn_commit(txn), 0);

  txn = Begin(MDB_RDONLY);
  MDB_dbi dbi = 0;
  EXPECT_EQ(mdb_dbi_open(txn, "named", 0, &dbi), MDB_NOTFOUND);
  EXPECT_EQ(Stat(txn, main, &entries), 0);
  EXPECT_EQ(entries, 1u);
  mdb_txn_abort(txn);
}

TEST_F(LmdbFailures, TheNextOfNoDuplicatesIsTheNextItem) {
  Fill(nullptr);
  MDB_txn* txn = Begin();
  MDB_cursor* cursor = nullptr;
  ASSERT_EQ(mdb_cursor_open(txn, OpenDbi(txn, nullptr), &cursor), 0);
  MDB_val key, data;
  ASSERT_EQ(mdb_cursor_get(cursor, &key, &data, MDB_FIRST), 0);
  EXPECT_EQ(mdb_cursor_get(cursor, &key, &data, MDB_NEXT_DUP), 0);
  EXPECT_EQ(Text(key), "b");
  EXPECT_EQ(mdb_cursor_del(cursor, 0), 0);
  EXPECT_EQ(mdb_cursor_get(cursor, &key, &data, MDB_NEXT_DUP), MDB_NOTFOUND) << "in the gap";
  EXPECT_EQ(mdb_cursor_get(cursor, &key, &data, MDB_NEXT), 0);
  EXPECT_EQ(Text(key), "c");
  mdb_txn_abort(txn);
}

// ---- what cannot be had

// LMDB would wait for itself.
TEST_F(LmdbFailures, ASecondWriterOfOneThreadIsBusy) {
  MDB_txn *txn = Begin(), *second = nullptr;
  EXPECT_EQ(mdb_txn_begin(env_, nullptr, 0, &second), EBUSY);
  EXPECT_EQ(second, nullptr);
  mdb_txn_abort(txn);
  mdb_txn_abort(Begin());
}

TEST_F(LmdbFailures, PlacesThatCannotBe) {
  MDB_env* env = nullptr;
  EXPECT_EQ(Open(home_ + "/" + std::string(300, 'n'), MDB_NOSUBDIR, &env), EIO) << "a name longer than names can be";
  EXPECT_EQ(Open(home_ + "/" + std::string(300, 'n'), 0, &env), EIO);
  // An empty file would make room for a database; the kernel's own cannot be removed, by nobody.
  const std::string kernels = "/proc/version";
  EXPECT_EQ(Open(kernels, MDB_NOSUBDIR, &env), EIO);
  EXPECT_TRUE(std::filesystem::exists(kernels));
}

// Found here: a catalog that could not be read at the open passed for an empty one, and a name that could not be read for none.
TEST_F(LmdbFailures, ANameThatCannotBeReadIsNotWrittenOver) {
  MDB_txn* txn = Begin();
  OpenDbi(txn, "first name");
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  Fill(nullptr);
  mdb_env_close(env_);
  Damage("first name");
  ASSERT_EQ(Open(home_, 0, &env_), 0);
  txn = Begin();
  const MDB_dbi main = OpenDbi(txn, nullptr);
  EXPECT_NE(Put(txn, main, "first name", "an item"), 0) << "it may be a name";
  EXPECT_NE(mdb_drop(txn, main, 0), 0) << "what is named would stay";
  mdb_txn_abort(txn);
}

}  // namespace
}  // namespace mergedb
