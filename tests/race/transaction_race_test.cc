// Transactions of all kinds from several threads at once, on real files, beside plain writers, flushes and
// compactions. testing/history.h judges the records of what each saw: a serial order that agrees with real
// time; for transactions of one key that is linearizability. The same at drawn geometries
// (testing/geometry.h), where some commits also write more than the window of recent writes, or more than a
// memtable. Also: money that moves between accounts is neither created nor lost, for every reader.
//     MERGEDB_SEED=n   other geometries     MERGEDB_GEOMETRY=...   this one alone
//     MERGEDB_FULL=1   a million transactions
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <thread>

#include "base/random.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/geometry.h"
#include "testing/history.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

using Fate = HistoryTransaction::Fate;

// Keys after those of the histories, with a suffix for each client. They are never read; they make a commit
// large.
constexpr std::string_view kFiller = "z";

class TransactionRace : public ::testing::Test {
 protected:
  void SetUp() override {
    Options options;
    options.memory_bytes = 4 << 20;
    options.write_buffer_bytes = 256 << 10;
    Open(options, directory_.path());
  }
  void Open(const Options& options, const std::string& path) {
    auto db = DB::Open(options, path);
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }
  template <typename Work>
  void InThreads(size_t count, Work work) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }
  uint64_t Tick() { return clock_.fetch_add(1) + 1; }

  std::map<std::string, List> FinalState() {
    std::map<std::string, List> state;
    auto it = db_->NewIterator();
    for (it->Seek("key"); it->Valid() && it->key() < kFiller; it->Next())
      state[std::string(it->key())] = DecodeList(std::string(it->value()));
    EXPECT_OK(it->status());
    return state;
  }

  const uint64_t seed_ = SeedOr(5);
  const TempDirectory directory_;
  std::unique_ptr<DB> db_;
  std::atomic<uint64_t> clock_{0};
};

// The transactions of one thread.
class Client {
 public:
  // Some commits also write up to a part of the write buffer; 0: no commit does.
  Client(DB& db, std::atomic<uint64_t>& clock, uint64_t id, uint64_t seed, uint64_t keys, size_t write_buffer_bytes = 0)
      : db_(db), clock_(clock), id_(id), random_(seed), keys_(keys), write_buffer_bytes_(write_buffer_bytes) {}

  void Run(size_t ops_max) {
    HistoryTransaction record{.began = Tick(), .ops = {}};
    const uint64_t choice = random_.Uniform(10);
    const TransactionOptions options{.kind = choice == 0   ? TransactionKind::kSingleWriter
                                             : choice == 1 ? TransactionKind::kReadOnly
                                                           : TransactionKind::kOptimistic,
                                     .durability = random_.OneIn(10) ? Durability::kSynced : Durability::kProcessCrash};
    auto begun = Transaction::Begin(db_, options);
    ASSERT_OK(begun.status());
    Transaction& transaction = **begun;
    for (uint64_t ops = 1 + random_.Uniform(ops_max); ops > 0; --ops) Act(transaction, &record);
    if (options.kind != TransactionKind::kReadOnly) {
      for (const std::string& value : Filler()) ASSERT_OK(transaction.Put(FillerKey(value), value));
    }
    if (random_.OneIn(2)) std::this_thread::yield();  // lets other threads commit meanwhile
    if (random_.OneIn(20)) {
      transaction.Rollback();
    } else {
      const Status status = transaction.Commit();
      ASSERT_TRUE(status.ok() || status.IsConflict()) << status.ToString();
      if (status.ok()) record.fate = Fate::kCommitted;
      conflicts += status.IsConflict();
    }
    record.ended = Tick();
    history.push_back(std::move(record));
  }
  // A plain write is a transaction of one append.
  void RunPlain() {
    HistoryTransaction record{
        .began = Tick(), .fate = Fate::kCommitted, .ops = {{.key = Key(), .append = NextNumber()}}};
    WriteBatch batch;
    batch.Merge(record.ops[0].key, merge::Append(std::to_string(record.ops[0].append) + ","));
    for (const std::string& value : Filler()) batch.Put(FillerKey(value), value);
    ASSERT_OK(db_.Write({}, batch));
    record.ended = Tick();
    history.push_back(std::move(record));
  }

  std::vector<HistoryTransaction> history;
  uint64_t conflicts = 0;

 private:
  uint64_t Tick() { return clock_.fetch_add(1) + 1; }
  std::string Key() { return "key" + std::to_string(10 + random_.Uniform(keys_)); }
  uint64_t NextNumber() { return id_ + 16 * ++numbers_; }

