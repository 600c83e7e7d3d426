// Transactions through the public interface: what each kind sees and hides, which calls wait, what is a
// conflict and which key it names, the cost of an open transaction. Method: by example, several transactions
// open at once on one thread; tests/race/transaction_race_test.cc runs them on several threads.
#include "mergedb/transaction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "mergedb/merge.h"
#include "testing/contents.h"
#include "testing/counters.h"
#include "testing/reverse_comparator.h"
#include "testing/simulated_db.h"
#include "testing/status_matchers.h"
#include "testing/waiting_thread.h"

namespace mergedb::testing::transaction_test {
namespace {

using ::testing::HasSubstr;

const TransactionOptions kSingle{.kind = TransactionKind::kSingleWriter};
const TransactionOptions kOptimistic{.kind = TransactionKind::kOptimistic};
const TransactionOptions kReadOnly{.kind = TransactionKind::kReadOnly};

std::string Get(Transaction& transaction, std::string_view key) {
  std::string value;
  return Show(transaction.Get(key, &value), value);
}
std::string Contents(Transaction& transaction) {
  auto cursor = transaction.OpenCursor();
  std::string forward, backward;
  Status status = cursor->First();
  for (; status.ok(); status = cursor->Next())
    forward += std::string(cursor->key()) + "=" + std::string(cursor->value()) + " ";
  EXPECT_THAT(status, StatusIs(Code::kNotFound));
  status = cursor->Last();
  for (; status.ok(); status = cursor->Prev())
    backward.insert(0, std::string(cursor->key()) + "=" + std::string(cursor->value()) + " ");
  EXPECT_THAT(status, StatusIs(Code::kNotFound));
  EXPECT_EQ(forward, backward);
  return forward;
}

class Transactions : public SimulatedDb {
 protected:
  std::unique_ptr<Transaction> Begin(const TransactionOptions& options) {
    auto transaction = Transaction::Begin(*db_, options);
    EXPECT_OK(transaction.status());
    return std::move(*transaction);
  }
  using SimulatedDb::Get;
  using Of = std::unique_ptr<Transaction>;
  static std::string Get(const Of& transaction, std::string_view key) {
    return transaction_test::Get(*transaction, key);
  }
  // Flushes and compacts everything.
  void MergeAway() { ASSERT_OK(db_->CompactRange(nullptr, nullptr)); }
};

class EveryWritingKind : public Transactions, public ::testing::WithParamInterface<TransactionKind> {
 protected:
  std::unique_ptr<Transaction> Begin() { return Transactions::Begin({.kind = GetParam()}); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryWritingKind,
                         ::testing::Values(TransactionKind::kSingleWriter, TransactionKind::kOptimistic));

TEST_P(EveryWritingKind, SeesItsOwnWritesAndNobodyElseDoesUntilItCommits) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  ASSERT_OK(db_->Put({}, "b", "1"));
  auto transaction = Begin();
  ASSERT_OK(transaction->Put("a", "2"));
  ASSERT_OK(transaction->Delete("b"));
  ASSERT_OK(transaction->Put("c", "2"));
  EXPECT_EQ(Contents(*transaction), "a=2 c=2 ");
  EXPECT_EQ(transaction_test::Get(*transaction, "a"), "2");
  EXPECT_EQ(transaction_test::Get(*transaction, "b"), "NotFound");
  EXPECT_EQ(Transactions::Get("a"), "1");
  EXPECT_EQ(Transactions::Get("c"), "NotFound");
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Transactions::Get("a"), "2");
  EXPECT_EQ(Transactions::Get("b"), "NotFound");
  EXPECT_EQ(Transactions::Get("c"), "2");
}

TEST_P(EveryWritingKind, LeavesNothingWhenItIsRolledBackOrForgotten) {
  auto transaction = Begin();
  ASSERT_OK(transaction->Put("a", "1"));
  transaction->Rollback();
  EXPECT_THAT(transaction->Commit(), StatusIs(Code::kAborted));
  EXPECT_THAT(transaction->Put("a", "1"), StatusIs(Code::kAborted));
  EXPECT_EQ(transaction_test::Get(*transaction, "a"), "Aborted");
  transaction = Begin();
  ASSERT_OK(transaction->Put("a", "1"));
  transaction = nullptr;
  EXPECT_EQ(Transactions::Get("a"), "NotFound");
  ASSERT_OK(db_->Put({}, "a", "2"));
}

TEST_P(EveryWritingKind, SavepointsNest) {
  auto transaction = Begin();
  ASSERT_OK(transaction->Put("a", "1"));
  ASSERT_OK(transaction->SetSavepoint());
  ASSERT_OK(transaction->Put("a", "2"));
  EXPECT_EQ(Contents(*transaction), "a=2 ");
  ASSERT_OK(transaction->SetSavepoint());
  ASSERT_OK(transaction->DeleteRange("a", "z"));
  ASSERT_OK(transaction->Put("b", "3"));
  EXPECT_EQ(Contents(*transaction), "b=3 ");
  EXPECT_EQ(transaction->savepoints(), 2u);
  ASSERT_OK(transaction->RollbackToSavepoint());
  EXPECT_EQ(Contents(*transaction), "a=2 ");
  ASSERT_OK(transaction->SetSavepoint());
  ASSERT_OK(transaction->Put("c", "4"));
  ASSERT_OK(transaction->ReleaseSavepoint());
  EXPECT_EQ(Contents(*transaction), "a=2 c=4 ");
  ASSERT_OK(transaction->RollbackToSavepoint());
  EXPECT_EQ(Contents(*transaction), "a=1 ");
  EXPECT_THAT(transaction->RollbackToSavepoint(), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(transaction->ReleaseSavepoint(), StatusIs(Code::kInvalidArgument));
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Transactions::Get("a"), "1");
}

// Operands are folded with the stored value, not with the value that a reader sees: a stamped value keeps its
// stamp, a sum its range.
TEST_P(EveryWritingKind, MergesOverWhatTheTreeHoldsKeepItsType) {
  ASSERT_OK(db_->Merge({}, "last", merge::Last(5, "five")));
  ASSERT_OK(db_->Merge({}, "sum", merge::AddI64(INT64_MAX)));
  ASSERT_OK(db_->Merge({}, "sum", merge::AddI64(1)));
  MergeAway();
  auto transaction = Begin();
  ASSERT_OK(transaction->Merge("last", merge::Last(3, "three")));
  ASSERT_OK(transaction->Merge("sum", merge::AddI64(-2)));
  EXPECT_EQ(transaction_test::Get(*transaction, "last"), "five");
  EXPECT_EQ(transaction_test::Get(*transaction, "sum"), merge::FromI64(INT64_MAX - 1));
  EXPECT_EQ(Contents(*transaction), "last=five sum=" + merge::FromI64(INT64_MAX - 1) + " ");
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Transactions::Get("last"), "five");
  EXPECT_EQ(Transactions::Get("sum"), merge::FromI64(INT64_MAX - 1));
}

