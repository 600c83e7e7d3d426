// Goal: transactions of all kinds that run at the same time, with flushes, compactions and kills in between,
// have an equivalent serial order. Method: many are open at once on one thread, in an order that a seed
// chooses; testing/history.h judges the records of their reads and writes. Real threads:
// tests/race/transaction_race_test.cc.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/geometry.h"
#include "testing/history.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::transaction_history_test {
namespace {

using Fate = HistoryTransaction::Fate;

struct Shape {
  uint64_t keys = 20;
  size_t open_max = 8;
  uint64_t steps = 3000;
  bool has_kills = true;
  Geometry geometry = {.memory_bytes = 1 << 20};
};

class History {
 public:
  History(uint64_t seed, const Shape& shape)
      : shape_(shape), random_(seed), sim_(std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = seed})) {
    Open();
  }

  void Run() {
    for (uint64_t step = 0; step < shape_.steps && !::testing::Test::HasFatalFailure(); ++step) Step();
    while (!open_.empty()) End(0);
    std::map<std::string, List> final_state;
    auto it = db_->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next())
      final_state[std::string(it->key())] = DecodeList(std::string(it->value()));
    ASSERT_OK(it->status());
    const auto anomaly = FindAnomaly(history_, final_state);
    ASSERT_FALSE(anomaly) << *anomaly;
  }
  // Opens as many transactions as are allowed, lets each act in rotation, and ends them in any order.
  void RunAllAtOnce() {
    Fill();
    while (open_.size() < shape_.open_max) Begin(TransactionKind::kOptimistic);
    for (int turn = 0; turn < 3; ++turn) {
      for (auto& each : open_) Act(each);
    }
    shape_.steps = 0;
    while (!open_.empty()) End(random_.Uniform(open_.size()));
    Run();
  }

  uint64_t committed() const { return committed_; }
  uint64_t conflicts() const { return conflicts_; }
  uint64_t kills() const { return kills_; }

 private:
  struct Open_ {
    std::unique_ptr<Transaction> transaction;
    HistoryTransaction record;
  };

  void Open() {
    Options options = sim_->SmallOptions();
    Choose(shape_.geometry, &options);
    auto db = DB::Open(options, SimulatedEnv::kPath);
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }

  // A number for each key, so that scans do not meet only absent keys.
  void Fill() {
    HistoryTransaction record{.began = ++clock_, .fate = Fate::kCommitted, .ops = {}};
    WriteBatch batch;
    for (uint64_t k = 0; k < shape_.keys; ++k) {
      batch.Put(KeyOf(k), EncodeList({++number_}));
      record.ops.push_back({.key = KeyOf(k), .append = number_});
    }
    ASSERT_OK(db_->Write({}, batch));
    record.ended = ++clock_;
    history_.push_back(std::move(record));
  }

  void Step() {
    const uint64_t choice = random_.Uniform(100);
    if (choice < 3) {
      ASSERT_OK(db_->Flush());
    } else if (choice < 15) {
      for (uint64_t n = random_.Uniform(20); n > 0 && sim_->executor.RunOne(); --n) {}
    } else if (choice < 16 && shape_.has_kills && random_.OneIn(4)) {
      Kill();
    } else if (open_.empty() || (choice < 40 && open_.size() < shape_.open_max)) {
      const uint64_t kind = random_.Uniform(8);
      Begin(kind == 0   ? TransactionKind::kReadOnly
            : kind == 1 ? TransactionKind::kSingleWriter
                        : TransactionKind::kOptimistic);
    } else if (choice < 80) {
      Act(open_[random_.Uniform(open_.size())]);
    } else {
      End(random_.Uniform(open_.size()));
    }
  }

  void Begin(TransactionKind kind) {
    Open_ begun;
    begun.record.began = ++clock_;
    auto transaction = Transaction::Begin(*db_, {.kind = kind, .bytes_max = size_t{16} << 20});
    if (transaction.status().IsBusy()) return;  // another single writer is open
    ASSERT_OK(transaction.status());
    begun.transaction = std::move(*transaction);
    open_.push_back(std::move(begun));
  }

  static std::string KeyOf(uint64_t number) {
    char text[24];
    std::snprintf(text, sizeof text, "k%06llu", static_cast<unsigned long long>(number));
    return text;
  }
  std::string Key() { return KeyOf(random_.Uniform(shape_.keys)); }

  void Act(Open_& open) {
    switch (random_.Uniform(open.transaction->kind() == TransactionKind::kReadOnly ? 2 : 4)) {
      case 0: return (void)Read(open, Key());
      case 1: return Scan(open);
      case 2: return Append(open, Key());
      default: return ReadAndPut(open, Key());
    }
  }
  List Read(Open_& open, const std::string& key) {
    std::string value;
    const Status status = open.transaction->Get(key, &value);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    open.record.ops.push_back({.key = key, .is_read = true, .read = DecodeList(value)});
    return DecodeList(value);
  }
  void Append(Open_& open, const std::string& key) {
    ASSERT_OK(open.transaction->Merge(key, merge::Append(std::to_string(++number_) + ",")));
    open.record.ops.push_back({.key = key, .append = number_});
  }
  void ReadAndPut(Open_& open, const std::string& key) {
    List list = Read(open, key);
    list.push_back(++number_);
    ASSERT_OK(open.transaction->Put(key, EncodeList(list)));
    open.record.ops.push_back({.key = key, .append = number_});
  }
  // A few keys up or down from one, including absent ones.
  void Scan(Open_& open) {
    const bool is_forward = random_.OneIn(2);
    const std::string from = Key();
    std::map<std::string, List> seen;
    auto cursor = open.transaction->OpenCursor();
    Status status = is_forward ? cursor->SetRange(from) : cursor->SetForPrev(from);
    // Below the first key, SetForPrev stands on the first key: the range that was read reaches up to it.
    if (status.IsNotFound() && cursor->Valid())
      seen[std::string(cursor->key())] = DecodeList(std::string(cursor->value()));
    uint64_t steps = random_.Uniform(4);
    for (; status.ok(); --steps) {
      seen[std::string(cursor->key())] = DecodeList(std::string(cursor->value()));
      if (steps == 0) break;
      status = is_forward ? cursor->Next() : cursor->Prev();
    }
    ASSERT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    const std::string far = is_forward ? KeyOf(shape_.keys - 1) : KeyOf(0);
    const std::string last = status.ok() ? std::string(cursor->key()) : far;
    for (uint64_t k = std::stoull(std::min(from, last).substr(1)); k <= std::stoull(std::max(from, last).substr(1));
         ++k) {
      open.record.ops.push_back({.key = KeyOf(k), .is_read = true, .read = seen[KeyOf(k)]});
    }
  }

  void End(size_t index) {
    Open_ open = std::move(open_[index]);
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(index));
    const bool is_rolled_back = random_.OneIn(10);
    if (is_rolled_back) {
      open.transaction->Rollback();
    } else {
      const Status status = open.transaction->Commit();
      // Busy: a single writer is open, and this thread would never end it.
      ASSERT_TRUE(status.ok() || status.IsConflict() || status.IsBusy()) << status.ToString();
      if (status.ok()) open.record.fate = Fate::kCommitted;
      committed_ += status.ok();
      conflicts_ += status.IsConflict();
    }
    open.record.ended = ++clock_;
    history_.push_back(std::move(open.record));
  }

  // The process dies: open transactions never commit.
  void Kill() {
    ++kills_;
    auto after = SimulatedEnv::After(*sim_, CrashMode::kKill, CrashModel::kStrict, random_.Next());
    for (auto& each : open_) {
      each.record.ended = ++clock_;
      history_.push_back(std::move(each.record));
    }
    open_.clear();
    db_ = nullptr;
    sim_ = std::move(after);
    Open();
  }

  Shape shape_;
  base::Random random_;
  std::unique_ptr<SimulatedEnv> sim_;
  std::unique_ptr<DB> db_;
  std::vector<Open_> open_;
  std::vector<HistoryTransaction> history_;
  uint64_t clock_ = 0;
  uint64_t number_ = 0;
  uint64_t committed_ = 0, conflicts_ = 0, kills_ = 0;
};

