// Transactions of all kinds from several threads at once, on real files, beside plain writers, flushes and merges. What each saw
// is recorded and judged: a serial order that agrees with real time (testing/history.h); with one key to a transaction that is
// linearizability. Also: money moved between accounts is neither made nor lost, whoever looks.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/random.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/history.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

using Fate = HistoryTransaction::Fate;

class TransactionRace : public ::testing::Test {
 protected:
  void SetUp() override {
    Options options;
    options.memory_bytes = 4 << 20;
    options.write_buffer_bytes = 256 << 10;
    auto db = DB::Open(options, directory_.path());
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
    for (it->SeekToFirst(); it->Valid(); it->Next()) state[std::string(it->key())] = DecodeList(std::string(it->value()));
    EXPECT_OK(it->status());
    return state;
  }

  const uint64_t seed_ = SeedOr(5);
  const TempDirectory directory_;
  std::unique_ptr<DB> db_;
  std::atomic<uint64_t> clock_{0};
};

// One thread's transactions.
class Client {
 public:
  Client(DB& db, std::atomic<uint64_t>& clock, uint64_t id, uint64_t seed, uint64_t keys)
      : db_(db), clock_(clock), id_(id), random_(seed), keys_(keys) {}

  void Run(size_t ops_max) {
    HistoryTransaction record{.began = Tick(), .ops = {}};
    const uint64_t choice = random_.Uniform(10);
    const TransactionOptions options{
        .kind = choice == 0 ? TransactionKind::kSingleWriter : choice == 1 ? TransactionKind::kReadOnly : TransactionKind::kOptimistic,
        .durability = random_.OneIn(50) ? Durability::kSynced : Durability::kProcessCrash};
    auto begun = Transaction::Begin(db_, options);
    ASSERT_OK(begun.status());
    Transaction& transaction = **begun;
    for (uint64_t ops = 1 + random_.Uniform(ops_max); ops > 0; --ops) Act(transaction, &record);
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
    HistoryTransaction record{.began = Tick(), .fate = Fate::kCommitted, .ops = {{.key = Key(), .append = NextNumber()}}};
    ASSERT_OK(db_.Merge({}, record.ops[0].key, merge::Append(std::to_string(record.ops[0].append) + ",")));
    record.ended = Tick();
    history.push_back(std::move(record));
  }

  std::vector<HistoryTransaction> history;
  uint64_t conflicts = 0;

 private:
  uint64_t Tick() { return clock_.fetch_add(1) + 1; }
  std::string Key() { return "key" + std::to_string(10 + random_.Uniform(keys_)); }
  uint64_t NextNumber() { return id_ + 16 * ++numbers_; }

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
  // All keys there are, and so all that are not.
  void Scan(Transaction& transaction, HistoryTransaction* record) {
    std::map<std::string, List> seen;
    auto cursor = transaction.OpenCursor();
    const bool is_forward = random_.OneIn(2);
    Status status = is_forward ? cursor->First() : cursor->Last();
    for (; status.ok(); status = is_forward ? cursor->Next() : cursor->Prev()) {
      seen[std::string(cursor->key())] = DecodeList(std::string(cursor->value()));
    }
    ASSERT_THAT(status, StatusIs(Code::kNotFound));
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
  uint64_t numbers_ = 0;
};

class RecordedHistories : public TransactionRace {
 protected:
  void RunAndJudge(uint64_t keys, size_t ops_max, uint64_t transactions) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed_));
    constexpr size_t kThreads = 4;
    std::vector<Client> clients;
    for (size_t i = 0; i < kThreads; ++i) clients.emplace_back(*db_, clock_, i, seed_ * 100 + i, keys);
    InThreads(kThreads, [&](size_t i) {
      for (uint64_t n = 0; n < transactions && !HasFatalFailure(); ++n) {
        if (n % 10 == 9) {
          clients[i].RunPlain();
        } else {
          clients[i].Run(ops_max);
        }
        if (i == 0 && n % 100 == 99) {
          ASSERT_OK(db_->Flush());
        }
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
    EXPECT_GT(committed, history.size() / 10);
    EXPECT_GT(conflicts, 0u);
    const auto anomaly = FindAnomaly(std::move(history), FinalState());
    EXPECT_FALSE(anomaly) << *anomaly;
  }
};

TEST_F(RecordedHistories, OfManyKeysAreStrictlySerializable) { RunAndJudge(20, 5, Sized(600, 5000, 100)); }

TEST_F(RecordedHistories, OfOneKeyAreLinearizable) { RunAndJudge(1, 1, Sized(400, 2000, 100)); }

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
      if (thread == 3) {  // looks at all of them
        auto reader = Transaction::Begin(*db_, {.kind = TransactionKind::kReadOnly});
        ASSERT_OK(reader.status());
        auto cursor = (*reader)->OpenCursor();
        uint64_t sum = 0;
        for (Status status = cursor->First(); status.ok(); status = cursor->Next()) sum += *merge::ToU64(cursor->value());
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