TEST_P(EveryWritingKind, MergesMeetItsOwnPutsDeletesAndRanges) {
  ASSERT_OK(db_->Put({}, "a", "old"));
  ASSERT_OK(db_->Put({}, "b", "old"));
  ASSERT_OK(db_->Put({}, "c", "old"));
  auto transaction = Begin();
  ASSERT_OK(transaction->Put("a", "new"));
  ASSERT_OK(transaction->Delete("b"));
  ASSERT_OK(transaction->Merge("c", merge::Append("1")));
  ASSERT_OK(transaction->DeleteRange("c", "d"));
  for (const char* key : {"a", "b", "c"}) ASSERT_OK(transaction->Merge(key, merge::Append("2")));
  EXPECT_EQ(transaction_test::Get(*transaction, "a"), "new2");
  EXPECT_EQ(transaction_test::Get(*transaction, "b"), "2");
  EXPECT_EQ(transaction_test::Get(*transaction, "c"), "2");
  EXPECT_EQ(Contents(*transaction), "a=new2 b=2 c=2 ");
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Transactions::Get("a"), "new2");
  EXPECT_EQ(Transactions::Get("b"), "2");
  EXPECT_EQ(Transactions::Get("c"), "2");
}

TEST_P(EveryWritingKind, RangeDeletesHideWhatIsUnderThemFromTheirPlaceOn) {
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_OK(db_->Put({}, key, "tree"));
  ASSERT_OK(db_->Flush());
  auto transaction = Begin();
  ASSERT_OK(transaction->Put("b", "before"));
  ASSERT_OK(transaction->DeleteRange("b", "d"));
  ASSERT_OK(transaction->Put("c", "after"));
  EXPECT_EQ(Contents(*transaction), "a=tree c=after d=tree ");
  EXPECT_EQ(transaction_test::Get(*transaction, "b"), "NotFound");
  EXPECT_EQ(transaction_test::Get(*transaction, "c"), "after");
  EXPECT_THAT(transaction->DeleteRange("d", "b"), StatusIs(Code::kInvalidArgument));
  ASSERT_OK(transaction->DeleteRange("d", "d"));
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Contents(*Transactions::Begin(kReadOnly)), "a=tree c=after d=tree ");
}