TEST(TransactionHistory, IsSerializableThroughFlushesCompactionsAndKills) {
  const uint64_t first = SeedOr(1);
  uint64_t committed = 0, conflicts = 0, kills = 0;
  for (uint64_t seed = first; seed < first + Sized(30, 1000, 3); ++seed) {
    const Geometry geometry = GeometryFor(seed, {.write_buffer_bytes_max = 1 << 20});
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed) + " " + ReplayOf(geometry));
    History history(seed, {.keys = 4 + 10 * (seed % 5), .geometry = geometry});
    history.Run();
    if (HasFatalFailure()) return;
    committed += history.committed();
    conflicts += history.conflicts();
    kills += history.kills();
  }
  EXPECT_GT(committed, 100u);
  EXPECT_GT(conflicts, 20u);
  EXPECT_GT(kills, 5u);
}

TEST(TransactionHistory, OfTwentyThousandAtOnceHasNoAnomaly) {
  const uint64_t seed = SeedOr(1);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  const uint64_t count = Sized(20'000, 20'000);
  History history(seed,
                  {.keys = 5 * count,
                   .open_max = count,
                   .has_kills = false,
                   .geometry = {.write_buffer_bytes = 32 << 20, .memory_bytes = 256 << 20, .open_tables_max = 1000}});
  history.RunAllAtOnce();
  EXPECT_GT(history.committed(), count / 4);
  EXPECT_GT(history.conflicts(), 10u);
  std::printf("%llu committed, %llu conflicts\n", static_cast<unsigned long long>(history.committed()),
              static_cast<unsigned long long>(history.conflicts()));
}

}  // namespace
}  // namespace mergedb::testing::transaction_history_test
