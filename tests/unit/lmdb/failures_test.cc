// Goal: if a call of the LMDB interface fails, it returns the code that lmdb.h documents and does nothing
// else. Method: real directories; tables that are damaged under an open environment, invalid paths, and
// databases that the transaction itself has dropped; memory runs out in a commit.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "testing/failing_allocation.h"
#include "tests/unit/lmdb/environment.h"

namespace mergedb::failures_test {
namespace {

class LmdbFailures : public LmdbEnvironment {
 protected:
  static int Stat(MDB_txn* txn, MDB_dbi dbi, size_t* entries) {
    MDB_stat stat{};
    const int code = mdb_stat(txn, dbi, &stat);
    *entries = stat.ms_entries;
    return code;
  }
  // Commits items; they are in tables of which no byte was read yet.
  void Fill(const char* name) {
    MDB_txn* txn = Begin();
    const MDB_dbi dbi = OpenDbi(txn, name);
    for (const char* key : {"a", "b", "c"}) EXPECT_EQ(Put(txn, dbi, key, std::string("value of ") + key), 0);
    EXPECT_EQ(mdb_txn_commit(txn), 0);
    EXPECT_TRUE(env_->db->Flush().ok());
  }
  // Overwrites the first byte of `what` in the tables.
  void Damage(const std::string& what) const { Replace(what, '?'); }
  void Replace(const std::string& what, char first) const {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(home_)) {
      if (entry.path().extension() != ".tbl") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      file.clear();
      for (size_t at = bytes.find(what); at != std::string::npos; at = bytes.find(what, at + 1), ++found) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put(first);
      }
    }
    EXPECT_GT(found, 0);
  }
};

// ---- unreadable items

TEST_F(LmdbFailures, ItemsThatCannotBeReadCannotBeCountedNorAppendedTo) {
  Fill(nullptr);
  mdb_env_close(env_);  // drops the remembered counts too
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
  OpenDbi(txn, "first name");  // the record of the name exists before the items
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  Fill(nullptr);
  Damage("first name");
  txn = Begin();
  EXPECT_EQ(mdb_drop(txn, OpenDbi(txn, nullptr), 0), MDB_CORRUPTED);
  EXPECT_EQ(mdb_txn_commit(txn), MDB_BAD_TXN) << "nothing of it";
}

// ---- cursors at unreadable items

// 60 items of 1,000 bytes, some to a block. The block of "key130" is damaged until Mend.
class LmdbCursorFailures : public LmdbFailures {
 protected:
  void SetUp() override {
    LmdbFailures::SetUp();
    MDB_txn* txn = Begin();
    for (int i = 100; i < 160; ++i) {
      std::string value = "value of " + std::to_string(i);
      value.resize(1000, '.');
      EXPECT_EQ(Put(txn, lmdb::kMainDbi, "key" + std::to_string(i), value), 0);
    }
    EXPECT_EQ(mdb_txn_commit(txn), 0);
    ASSERT_TRUE(env_->db->Flush().ok());
    Damage("value of 130");
    txn_ = Begin();
    ASSERT_EQ(mdb_cursor_open(txn_, lmdb::kMainDbi, &cursor_), 0);
  }
  void TearDown() override {
    mdb_txn_abort(txn_);
    LmdbFailures::TearDown();
  }
  void Mend() { Replace("?alue of 130", 'v'); }
  // Returns the key, or the text of the error.
  std::string Move(MDB_cursor_op op, const std::string& key = "") {
    MDB_val k = Val(key), v;
    const int code = mdb_cursor_get(cursor_, &k, &v, op);
    return code == 0 ? Text(k) : mdb_strerror(code);
  }
  int PutByCursor(const std::string& key, unsigned flags = 0) {
    MDB_val k = Val(key), v = Val(key);
    return mdb_cursor_put(cursor_, &k, &v, flags);
  }
  // The cursor goes to the last item before the damaged block.
  std::string GoBeforeTheDamage() {
    std::string last, next = Move(MDB_FIRST);
    for (; next.starts_with("key"); next = Move(MDB_NEXT)) last = next;
    EXPECT_EQ(next, corrupted_);
    EXPECT_EQ(Move(MDB_SET, last), last);
    return last;
  }
  static std::string Behind(const std::string& key) { return "key" + std::to_string(std::stoi(key.substr(3)) + 1); }

  const std::string corrupted_ = mdb_strerror(MDB_CORRUPTED);
  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
};

TEST_F(LmdbCursorFailures, ACursorThatCannotGoToWhatItPutSaysSoUntilItCan) {
  ASSERT_EQ(PutByCursor("key129x"), 0);
  for (const MDB_cursor_op op : {MDB_NEXT, MDB_PREV, MDB_GET_CURRENT, MDB_NEXT, MDB_FIRST_DUP}) {
    EXPECT_EQ(Move(op), corrupted_) << op;
  }
  EXPECT_EQ(mdb_cursor_del(cursor_, 0), MDB_CORRUPTED);
  EXPECT_EQ(PutByCursor("key129x", MDB_CURRENT), MDB_CORRUPTED);
  Mend();
  EXPECT_EQ(Move(MDB_NEXT), "key130");
}