TEST_P(EveryWritingKind, RefusesWhatTheDatabaseRefusesAndGoesOn) {
  auto transaction = Begin();
  ASSERT_OK(transaction->Put("a", "1"));
  EXPECT_THAT(transaction->Put(std::string(kKeyBytesMax + 1, 'k'), ""), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(transaction->Merge("a", "no operand"), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(transaction->Put(Keyspace(7), "a", "1"), StatusIs(Code::kInvalidArgument));
  char* place = nullptr;
  EXPECT_THAT(transaction->Reserve({}, "a", kValueBytesMax + 1, &place), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(transaction->writes(), 1u);
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Transactions::Get("a"), "1");
}

TEST_P(EveryWritingKind, ReservesSpaceThatTheCallerFills) {
  auto transaction = Begin();
  char* place = nullptr;
  ASSERT_OK(transaction->Reserve({}, "a", 5, &place));
  std::copy_n("value", 5, place);
  EXPECT_EQ(transaction_test::Get(*transaction, "a"), "value");
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Transactions::Get("a"), "value");
}

TEST_P(EveryWritingKind, TakesNoMoreThanItsBytes) {
  auto transaction = Transactions::Begin({.kind = GetParam(), .bytes_max = 10'000});
  ASSERT_OK(transaction->Put("a", std::string(9'000, 'v')));
  EXPECT_THAT(transaction->Put("b", std::string(1'000, 'v')),
              StatusIs(Code::kNoSpace, HasSubstr("bytes_max of 10000")));
  EXPECT_LE(transaction->bytes(), 10'000u);
  EXPECT_EQ(transaction_test::Get(*transaction, "b"), "NotFound");
  ASSERT_OK(transaction->Put("c", "small"));
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Transactions::Get("c"), "small");
  EXPECT_THAT(Transaction::Begin(*db_, {.kind = GetParam(), .bytes_max = kBatchBytesMax + 1}),
              StatusIs(Code::kInvalidArgument));
}

TEST_P(EveryWritingKind, MayBeLargerThanAMemtable) {
  auto transaction = Begin();
  for (int i = 0; i < 3000; ++i) ASSERT_OK(transaction->Put("key" + std::to_string(i), std::string(100, 'v')));
  EXPECT_EQ(transaction_test::Get(*transaction, "key2999"), std::string(100, 'v'));
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Transactions::Get("key0"), std::string(100, 'v'));
  EXPECT_EQ(Transactions::Get("key2999"), std::string(100, 'v'));
}

TEST_P(EveryWritingKind, WorksUnderAnyComparator) {
  const ReverseComparator reverse;
  db_ = nullptr;
  SimulatedEnv other;
  Options options = other.SmallOptions();
  options.comparator = &reverse;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, SimulatedEnv::kPath));
  ASSERT_OK(db->Put({}, "a", "1"));
  ASSERT_OK(db->Put({}, "c", "1"));
  ASSERT_OK_AND_ASSIGN(auto transaction, Transaction::Begin(*db, {.kind = GetParam()}));
  ASSERT_OK(transaction->Put("b", "2"));
  EXPECT_EQ(Contents(*transaction), "c=1 b=2 a=1 ");
  ASSERT_OK(transaction->DeleteRange("c", "b"));
  EXPECT_EQ(Contents(*transaction), "b=2 a=1 ");
  ASSERT_OK(transaction->Commit());
}

TEST_P(EveryWritingKind, EndsWithItsDatabase) {
  auto transaction = Begin();
  ASSERT_OK(transaction->Put("a", "1"));
  auto cursor = transaction->OpenCursor();
  ASSERT_OK(cursor->First());
  ASSERT_OK(db_->Close());
  EXPECT_EQ(transaction_test::Get(*transaction, "a"), "ShuttingDown");
  EXPECT_THAT(cursor->Next(), StatusIs(Code::kShuttingDown));
  EXPECT_THAT(transaction->Put("b", "1"), StatusIs(Code::kShuttingDown));
  EXPECT_THAT(transaction->Commit(), StatusIs(Code::kShuttingDown));
}

// The close happens between the write's first check and its exclusive section. The test interrupts this
// thread in the comparator.
TEST_F(Transactions, AWriteThatMeetsACloseOnItsWayIsRefusedWhole) {
  class Meeting final : public Comparator {
   public:
    int Compare(std::string_view a, std::string_view b) const override {
      if (calls > 0 && --calls == 0) meet();
      return a.compare(b);
    }
    std::string_view Name() const override { return "transaction_test.meeting"; }
    mutable int calls = 0;  // until the close
    std::function<void()> meet;
  } comparator;
  db_ = nullptr;
  Options options = sim_.SmallOptions();
  options.comparator = &comparator;
  comparator.meet = [&] { std::thread([&] { EXPECT_OK(db_->Close()); }).join(); };
  const auto life = [&](const std::function<Status()>& write) {
    SimulatedEnv sim;
    options.env = sim.SmallOptions().env;
    Open(options);
    ASSERT_OK(db_->Put({}, "a", "1"));
    EXPECT_THAT(write(), StatusIs(Code::kShuttingDown));
    EXPECT_EQ(comparator.calls, 0) << "they met";
    Open(options);
    EXPECT_EQ(Contents(*Begin(kReadOnly)), "a=1 ");
    db_ = nullptr;
  };
  life([&] {
    comparator.calls = 2;  // the first call compares the two ends, before all else
    return db_->DeleteRange({}, "a", "b");
  });
  life([&] {
    auto transaction = Begin(kOptimistic);
    EXPECT_EQ(Get(transaction, "a"), "1");
    EXPECT_EQ(Get(transaction, "b"), "NotFound");
    EXPECT_OK(transaction->Put("b", "2"));
    EXPECT_OK(db_->Put({}, "c", "1"));
    EXPECT_OK(db_->Delete({}, "c"));
    comparator.calls = 1;
    return transaction->Commit();
  });
}

TEST_P(EveryWritingKind, SyncedOnesSurviveThePowerCut) {
  auto transaction = Transactions::Begin({.kind = GetParam(), .durability = Durability::kSynced});
  ASSERT_OK(transaction->Put("a", "1"));
  ASSERT_OK(transaction->Put("b", "2"));
  ASSERT_OK(transaction->Commit());
  auto after = SimulatedEnv::After(sim_, CrashMode::kMin, CrashModel::kStrict, 1);
  ASSERT_OK_AND_ASSIGN(auto db, after->Open());
  std::string value;
  ASSERT_OK(db->Get({}, "a", &value));
  ASSERT_OK(db->Get({}, "b", &value));
}

// ---- single writers ---------------------------------------------------------------------------------------

// Symptom: a put returns Busy at once, though its thread began nothing. Cause: the system gives the id of a thread that
// has ended to a new thread.
TEST_F(Transactions, AWriteWaitsForASingleWriterWhoseThreadHasEnded) {
  for (int i = 0; i < 10; ++i) {
    std::unique_ptr<Transaction> transaction;
    std::thread([&] { transaction = Begin(kSingle); }).join();
    std::atomic<bool> is_written{false};
    WaitingThread writer([&] {
      EXPECT_OK(db_->Put({}, "a", "1"));
      is_written = true;
    });
    EXPECT_FALSE(is_written);
    ASSERT_OK(transaction->Commit());
    writer.join();
    EXPECT_TRUE(is_written);
  }
}

// A transaction may move to another thread between calls. The thread that uses it is the one that must not wait for it.
TEST_F(Transactions, AWriteOfTheThreadThatASingleWriterHasLeftWaits) {
  std::unique_ptr<Transaction> transaction;
  std::atomic<bool> is_written{false};
  WaitingThread first([&] {
    transaction = Begin(kSingle);
    std::thread([&] {
      EXPECT_OK(transaction->Put("a", "1"));
      EXPECT_THAT(db_->Put({}, "b", "2"), StatusIs(Code::kBusy, HasSubstr("this thread")));
    }).join();
    EXPECT_OK(db_->Put({}, "b", "1"));
    is_written = true;
  });
  EXPECT_FALSE(is_written);
  ASSERT_OK(transaction->Commit());
  first.join();
  EXPECT_TRUE(is_written);
  EXPECT_EQ(Get("b"), "1");
}

TEST_F(Transactions, ASingleWriterKeepsOtherWritersOutButNoReader) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  auto transaction = Begin(kSingle);
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get(Begin(kReadOnly), "a"), "1");
  EXPECT_THAT(db_->Put({}, "a", "2"), StatusIs(Code::kBusy, HasSubstr("this thread")));
  EXPECT_THAT(Transaction::Begin(*db_, kSingle), StatusIs(Code::kBusy));
  std::thread([&] {
    EXPECT_THAT(Transaction::Begin(*db_, {.kind = TransactionKind::kSingleWriter, .wait_us_max = 0}),
                StatusIs(Code::kBusy));
    EXPECT_THAT(Transaction::Begin(*db_, {.kind = TransactionKind::kSingleWriter, .wait_us_max = 1000}),
                StatusIs(Code::kBusy));
  }).join();
  std::atomic<bool> is_written{false};
  WaitingThread writer([&] {
    EXPECT_OK(db_->Put({}, "a", "from outside"));
    is_written = true;
  });
  EXPECT_FALSE(is_written);
  EXPECT_EQ(Get(transaction, "a"), "1");
  ASSERT_OK(transaction->Put("a", "from inside"));
  ASSERT_OK(transaction->Commit());
  writer.join();
  EXPECT_EQ(Get("a"), "from outside");
}

TEST_F(Transactions, WhoWaitsForASingleWriterHearsOfTheEnd) {
  auto transaction = Begin(kSingle);
  WaitingThread writer([&] { EXPECT_THAT(db_->Put({}, "a", "1"), StatusIs(Code::kShuttingDown)); });
  WaitingThread beginner([&] { EXPECT_THAT(Transaction::Begin(*db_, kSingle), StatusIs(Code::kShuttingDown)); });
  ASSERT_OK(db_->Close());
  writer.join();
  beginner.join();
}

TEST_F(Transactions, ASingleWriterDoesNotBlockFlushesAndCompactions) {
  for (int i = 0; i < 100; ++i) ASSERT_OK(db_->Put({}, "key" + std::to_string(i), "1"));
  auto transaction = Begin(kSingle);
  ASSERT_OK(transaction->Put("key1", "2"));
  ASSERT_OK(db_->Flush());
  MergeAway();
  ASSERT_OK(db_->SyncWal());
  EXPECT_EQ(Get(transaction, "key2"), "1");
  ASSERT_OK(transaction->Commit());
  EXPECT_EQ(Get("key1"), "2");
}

// ---- read-only transactions -------------------------------------------------------------------------------

TEST_F(Transactions, AReadOnlyOneStaysAtItsMoment) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  const auto snapshot = db_->GetSnapshot();
  ASSERT_OK(db_->Put({}, "a", "2"));
  auto now = Begin(kReadOnly);
  auto before = Begin({.kind = TransactionKind::kReadOnly, .snapshot = snapshot});
  ASSERT_OK(db_->Put({}, "a", "3"));
  MergeAway();
  EXPECT_EQ(Get(now, "a"), "2");
  EXPECT_EQ(Get(before, "a"), "1");
  EXPECT_EQ(before->sequence(), snapshot->sequence());
  EXPECT_THAT(now->Put("a", "4"), StatusIs(Code::kNotSupported));
  EXPECT_THAT(now->SetSavepoint(), StatusIs(Code::kNotSupported));
  ASSERT_OK(now->Commit());
  EXPECT_THAT(Transaction::Begin(*db_, {.kind = TransactionKind::kOptimistic, .snapshot = snapshot}),
              StatusIs(Code::kInvalidArgument));
}

TEST_F(Transactions, AReadOnlyDatabaseHasReadOnlyOnes) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  ASSERT_OK(db_->Close());
  Options options = sim_.SmallOptions();
  options.mode = OpenMode::kReadOnly;
  Open(options);
  EXPECT_EQ(Get(Begin(kReadOnly), "a"), "1");
  EXPECT_THAT(Transaction::Begin(*db_, kSingle), StatusIs(Code::kNotSupported));
  EXPECT_THAT(Transaction::Begin(*db_, kOptimistic), StatusIs(Code::kNotSupported));
}

// ---- optimistic transactions ------------------------------------------------------------------------------

TEST_F(Transactions, OptimisticOnesThatReadDifferentKeysAllCommit) {
  auto one = Begin(kOptimistic);
  auto two = Begin(kOptimistic);
  EXPECT_EQ(Get(one, "a"), "NotFound");
  EXPECT_EQ(Get(two, "b"), "NotFound");
  ASSERT_OK(one->Put("a", "1"));
  ASSERT_OK(two->Put("b", "2"));
  ASSERT_OK(one->Commit());
  ASSERT_OK(two->Commit());
}

TEST_F(Transactions, AConflictNamesTheKeyAndWritesNothing) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  auto transaction = Begin(kOptimistic);
  EXPECT_EQ(Get(transaction, "a"), "1");
  ASSERT_OK(transaction->Put("b", "2"));
  ASSERT_OK(db_->Put({}, "a", "changed"));
  EXPECT_THAT(transaction->Commit(), StatusIs(Code::kConflict, HasSubstr("\"a\"")));
  ASSERT_TRUE(transaction->conflict().has_value());
  EXPECT_EQ(transaction->conflict()->key, "a");
  EXPECT_EQ(transaction->conflict()->sequence, transaction->sequence());
  EXPECT_EQ(Get("b"), "NotFound");
}

