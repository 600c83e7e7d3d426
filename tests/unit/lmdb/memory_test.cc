// Goal: a transaction of the LMDB interface takes memory for what its program may still look at, not for each byte that
// it was ever shown: a value that is asked for again and again is copied at most once, and one in a mapped file or in a
// memtable never. Method: the bytes of the transaction's arena are counted; two tests read the anonymous memory of the
// process.
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>
#include <string>

#include "tests/unit/lmdb/environment.h"

namespace mergedb {
namespace {

class LmdbMemory : public LmdbEnvironment {
 protected:
  static std::string Key(int i) { return "key" + std::to_string(1'000'000 + i); }
  static std::string Value(int i, size_t bytes) {
    std::string value = std::to_string(i) + ' ';
    value.resize(bytes, static_cast<char>('a' + i % 26));
    return value;
  }
  void PutAll(int items, size_t bytes) {
    MDB_txn* const txn = Begin();
    for (int i = 0; i < items; ++i) ASSERT_EQ(Put(txn, lmdb::kMainDbi, Key(i), Value(i, bytes)), 0);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
  }
  void Merge() {
    ASSERT_TRUE(env_->db->Flush().ok());
    ASSERT_TRUE(env_->db->CompactRange(nullptr, nullptr).ok());
  }
  void OpenAgain(unsigned flags) {
    mdb_env_close(env_);
    ASSERT_EQ(Open(home_, flags, &env_), 0);
  }
  static void Get(MDB_txn* txn, int i, size_t bytes) {
    const std::string key = Key(i);
    MDB_val k = Val(key), v;
    ASSERT_EQ(mdb_get(txn, lmdb::kMainDbi, &k, &v), 0);
    ASSERT_EQ(v.mv_size, bytes);
  }
  static void Get(MDB_txn* txn, const std::string& key) {
    MDB_val k = Val(key), v;
    ASSERT_EQ(mdb_get(txn, lmdb::kMainDbi, &k, &v), 0);
  }
  static int Walk(MDB_txn* txn, MDB_dbi dbi, MDB_cursor_op op) {
    MDB_cursor* cursor = nullptr;
    EXPECT_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
    MDB_val k, v;
    int items = 0;
    while (mdb_cursor_get(cursor, &k, &v, op) == 0) ++items;
    mdb_cursor_close(cursor);
    return items;
  }
  static size_t ArenaBytes(const MDB_txn* txn) { return txn->root->arena.memory_bytes(); }
};

TEST_F(LmdbMemory, ReadersOfFilesAndMemtablesCopyNothing) {
  for (const size_t bytes : {300, 700, 800, 2'000, 4'096, 1'000'000}) {
    const int items = bytes > 100'000 ? 10 : 1'000;
    for (const bool is_flushed : {false, true}) {
      PutAll(items, bytes);
      if (is_flushed) Merge();
      MDB_txn* const txn = Begin(MDB_RDONLY);
      for (int i = 0; i < 3 * items; ++i) Get(txn, i % items, bytes);
      EXPECT_EQ(Walk(txn, lmdb::kMainDbi, MDB_NEXT), items);
      EXPECT_EQ(Walk(txn, lmdb::kMainDbi, MDB_PREV), items);
      EXPECT_EQ(ArenaBytes(txn), 0u) << bytes << is_flushed;
      mdb_txn_abort(txn);
    }
    MDB_txn* const txn = Begin();
    EXPECT_EQ(mdb_drop(txn, lmdb::kMainDbi, 0), 0);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
  }
}

// What a read-only environment cannot hold, it does not map: it copies each version once.
TEST_F(LmdbMemory, AReadOnlyEnvironmentCopiesWhatItCannotHoldOnce) {
  constexpr int kItems = 500;
  for (const size_t bytes : {300, 4'096, 100'000}) {
    const int items = bytes > 10'000 ? 20 : kItems;
    PutAll(items, bytes);
    Merge();
    mdb_env_close(env_);
    env_ = nullptr;
    auto locks = RefuseHolds();
    OpenAgain(MDB_RDONLY);
    MDB_txn* const txn = Begin(MDB_RDONLY);
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < items; ++i) Get(txn, i, bytes);
      EXPECT_EQ(Walk(txn, lmdb::kMainDbi, MDB_NEXT), kItems);
      EXPECT_EQ(Walk(txn, lmdb::kMainDbi, MDB_PREV), kItems);
    }
    EXPECT_LT(ArenaBytes(txn), 2 * (kItems * (4'096 + 40) + 20 * 100'000) + (size_t{1} << 20));
    EXPECT_GT(ArenaBytes(txn), items * bytes);
    mdb_txn_abort(txn);
    locks.clear();
    OpenAgain(0);
  }
}

// The bytes of these keys are not in the file as the program sees them.
TEST_F(LmdbMemory, TurnedKeysAreKeptOnce) {
  MDB_txn* txn = Begin();
  MDB_dbi dbi = 0;
  ASSERT_EQ(mdb_dbi_open(txn, "integers", MDB_CREATE | MDB_INTEGERKEY, &dbi), 0);
  constexpr size_t kItems = 20'000;
  for (size_t i = 0; i < kItems; ++i) {
    MDB_val k = {sizeof i, &i}, v = {sizeof i, &i};
    ASSERT_EQ(mdb_put(txn, dbi, &k, &v, MDB_APPEND), 0);
  }
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  txn = Begin(MDB_RDONLY);
  for (int round = 0; round < 10; ++round) EXPECT_EQ(Walk(txn, dbi, MDB_NEXT), int{kItems});
  EXPECT_LT(ArenaBytes(txn), size_t{3} << 20) << "of one round: 160 KB, and the table to find them";
  mdb_txn_abort(txn);
}

TEST_F(LmdbMemory, AWriterThatReadsAndWritesCountersKeepsNoneOfTheOldOnes) {
  MDB_txn* const txn = Begin();
  const std::string value(100, 'v');
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(Put(txn, lmdb::kMainDbi, Key(i % 10), value), 0);
    for (int again = 0; again < 3; ++again) Get(txn, i % 10, value.size());
  }
  EXPECT_LT(ArenaBytes(txn), size_t{1} << 20);
  EXPECT_LT(txn->transaction().bytes(), size_t{1} << 20) << "of 3.5 MB that were put";
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  MDB_txn* const reader = Begin(MDB_RDONLY);
  for (int i = 0; i < 10; ++i) Get(reader, i, value.size());
  mdb_txn_abort(reader);
}