TEST_F(LmdbCursorFailures, ACursorThatCannotGoToWhatItPutGoesElsewhere) {
  ASSERT_EQ(PutByCursor("key129x"), 0);
  EXPECT_EQ(Move(MDB_NEXT), corrupted_);
  EXPECT_EQ(Move(MDB_FIRST), "key100");
  EXPECT_EQ(Move(MDB_NEXT), "key101");
  ASSERT_EQ(PutByCursor("key129x"), 0);
  EXPECT_EQ(Move(MDB_LAST), "key159");
  EXPECT_EQ(Move(MDB_PREV), "key158");
  ASSERT_EQ(PutByCursor("key129x"), 0);
  EXPECT_EQ(Move(MDB_SET, "key105"), "key105");
  EXPECT_EQ(Move(MDB_NEXT), "key106");
}

TEST_F(LmdbCursorFailures, ACursorBehindWhichNothingCanBeReadSaysSoAfterAnotherPut) {
  const std::string last = GoBeforeTheDamage();
  ASSERT_EQ(mdb_cursor_del(cursor_, 0), 0);
  ASSERT_EQ(Put(txn_, lmdb::kMainDbi, "other", ""), 0);
  EXPECT_EQ(Move(MDB_NEXT), corrupted_);
  ASSERT_EQ(Put(txn_, lmdb::kMainDbi, "other", "again"), 0);
  EXPECT_EQ(Move(MDB_NEXT), corrupted_);
  Mend();
  EXPECT_EQ(Move(MDB_NEXT), Behind(last));
}

// The last put writes a key into the gap. Before that put, the cursor has already moved to the item behind
// the gap.
TEST_F(LmdbCursorFailures, ACursorBehindWhichNothingCouldBeReadTakesHoldOfTheItemBehindLater) {
  const std::string last = GoBeforeTheDamage();
  ASSERT_EQ(mdb_cursor_del(cursor_, 0), 0);
  ASSERT_EQ(Put(txn_, lmdb::kMainDbi, "other", ""), 0);
  Mend();
  ASSERT_EQ(Put(txn_, lmdb::kMainDbi, last + "x", ""), 0);
  EXPECT_EQ(Move(MDB_NEXT), Behind(last));
}

TEST_F(LmdbCursorFailures, ACursorWhoseItemGoesAndBehindWhichNothingCanBeReadSaysSo) {
  const std::string last = GoBeforeTheDamage(), put = last + "x";
  ASSERT_EQ(PutByCursor(put), 0);
  MDB_val k = Val(put);
  ASSERT_EQ(mdb_del(txn_, lmdb::kMainDbi, &k, nullptr), 0);
  EXPECT_EQ(Move(MDB_NEXT), corrupted_);
  Mend();
  EXPECT_EQ(Move(MDB_NEXT), Behind(last));
}

// ---- dropped databases

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

// ---- calls that cannot succeed

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
  // An empty file is replaced by a database. The kernel does not let any user remove this one.
  const std::string kernels = "/proc/version";
  EXPECT_EQ(Open(kernels, MDB_NOSUBDIR, &env), EIO);
  EXPECT_TRUE(std::filesystem::exists(kernels));
}

// Symptom: at the open, an unreadable list of the named databases passes for an empty list, and an unreadable
// name for a missing one.
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

// ---- no memory

// The first allocation of a commit, before it writes anything. WHY not the others: the engine stops the process if
// memory runs out during a change.
TEST_F(LmdbFailures, ACommitWithoutMemoryEndsTheTransaction) {
  MDB_txn* txn = Begin();
  const MDB_dbi dbi = OpenDbi(txn, nullptr);
  ASSERT_EQ(Put(txn, dbi, "k", "v"), 0);
  testing::FailAllocation(1);
  const int code = mdb_txn_commit(txn);
  ASSERT_TRUE(testing::StopFailing());
  EXPECT_EQ(code, ENOMEM);
  size_t entries = 1;
  txn = Begin(MDB_RDONLY);
  EXPECT_EQ(Stat(txn, dbi, &entries), 0);
  EXPECT_EQ(entries, 0u);
  mdb_txn_abort(txn);
  txn = Begin();  // which does not wait: the failed one holds no lock
  ASSERT_EQ(Put(txn, dbi, "k", "v"), 0);
  EXPECT_EQ(mdb_txn_commit(txn), 0);
}

TEST_F(LmdbFailures, ANestedCommitWithoutMemoryIsDoneInFullOrNotAtAll) {
  bool has_failed = true;
  int failures = 0;
  MDB_txn* const txn = Begin();
  const MDB_dbi dbi = OpenDbi(txn, nullptr);
  for (int64_t nth = 1; has_failed; ++nth) {
    MDB_txn* child = nullptr;
    ASSERT_EQ(mdb_txn_begin(env_, txn, 0, &child), 0);
    OpenDbi(child, nth % 2 == 0 ? "even" : "odd");
    const std::string key = std::to_string(nth);
    ASSERT_EQ(Put(child, dbi, key, "v"), 0);
    testing::FailAllocation(nth);
    const int code = mdb_txn_commit(child);
    has_failed = testing::StopFailing();
    failures += code == ENOMEM;
    EXPECT_TRUE(code == 0 || (has_failed && code == ENOMEM)) << code;
    MDB_val k = Val(key), v{};
    EXPECT_EQ(mdb_get(txn, dbi, &k, &v), code == 0 ? 0 : MDB_NOTFOUND) << "allocation " << nth;
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(mdb_txn_commit(txn), 0);
}

}  // namespace
}  // namespace mergedb::failures_test