TEST_F(Transactions, WriteSkewIsAConflict) {
  ASSERT_OK(db_->Put({}, "alice", "on call"));
  ASSERT_OK(db_->Put({}, "bob", "on call"));
  auto alice = Begin(kOptimistic);
  auto bob = Begin(kOptimistic);
  EXPECT_EQ(Get(alice, "bob"), "on call");
  EXPECT_EQ(Get(bob, "alice"), "on call");
  ASSERT_OK(alice->Put("alice", "off"));
  ASSERT_OK(bob->Put("bob", "off"));
  ASSERT_OK(alice->Commit());
  EXPECT_THAT(bob->Commit(), StatusIs(Code::kConflict, HasSubstr("alice")));
}

TEST_F(Transactions, APhantomIsAConflict) {
  ASSERT_OK(db_->Put({}, "task:1", "done"));
  ASSERT_OK(db_->Put({}, "task:9", "done"));
  auto counter = Begin(kOptimistic);
  auto cursor = counter->OpenCursor();
  ASSERT_OK(cursor->SetRange("task:"));
  ASSERT_OK(cursor->Next());
  EXPECT_EQ(cursor->key(), "task:9");
  ASSERT_OK(counter->Put("count", "2"));
  ASSERT_OK(db_->Put({}, "task:5", "new"));
  EXPECT_THAT(counter->Commit(), StatusIs(Code::kConflict, HasSubstr("task:5")));
}

