// Goal: the id and the counts of a transaction belong to the state that it sees, whatever other transactions
// commit, drop and open meanwhile. Method: other transactions run at a chosen moment of a commit, on threads
// of their own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/schedule_point.h"
#include "tests/unit/lmdb/environment.h"

namespace mergedb::counts_test {
namespace {

// While the object lives, its thread calls `act` once: when the thread is about to lock `mutex` and `is_due`
// is true.
class Interrupter final : public base::ThreadScheduler {
 public:
  Interrupter(base::Mutex& mutex, std::function<bool()> is_due, std::function<void()> act)
      : mutex_(mutex), is_due_(std::move(is_due)), act_(std::move(act)) {
    base::thread_scheduler = this;
  }
  ~Interrupter() { base::thread_scheduler = nullptr; }
  bool has_acted() const { return has_acted_; }

  void Point(const char*) override {}
  void LockMutex(base::Mutex& mutex) override {
    if (&mutex == &mutex_ && !has_acted_ && is_due_()) {
      has_acted_ = true;
      act_();
    }
    mutex.native().lock();
  }
  void UnlockMutex(base::Mutex& mutex) override { mutex.native().unlock(); }
  bool WaitOn(base::CondVar&, base::Mutex& mutex, uint64_t nanos) override {
    mutex.native().unlock();
    usleep(100);
    mutex.native().lock();
    return nanos == kForever;
  }
  void Notify(base::CondVar& condition, bool) override {
    base::thread_scheduler = nullptr;
    condition.NotifyAll();
    base::thread_scheduler = this;
  }

 private:
  base::Mutex& mutex_;
  const std::function<bool()> is_due_;
  const std::function<void()> act_;
  bool has_acted_ = false;
};

class LmdbCounts : public LmdbEnvironment {
 protected:
  static std::string Key(int i) { return "key" + std::to_string(100 + i); }
  // MDB_NOOVERWRITE keeps the counts known.
  static void PutSome(MDB_txn* txn, MDB_dbi dbi, int items) {
    for (int i = 0; i < items; ++i) EXPECT_EQ(Put(txn, dbi, Key(i), "value", MDB_NOOVERWRITE), 0);
  }
  void Fill(const char* name, int items) {
    MDB_txn* txn = Begin();
    const MDB_dbi dbi = OpenDbi(txn, name);
    EXPECT_EQ(Entries(txn, dbi), 0u);
    PutSome(txn, dbi, items);
    EXPECT_EQ(mdb_txn_commit(txn), 0);
  }
  static void Delete(MDB_txn* txn, MDB_dbi dbi, int i) {
    const std::string key = Key(i);
    MDB_val k = Val(key);
    EXPECT_EQ(mdb_del(txn, dbi, &k, nullptr), 0);
  }
  static size_t Entries(MDB_txn* txn, MDB_dbi dbi) {
    MDB_stat stat{};
    EXPECT_EQ(mdb_stat(txn, dbi, &stat), 0);
    return stat.ms_entries;
  }
  size_t EntriesNow(MDB_dbi dbi) const {
    MDB_txn* txn = Begin(MDB_RDONLY);
    const size_t entries = Entries(txn, dbi);
    mdb_txn_abort(txn);
    return entries;
  }
  static void OnAnotherThread(const std::function<void()>& act) { std::thread(act).join(); }