  // For one commit in four: usually less than a memtable beside a small commit, at times more than all
  // memtables hold.
  std::vector<std::string> Filler() {
    if (write_buffer_bytes_ == 0 || !random_.OneIn(4)) return {};
    const size_t fits = std::min<size_t>(write_buffer_bytes_ / 8 + random_.Uniform(write_buffer_bytes_ / 2), 600 << 10);
    const size_t bytes = random_.OneIn(6) ? std::min<size_t>(2 * write_buffer_bytes_, 1 << 20) : fits;
    return {std::string(bytes / 2 + 1, 'a'), std::string(bytes / 4 + 1, 'b'), std::string(bytes / 4 + 1, 'c')};
  }
  std::string FillerKey(const std::string& value) const {
    return std::string(kFiller) + std::to_string(id_) + value[0];
  }

  void Act(Transaction& transaction, HistoryTransaction* record) {
    const std::string key = Key();
    const bool only_reads = transaction.kind() == TransactionKind::kReadOnly;
    switch (random_.Uniform(only_reads ? 2 : 4)) {
      case 0: return (void)Read(transaction, key, record);
      case 1: return Scan(transaction, record);
      case 2: {
        const uint64_t number = NextNumber();
        ASSERT_OK(transaction.Merge(key, merge::Append(std::to_string(number) + ",")));
        return record->ops.push_back({.key = key, .append = number});
      }
      default: {
        List list = Read(transaction, key, record);
        list.push_back(NextNumber());
        ASSERT_OK(transaction.Put(key, EncodeList(list)));
        return record->ops.push_back({.key = key, .append = list.back()});
      }
    }
  }
  List Read(Transaction& transaction, const std::string& key, HistoryTransaction* record) {
    std::string value;
    const Status status = transaction.Get(key, &value);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    record->ops.push_back({.key = key, .is_read = true, .read = DecodeList(value)});
    return DecodeList(value);
  }
  // Reads all keys of the histories, and so also proves the absence of all others.
  void Scan(Transaction& transaction, HistoryTransaction* record) {
    std::map<std::string, List> seen;
    auto cursor = transaction.OpenCursor();
    const bool is_forward = random_.OneIn(2);
    Status status = is_forward ? cursor->First() : cursor->SetForPrev("key~");
    for (; status.ok() && cursor->key() < kFiller; status = is_forward ? cursor->Next() : cursor->Prev()) {
      seen[std::string(cursor->key())] = DecodeList(std::string(cursor->value()));
    }
    ASSERT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    for (uint64_t k = 0; k < keys_; ++k) {
      const std::string key = "key" + std::to_string(10 + k);
      record->ops.push_back({.key = key, .is_read = true, .read = seen[key]});
    }
  }

  DB& db_;
  std::atomic<uint64_t>& clock_;
  const uint64_t id_;
  base::Random random_;
  const uint64_t keys_;
  const size_t write_buffer_bytes_;
  uint64_t numbers_ = 0;
};

class RecordedHistories : public TransactionRace {
 protected:
  static constexpr size_t kThreads = 8;

  void RunAndJudge(uint64_t keys, size_t ops_max, uint64_t transactions, size_t write_buffer_bytes = 0) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed_));
    std::vector<Client> clients;
    for (size_t i = 0; i < kThreads; ++i)
      clients.emplace_back(*db_, clock_, i, seed_ * 100 + i, keys, write_buffer_bytes);
    InThreads(kThreads, [&](size_t i) {
      for (uint64_t n = 0; n < transactions && !HasFatalFailure(); ++n) {
        if (n % 10 == 9) {
          clients[i].RunPlain();
        } else {
          clients[i].Run(ops_max);
        }
        if (i == 0 && n % 100 == 99) { ASSERT_OK(db_->Flush()); }
      }
    });
    std::vector<HistoryTransaction> history;
    uint64_t conflicts = 0, committed = 0;
    for (Client& client : clients) {
      conflicts += client.conflicts;
      for (auto& each : client.history) {
        committed += each.fate == Fate::kCommitted;
        history.push_back(std::move(each));
      }
    }
    committed_ += committed;
    conflicts_ += conflicts;
    const auto anomaly = FindAnomaly(std::move(history), FinalState());
    EXPECT_FALSE(anomaly) << *anomaly;
  }
  void TearDown() override {
    EXPECT_GT(committed_, 40u);
    EXPECT_GT(conflicts_, 0u);
  }

  uint64_t committed_ = 0, conflicts_ = 0;
};

TEST_F(RecordedHistories, OfManyKeysAreStrictlySerializable) { RunAndJudge(20, 5, Sized(300, 2500, 50)); }

TEST_F(RecordedHistories, OfOneKeyAreLinearizable) { RunAndJudge(1, 1, Sized(200, 1000, 50)); }