TEST_F(Transactions, APhantomBehindWhatACursorReadIsNone) {
  ASSERT_OK(db_->Put({}, "task:1", "done"));
  ASSERT_OK(db_->Put({}, "task:9", "done"));
  auto reader = Begin(kOptimistic);
  auto cursor = reader->OpenCursor();
  ASSERT_OK(cursor->SetRange("task:"));
  ASSERT_OK(reader->Put("first", "task:1"));
  ASSERT_OK(db_->Put({}, "task:5", "new"));
  ASSERT_OK(reader->Commit());
}

TEST_F(Transactions, ThatAKeyIsAbsentIsRead) {
  auto one = Begin(kOptimistic);
  auto two = Begin(kOptimistic);
  EXPECT_EQ(Get(one, "unique"), "NotFound");
  EXPECT_EQ(Get(two, "unique"), "NotFound");
  ASSERT_OK(one->Put("unique", "one"));
  ASSERT_OK(two->Put("unique", "two"));
  ASSERT_OK(one->Commit());
  EXPECT_THAT(two->Commit(), StatusIs(Code::kConflict));
  EXPECT_EQ(Get("unique"), "one");
}

TEST_F(Transactions, AKeyThatWasDeletedAndCompactedAwayIsAConflict) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  MergeAway();
  auto read = Begin(kOptimistic);
  auto absent = Begin(kOptimistic);
  EXPECT_EQ(Get(read, "a"), "1");
  EXPECT_EQ(Get(absent, "b"), "NotFound");
  ASSERT_OK(read->Put("x", "1"));
  ASSERT_OK(absent->Put("y", "1"));
  ASSERT_OK(db_->Delete({}, "a"));
  ASSERT_OK(db_->Put({}, "b", "there"));
  ASSERT_OK(db_->Delete({}, "b"));  // absent as at first, but written since
  MergeAway();
  sim_.executor.RunAll();
  EXPECT_THAT(read->Commit(), StatusIs(Code::kConflict, HasSubstr("\"a\"")));
  EXPECT_THAT(absent->Commit(), StatusIs(Code::kConflict, HasSubstr("\"b\"")));
}