// MDB_APPEND remembers the last key by the number of writes, and a compaction of the writes drops some.
TEST_F(LmdbMemory, AnAppendBehindDroppedWritesStillSeesTheLastKey) {
  MDB_txn* const txn = Begin();
  const std::string value(100, 'v');
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Put(txn, lmdb::kMainDbi, "a", value), 0);
  ASSERT_EQ(Put(txn, lmdb::kMainDbi, "key", value, MDB_APPEND), 0);
  const uint64_t appended_at = txn->transaction().writes();
  ASSERT_EQ(Put(txn, lmdb::kMainDbi, "z", value), 0);
  int met = 0;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(Put(txn, lmdb::kMainDbi, "a", value), 0);
    Get(txn, "a");
    if (txn->transaction().writes() != appended_at) continue;
    ++met;
    ASSERT_EQ(Put(txn, lmdb::kMainDbi, "m", value, MDB_APPEND), MDB_KEYEXIST);
  }
  EXPECT_GT(met, 0) << "writes were dropped";
  mdb_txn_abort(txn);
}

TEST_F(LmdbMemory, AWriterThatOnlyReadsHoldsItsOwnValuesOnce) {
  MDB_txn* const txn = Begin();
  constexpr size_t kBytes = 300'000;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(Put(txn, lmdb::kMainDbi, Key(i), Value(i, kBytes)), 0);
  for (int i = 0; i < 1'000; ++i) Get(txn, i % 5, kBytes);
  EXPECT_LT(ArenaBytes(txn), 10 * kBytes);
  ASSERT_EQ(Put(txn, lmdb::kMainDbi, "more", ""), 0);
  EXPECT_LE(ArenaBytes(txn), size_t{1} << 20) << "a write ends the values before it";
  mdb_txn_abort(txn);
}

uint64_t AnonymousKilobytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kilobytes = 0;
  while (status >> word) {
    if (word == "RssAnon:") status >> kilobytes;
  }
  return kilobytes;
}

TEST_F(LmdbMemory, AProcessThatIsShownGigabytesStaysSmall) {
  constexpr int kItems = 400;
  constexpr size_t kBytes = 100'000;
  PutAll(kItems, kBytes);
  Merge();
  const uint64_t before = AnonymousKilobytes();
  MDB_txn* const txn = Begin(MDB_RDONLY);
  for (int round = 0; round < 25; ++round) {
    EXPECT_EQ(Walk(txn, lmdb::kMainDbi, MDB_NEXT), kItems);
    EXPECT_EQ(Walk(txn, lmdb::kMainDbi, MDB_PREV), kItems);
  }
  EXPECT_LT(AnonymousKilobytes(), before + 64 * 1024) << "2 GB were shown";
  mdb_txn_abort(txn);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kKilobytesMore = 1024 * 1024;  // a sanitizer keeps freed memory for a while
#else
constexpr uint64_t kKilobytesMore = 8 * 1024;
#endif

TEST_F(LmdbMemory, AReaderOfAReadOnlyEnvironmentStaysSmall) {
  constexpr int kSmall = 100'000, kLarge = 400;
  constexpr size_t kSmallBytes = 200, kLargeBytes = 100'000;
  PutAll(kSmall, kSmallBytes);
  PutAll(kLarge, kLargeBytes);  // in blob files
  Merge();
  OpenAgain(MDB_RDONLY);
  malloc_trim(0);
  const uint64_t before = AnonymousKilobytes();
  MDB_txn* const txn = Begin(MDB_RDONLY);
  for (const MDB_cursor_op op : {MDB_NEXT, MDB_PREV}) EXPECT_EQ(Walk(txn, lmdb::kMainDbi, op), kSmall);
  for (int i = 0; i < kSmall; ++i) Get(txn, i, i < kLarge ? kLargeBytes : kSmallBytes);
  const uint64_t after = AnonymousKilobytes();
  EXPECT_LT(after, before + kKilobytesMore) << "60 MB were shown three times";
  EXPECT_EQ(ArenaBytes(txn), 0u);
  RecordProperty("anonymous_kilobytes", static_cast<int>(after) - static_cast<int>(before));
  mdb_txn_abort(txn);
}

}  // namespace
}  // namespace mergedb