  // Commits `txn`. Another thread calls `act` when readers see the data and the LMDB interface has not
  // published the commit yet.
  void CommitAround(MDB_txn* txn, const std::function<void()>& act) {
    const auto sequence = [this] { return env_->db->GetSnapshot()->sequence(); };
    Interrupter interrupter(
        env_->mutex, [&, before = sequence()] { return sequence() > before; }, [&] { OnAnotherThread(act); });
    EXPECT_EQ(mdb_txn_commit(txn), 0);
    EXPECT_TRUE(interrupter.has_acted());
  }
  // A transaction that has deleted two of the 20 items of the main database.
  MDB_txn* BeginOfDeletes() {
    Fill(nullptr, 20);
    MDB_txn* txn = Begin();
    Delete(txn, lmdb::kMainDbi, 0);
    Delete(txn, lmdb::kMainDbi, 1);
    return txn;
  }
};

// ---- while a commit returns

TEST_F(LmdbCounts, AWriterThatBeginsBeforeACommitReturnsFollowsIt) {
  MDB_txn* txn = BeginOfDeletes();
  const size_t id = mdb_txn_id(txn);
  CommitAround(txn, [&] {
    MDB_txn* next = Begin();
    EXPECT_EQ(mdb_txn_id(next), id + 1);
    Delete(next, lmdb::kMainDbi, 2);
    EXPECT_EQ(Entries(next, lmdb::kMainDbi), 17u);
    EXPECT_EQ(mdb_txn_commit(next), 0);
  });
  EXPECT_EQ(EntriesNow(lmdb::kMainDbi), 17u);
  MDB_txn* last = Begin(MDB_RDONLY);
  EXPECT_EQ(mdb_txn_id(last), id + 1);
  mdb_txn_abort(last);
}

TEST_F(LmdbCounts, AReaderThatSeesACommitHasItsIdAndItsCounts) {
  MDB_txn* txn = BeginOfDeletes();
  const size_t id = mdb_txn_id(txn);
  CommitAround(txn, [&] {
    MDB_txn* reader = Begin(MDB_RDONLY);
    const std::string key = Key(0);
    MDB_val k = Val(key), v;
    EXPECT_EQ(mdb_get(reader, lmdb::kMainDbi, &k, &v), MDB_NOTFOUND) << "it sees the commit";
    EXPECT_EQ(mdb_txn_id(reader), id);
    EXPECT_EQ(Entries(reader, lmdb::kMainDbi), 18u);
    mdb_txn_abort(reader);
  });
  EXPECT_EQ(EntriesNow(lmdb::kMainDbi), 18u);
}

TEST_F(LmdbCounts, OfTheEnvironmentAreThoseOfACommitThatCanBeSeen) {
  MDB_txn* txn = BeginOfDeletes();
  CommitAround(txn, [&] {
    MDB_stat stat{};
    EXPECT_EQ(mdb_env_stat(env_, &stat), 0);
    EXPECT_EQ(stat.ms_entries, 18u);
  });
}

// The creation of a named database takes a sequence before the commit.
TEST_F(LmdbCounts, AReaderThatBeginsBehindANewNameDoesNotSeeTheCommit) {
  Fill(nullptr, 20);
  MDB_txn* txn = Begin();
  OpenDbi(txn, "name");
  PutSome(txn, OpenDbi(txn, "name"), 5);
  MDB_txn* reader = Begin(MDB_RDONLY);
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  EXPECT_EQ(Entries(reader, lmdb::kMainDbi), 20u);
  mdb_txn_abort(reader);
  EXPECT_EQ(EntriesNow(lmdb::kMainDbi), 21u);
}

// ---- handles that are dropped

// The database "dropped" has 2 items and a handle. The database "kept" has 3 items and no handle.
class LmdbDroppedHandles : public LmdbCounts {
 protected:
  void SetUp() override {
    LmdbCounts::SetUp();
    Fill("dropped", 2);
    Fill("kept", 3);
    MDB_txn* txn = Begin(MDB_RDONLY);
    dropped_ = OpenDbi(txn, "dropped");
    mdb_dbi_close(env_, OpenDbi(txn, "kept"));
    mdb_txn_abort(txn);
  }
  // A reader opens "kept" under the number of the handle that was dropped.
  void OpenKept() {
    OnAnotherThread([&] {
      MDB_txn* reader = Begin(MDB_RDONLY);
      EXPECT_EQ(OpenDbi(reader, "kept"), dropped_);
      EXPECT_EQ(mdb_txn_commit(reader), 0);
    });
  }
  void ExpectKept() {
    MDB_txn* txn = Begin(MDB_RDONLY);
    EXPECT_EQ(Entries(txn, dropped_), 3u);
    const std::string key = Key(2);
    MDB_val k = Val(key), v;
    EXPECT_EQ(mdb_get(txn, dropped_, &k, &v), 0);
    mdb_txn_abort(txn);
  }

  MDB_dbi dropped_ = 0;
};

TEST_F(LmdbDroppedHandles, AnotherDatabaseOfTheHandleKeepsItsCount) {
  MDB_txn* txn = Begin();
  EXPECT_EQ(mdb_drop(txn, dropped_, 1), 0);
  OpenKept();
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  ExpectKept();
}

TEST_F(LmdbDroppedHandles, AWriterCountsAnotherDatabaseOfTheHandle) {
  MDB_txn* txn = Begin();
  EXPECT_EQ(mdb_drop(txn, dropped_, 1), 0);
  OpenKept();
  EXPECT_EQ(Put(txn, dropped_, Key(3), "value", MDB_NOOVERWRITE), 0);
  EXPECT_EQ(Entries(txn, dropped_), 4u);
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  EXPECT_EQ(EntriesNow(dropped_), 4u);
}

TEST_F(LmdbDroppedHandles, AnotherDatabaseOfTheHandleKeepsItsCountWhereAChildDroppedItAndAborted) {
  MDB_txn *txn = Begin(), *child = nullptr;
  EXPECT_EQ(Put(txn, dropped_, Key(2), "value", MDB_NOOVERWRITE), 0);
  EXPECT_EQ(Put(txn, dropped_, Key(3), "value", MDB_NOOVERWRITE), 0);
  ASSERT_EQ(mdb_txn_begin(env_, txn, 0, &child), 0);
  EXPECT_EQ(mdb_drop(child, dropped_, 1), 0);
  mdb_txn_abort(child);
  OpenKept();
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  ExpectKept();
}

// Readers do not count the items that the writer has put and not committed.
TEST_F(LmdbDroppedHandles, AWriterThatOpensAgainWhatItsChildDroppedCountsForItself) {
  MDB_txn *txn = Begin(), *child = nullptr;
  EXPECT_EQ(Put(txn, dropped_, Key(2), "value", MDB_NOOVERWRITE), 0);
  ASSERT_EQ(mdb_txn_begin(env_, txn, 0, &child), 0);
  EXPECT_EQ(mdb_drop(child, dropped_, 1), 0);
  mdb_txn_abort(child);
  EXPECT_EQ(OpenDbi(txn, "dropped"), dropped_);
  EXPECT_EQ(Entries(txn, dropped_), 3u);
  OnAnotherThread([&] { EXPECT_EQ(EntriesNow(dropped_), 2u); });
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  EXPECT_EQ(EntriesNow(dropped_), 3u);
}

TEST_F(LmdbDroppedHandles, TheEndOfATransactionThatOpenedAndDroppedAHandleClosesNoOtherOne) {
  mdb_dbi_close(env_, dropped_);
  MDB_txn* txn = Begin();
  EXPECT_EQ(OpenDbi(txn, "dropped"), dropped_);
  EXPECT_EQ(mdb_drop(txn, dropped_, 1), 0);
  OpenKept();
  mdb_txn_abort(txn);
  ExpectKept();
}

}  // namespace
}  // namespace mergedb::counts_test