TEST_F(Transactions, MergesAndRangeDeletesOfOthersAreConflicts) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  ASSERT_OK(db_->Put({}, "b", "1"));
  auto one = Begin(kOptimistic);
  auto two = Begin(kOptimistic);
  auto three = Begin(kOptimistic);
  EXPECT_EQ(Get(one, "a"), "1");
  EXPECT_EQ(Get(two, "b"), "1");
  auto cursor = three->OpenCursor();
  ASSERT_OK(cursor->Set("b"));
  ASSERT_OK(cursor->Prev());
  for (auto* each : {&one, &two, &three}) ASSERT_OK((*each)->Put("z", "1"));
  ASSERT_OK(db_->Merge({}, "a", merge::Append("+")));
  EXPECT_THAT(one->Commit(), StatusIs(Code::kConflict, HasSubstr("\"a\"")));
  ASSERT_OK(db_->DeleteRange({}, "aa", "c"));
  EXPECT_THAT(two->Commit(), StatusIs(Code::kConflict, HasSubstr("\"b\"")));
  EXPECT_THAT(three->Commit(), StatusIs(Code::kConflict));
}

TEST_F(Transactions, WritingWhatOthersWroteIsNoConflict) {
  auto one = Begin(kOptimistic);
  auto two = Begin(kOptimistic);
  ASSERT_OK(one->Put("a", "1"));
  ASSERT_OK(two->Put("a", "2"));
  ASSERT_OK(two->Merge("n", merge::AddU64(1)));
  ASSERT_OK(one->Merge("n", merge::AddU64(1)));
  EXPECT_EQ(Get(one, "a"), "1");  // its own value: it read nothing of other transactions
  ASSERT_OK(one->Commit());
  ASSERT_OK(two->Commit());
  EXPECT_EQ(Get("a"), "2");
  EXPECT_EQ(Get("n"), merge::FromU64(2));
}

TEST_F(Transactions, AMergeThatWasReadIsAReadOfWhatIsUnderIt) {
  auto one = Begin(kOptimistic);
  ASSERT_OK(one->Merge("n", merge::AddU64(1)));
  EXPECT_EQ(Get(one, "n"), merge::FromU64(1));
  ASSERT_OK(db_->Merge({}, "n", merge::AddU64(1)));
  EXPECT_THAT(one->Commit(), StatusIs(Code::kConflict));
}

TEST_F(Transactions, AnOptimisticOneWithoutWritesNeverConflicts) {
  ASSERT_OK(db_->Put({}, "a", "1"));
  auto reader = Begin(kOptimistic);
  EXPECT_EQ(Get(reader, "a"), "1");
  ASSERT_OK(db_->Put({}, "a", "2"));
  ASSERT_OK(reader->Commit());
}