// WHY fillers: if a commit exceeds the window of recent writes (a quarter of the write buffer), the engine
// remembers only that the commit happened. The largest ones commit alone, the others in groups, before and
// after small ones.
TEST_F(RecordedHistories, AtDrawnGeometriesAreStrictlySerializable) {
  const uint64_t geometries = Sized(16, 1000, 4), transactions = Sized(60, 125, 30);
  for (uint64_t draw = 0; draw < geometries && !HasFailure(); ++draw) {
    const Geometry geometry = GeometryFor(seed_ * 10'000 + draw);
    SCOPED_TRACE(ReplayOf(geometry));
    db_ = nullptr;
    Options options;
    Choose(geometry, &options);
    // A sync takes as long as on a disk: commits queue up behind it and form a group.
    WatchedFileSystem files(DefaultEnv().file_system, {.before = [](const FileCall& call, size_t*) -> Status {
                              if (call.op == FileOp::kSync) usleep(200);
                              return {};
                            }});
    options.env = DefaultEnv();
    options.env.file_system = &files;
    const TempDirectory directory;
    Open(options, directory.path());
    base::Random random(seed_ + draw);
    RunAndJudge(1 + random.Uniform(20), 1 + random.Uniform(5), transactions, geometry.write_buffer_bytes);
    db_ = nullptr;
  }
  std::printf("%llu geometries, %llu transactions: %llu committed, %llu conflicts\n",
              static_cast<unsigned long long>(geometries),
              static_cast<unsigned long long>(geometries * kThreads * transactions),
              static_cast<unsigned long long>(committed_), static_cast<unsigned long long>(conflicts_));
}

TEST_F(TransactionRace, MoneyIsNeitherMadeNorLost) {
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed_));
  constexpr uint64_t kAccounts = 10, kEach = 100;
  const auto account = [](uint64_t n) { return "account" + std::to_string(n); };
  for (uint64_t n = 0; n < kAccounts; ++n) ASSERT_OK(db_->Put({}, account(n), merge::FromU64(kEach)));
  std::atomic<uint64_t> moved{0};
  InThreads(4, [&](size_t thread) {
    base::Random random(seed_ * 10 + thread);
    for (uint64_t n = 0; n < Sized(1000, 20'000, 100); ++n) {
      const TransactionKind kind = thread == 0 ? TransactionKind::kSingleWriter : TransactionKind::kOptimistic;
      if (thread == 3) {  // reads all of them
        auto reader = Transaction::Begin(*db_, {.kind = TransactionKind::kReadOnly});
        ASSERT_OK(reader.status());
        auto cursor = (*reader)->OpenCursor();
        uint64_t sum = 0;
        for (Status status = cursor->First(); status.ok(); status = cursor->Next())
          sum += *merge::ToU64(cursor->value());
        ASSERT_EQ(sum, kAccounts * kEach);
        continue;
      }
      auto begun = Transaction::Begin(*db_, {.kind = kind});
      ASSERT_OK(begun.status());
      const std::string from = account(random.Uniform(kAccounts)), to = account(random.Uniform(kAccounts));
      std::string value;
      ASSERT_OK((*begun)->Get(from, &value));
      const uint64_t has = *merge::ToU64(value), gives = random.Uniform(has + 1);
      ASSERT_OK((*begun)->Put(from, merge::FromU64(has - gives)));
      ASSERT_OK((*begun)->Get(to, &value));
      ASSERT_OK((*begun)->Put(to, merge::FromU64(*merge::ToU64(value) + gives)));
      const Status status = (*begun)->Commit();
      ASSERT_TRUE(status.ok() || (status.IsConflict() && kind == TransactionKind::kOptimistic)) << status.ToString();
      moved += status.ok();
    }
  });
  EXPECT_GT(moved, 0u);
}

// Counters by read and write, without a lock of their own: each commit counts once.
TEST_F(TransactionRace, IncrementsThatCommittedAreAllThere) {
  std::atomic<uint64_t> committed{0};
  InThreads(4, [&](size_t) {
    for (uint64_t n = 0; n < Sized(1000, 20'000, 100); ++n) {
      auto begun = Transaction::Begin(*db_, {.kind = TransactionKind::kOptimistic});
      ASSERT_OK(begun.status());
      std::string value = merge::FromU64(0);
      const Status got = (*begun)->Get("counter", &value);
      ASSERT_TRUE(got.ok() || got.IsNotFound());
      ASSERT_OK((*begun)->Put("counter", merge::FromU64(*merge::ToU64(value) + 1)));
      committed += (*begun)->Commit().ok();
    }
  });
  std::string value;
  ASSERT_OK(db_->Get({}, "counter", &value));
  EXPECT_EQ(merge::ToU64(value), committed);
}

}  // namespace
}  // namespace mergedb::testing