TEST_F(Transactions, WhatASingleWriterCommitsIsAConflictToo) {
  auto reader = Begin(kOptimistic);
  EXPECT_EQ(Get(reader, "a"), "NotFound");
  ASSERT_OK(reader->Put("b", "1"));
  auto writer = Begin(kSingle);
  ASSERT_OK(writer->Put("a", "1"));
  ASSERT_OK(writer->Commit());
  EXPECT_THAT(reader->Commit(), StatusIs(Code::kConflict));
}

TEST_F(Transactions, BeyondTheWindowEveryReadIsAConflictWithoutAKey) {
  auto reader = Begin(kOptimistic);
  auto blind = Begin(kOptimistic);
  EXPECT_EQ(Get(reader, "a"), "NotFound");
  ASSERT_OK(reader->Put("b", "1"));
  ASSERT_OK(blind->Put("c", "1"));
  for (int i = 0; i < 2000; ++i) ASSERT_OK(db_->Put({}, "other" + std::to_string(i), "value"));
  EXPECT_THAT(reader->Commit(), StatusIs(Code::kConflict, HasSubstr("begin a new transaction")));
  EXPECT_FALSE(reader->conflict().has_value());
  ASSERT_OK(blind->Commit());
  auto again = Begin(kOptimistic);
  EXPECT_EQ(Get(again, "a"), "NotFound");
  ASSERT_OK(again->Put("b", "1"));
  ASSERT_OK(again->Commit());
}

TEST_F(Transactions, ReadsCountAgainstTheBytesToo) {
  auto reader = Begin({.kind = TransactionKind::kOptimistic, .bytes_max = 10'000});
  int read = 0;
  while (read < 1000 && Get(reader, "key" + std::to_string(read)) == "NotFound") ++read;
  EXPECT_GT(read, 50);
  EXPECT_LT(read, 200);
  EXPECT_EQ(Get(reader, "another"), "NoSpace");
  ASSERT_OK(reader->Commit());
}

// ---- open transactions ------------------------------------------------------------------------------------

TEST_F(Transactions, ThePropertyNamesWhoHoldsWhat) {
  auto slow = Begin({.kind = TransactionKind::kOptimistic, .name = "nightly report"});
  auto writer = Begin({.kind = TransactionKind::kSingleWriter, .name = "import"});
  ASSERT_OK(writer->Put("a", "1"));
  sim_.clock.SleepNanos(3'000'000'000);
  std::string text;
  ASSERT_TRUE(db_->GetProperty("mergedb.transactions", &text));
  EXPECT_THAT(text, HasSubstr("optimistic \"nightly report\": 3"));
  EXPECT_THAT(text, HasSubstr("single-writer \"import\": 3"));
  EXPECT_THAT(text, HasSubstr("1 writes"));
  EXPECT_EQ(Counter(*db_, "transactions_open"), 2u);
  slow = nullptr;
  writer = nullptr;
  ASSERT_TRUE(db_->GetProperty("mergedb.transactions", &text));
  EXPECT_EQ(text, "");
}

// An hour of other writes beside an open transaction with a cursor in mid-scan: the space is bounded by one
// more version of each key.
TEST_F(Transactions, OneLeftOpenCostsAtMostAVersionOfEachKey) {
  const auto overwrite = [&] {
    for (int round = 0; round < 30; ++round) {
      for (int i = 0; i < 500; ++i)
        ASSERT_OK(db_->Put({}, "key" + std::to_string(i), std::string(200, static_cast<char>('a' + round % 26))));
      sim_.executor.RunAll();
    }
    ASSERT_OK(db_->Flush());
    sim_.executor.RunAll();
    MergeAway();
    sim_.executor.RunAll();
  };
  overwrite();
  const uint64_t alone = Counter(*db_, "table_bytes_on_disk");
  auto reader = Begin(kOptimistic);
  auto cursor = reader->OpenCursor();
  ASSERT_OK(cursor->First());
  ASSERT_OK(reader->Put("x", "1"));
  ASSERT_OK(cursor->Current());
  overwrite();
  EXPECT_LE(Counter(*db_, "table_bytes_on_disk"),
            4 * alone);  // two versions after compactions, and the cursor's tables
  EXPECT_EQ(transaction_test::Get(*reader, "key3"), std::string(200, 'd'));
  cursor = nullptr;
  reader = nullptr;
  overwrite();
  EXPECT_LE(Counter(*db_, "table_bytes_on_disk"), 2 * alone);
}

// The test drives the clock: an hour in steps of ten seconds, with writes in each.
TEST_F(Transactions, AWriterLeftOpenForAnHourAndAReaderKilledInMidScanAreNamedAndBounded) {
  int round = 0;
  const auto most_bytes_of_an_hour = [&] {
    uint64_t most = 0;
    for (int step = 0; step < 360; ++step, ++round) {
      for (int i = 0; i < 50; ++i) {
        EXPECT_OK(db_->Put({}, "key" + std::to_string((round * 50 + i) % 500),
                           std::string(1000, static_cast<char>('a' + round % 26))));
      }
      sim_.clock.SleepNanos(10'000'000'000);
      sim_.executor.RunTimers();
      sim_.executor.RunAll(1'000'000);
      most = std::max(most, FileBytes(*db_));
    }
    return most;
  };
  (void)most_bytes_of_an_hour();
  const uint64_t alone = most_bytes_of_an_hour();
  ASSERT_GT(alone, 500'000u) << "the keys are on disk";

  auto writer = Begin({.kind = TransactionKind::kOptimistic, .name = "import"});
  for (int i = 0; i < 100; ++i) ASSERT_OK(writer->Put("import" + std::to_string(i), std::string(100, 'i')));
  const std::string seen = Get(writer, "key7");
  const size_t writer_bytes = writer->bytes();
  auto reader = Begin({.kind = TransactionKind::kReadOnly, .name = "report"});
  auto cursor = reader->OpenCursor();
  ASSERT_OK(cursor->First());
  for (int i = 0; i < 10; ++i) ASSERT_OK(cursor->Next());
  const std::string stands_at(cursor->key());
  // One more version of each key, since both see the same; and the files that the cursor holds.
  EXPECT_LE(most_bytes_of_an_hour(), 3 * alone);
  EXPECT_EQ(writer->bytes(), writer_bytes);
  EXPECT_EQ(Get(writer, "key7"), seen);
  EXPECT_EQ(cursor->key(), stands_at);
  EXPECT_THAT(Property(*db_, "transactions"),
              ::testing::MatchesRegex("optimistic \"import\": 36[0-9]{5} ms old.*100 writes.*\n"
                                      "read-only \"report\": 36[0-9]{5} ms old.*\n"));

  reader = nullptr;  // leaves its cursor in mid-scan
  EXPECT_THAT(cursor->Next(), StatusIs(Code::kAborted));
  EXPECT_THAT(writer->Commit(), StatusIs(Code::kConflict));
  EXPECT_EQ(Property(*db_, "transactions"), "");
  (void)most_bytes_of_an_hour();
  EXPECT_LE(most_bytes_of_an_hour(), alone + alone / 4);
  EXPECT_EQ(Counter(*db_, "snapshots_open"), 0u);

  writer = Begin({.kind = TransactionKind::kSingleWriter, .name = "batch"});
  ASSERT_OK(writer->Put("a", "1"));
  sim_.clock.SleepNanos(3'600'000'000'000);
  EXPECT_THAT(db_->Put({}, "b", "1"), StatusIs(Code::kBusy)) << "this very thread's";
  EXPECT_THAT(Property(*db_, "transactions"), HasSubstr("single-writer \"batch\": 36"));
  EXPECT_OK(writer->Commit());
  EXPECT_OK(db_->Put({}, "b", "1"));
}

// ---- space and time after commits -------------------------------------------------------------------------

class InBatchesOfAThousand : public Transactions {
 protected:
  // `count` transactions; the n-th of their puts writes key_of(n). Then an idle minute.
  void Load(uint64_t count, const std::function<uint64_t(uint64_t)>& key_of) {
    for (uint64_t n = 0; n < count * 1000;) {
      auto writer = Begin(kSingle);
      for (int i = 0; i < 1000; ++i, ++n)
        ASSERT_OK(writer->Put(std::to_string(1'000'000 + key_of(n)), "sixteen bytes...."));
      ASSERT_OK(writer->Commit());
      sim_.executor.RunAll();
    }
    ASSERT_OK(db_->Flush());
    sim_.PassTime(60);
  }
};

TEST_F(InBatchesOfAThousand, AreCompactedIntoOneRunWhenIdle) {
  Load(30, [](uint64_t n) { return n * 7919 % 30'000; });
  EXPECT_GT(Counter(*db_, "compaction_bytes_written"), 0u);
  EXPECT_EQ(Counter(*db_, "runs"), 1u) << Property(*db_, "stats");
  EXPECT_EQ(Counter(*db_, "entries_in_tables"), 30'000u);
}

TEST_F(InBatchesOfAThousand, InOrderGoIntoTheLowestRunWithoutACompaction) {
  Load(30, [](uint64_t n) { return n; });
  EXPECT_EQ(Counter(*db_, "compaction_bytes_written"), 0u) << Property(*db_, "stats");
  EXPECT_EQ(Counter(*db_, "runs"), 1u) << Property(*db_, "stats");
  EXPECT_EQ(Counter(*db_, "entries_in_tables"), 30'000u);
}

}  // namespace
}  // namespace mergedb::testing::transaction_test
