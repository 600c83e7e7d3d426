// Cursors: LMDB's positions over a transaction's own writes and the tree, while keys are written and deleted.
// Method: examples over keys in a table, in the memtable and in the own writes; then random moves and writes,
// compared with a std::map that models positions.
#include "mergedb/cursor.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

class Cursors : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(db_, sim_.Open());
    ASSERT_OK(db_->Put({}, "b", "2"));
    ASSERT_OK(db_->Put({}, "f", "6"));
    Flush();
    ASSERT_OK(db_->Put({}, "d", "4"));
  }
  // b and f are in a table, d is in the memtable, h is an own write of the transaction.
  void Begin(TransactionKind kind = TransactionKind::kSingleWriter) {
    ASSERT_OK_AND_ASSIGN(transaction_, Transaction::Begin(*db_, {.kind = kind}));
    ASSERT_OK(transaction_->Put("h", "8"));
    cursor_ = transaction_->OpenCursor();
  }
  void Flush() { ASSERT_OK(db_->Flush()); }
  // For example "b=2", or the name of the error code.
  std::string At(Status status) { return At(*cursor_, std::move(status)); }
  static std::string At(Cursor& cursor, Status status) {
    if (!status.ok()) return std::string(CodeName(status.code()));
    return std::string(cursor.key()) + "=" + std::string(cursor.value());
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
  std::unique_ptr<Transaction> transaction_;
  std::unique_ptr<Cursor> cursor_;
};

TEST_F(Cursors, WalkBothWays) {
  Begin();
  EXPECT_EQ(At(cursor_->First()), "b=2");
  EXPECT_EQ(At(cursor_->Next()), "d=4");
  EXPECT_EQ(At(cursor_->Next()), "f=6");
  EXPECT_EQ(At(cursor_->Next()), "h=8");
  EXPECT_EQ(At(cursor_->Prev()), "f=6");
  EXPECT_EQ(At(cursor_->Last()), "h=8");
  EXPECT_EQ(At(cursor_->Prev()), "f=6");
}

TEST_F(Cursors, AFreshOneGoesToTheFirstOrTheLast) {
  Begin();
  EXPECT_EQ(At(cursor_->Current()), "InvalidArgument");
  EXPECT_EQ(At(cursor_->Delete()), "InvalidArgument");
  EXPECT_EQ(At(cursor_->Put("x")), "InvalidArgument");
  EXPECT_EQ(At(cursor_->Next()), "b=2");
  cursor_ = transaction_->OpenCursor();
  EXPECT_EQ(At(cursor_->Prev()), "h=8");
}

TEST_F(Cursors, StayWhereTheyAreAtEitherEnd) {
  Begin();
  EXPECT_EQ(At(cursor_->Last()), "h=8");
  EXPECT_EQ(At(cursor_->Next()), "NotFound");
  EXPECT_EQ(At(cursor_->Current()), "h=8");
  EXPECT_EQ(At(cursor_->Prev()), "f=6");
  EXPECT_EQ(At(cursor_->First()), "b=2");
  EXPECT_EQ(At(cursor_->Prev()), "NotFound");
  EXPECT_EQ(At(cursor_->Current()), "b=2");
  EXPECT_EQ(At(cursor_->Next()), "d=4");
}

TEST_F(Cursors, SetFindsTheKeyOrStandsBehindIt) {
  Begin();
  EXPECT_EQ(At(cursor_->Set("d")), "d=4");
  EXPECT_EQ(At(cursor_->Set("e")), "NotFound");
  EXPECT_EQ(At(cursor_->Current()), "f=6");
  EXPECT_EQ(At(cursor_->Set("z")), "NotFound");
  EXPECT_EQ(At(cursor_->Current()), "NotFound");
  EXPECT_EQ(At(cursor_->Next()), "NotFound");
  EXPECT_EQ(At(cursor_->Prev()), "h=8");
}

TEST_F(Cursors, SetRangeFindsTheFirstFromThereOn) {
  Begin();
  EXPECT_EQ(At(cursor_->SetRange("c")), "d=4");
  EXPECT_EQ(At(cursor_->SetRange("d")), "d=4");
  EXPECT_EQ(At(cursor_->SetRange("i")), "NotFound");
  EXPECT_EQ(At(cursor_->Current()), "NotFound");
  EXPECT_EQ(At(cursor_->Prev()), "h=8");
}

TEST_F(Cursors, SetForPrevFindsTheLastUpToThere) {
  Begin();
  EXPECT_EQ(At(cursor_->SetForPrev("e")), "d=4");
  EXPECT_EQ(At(cursor_->SetForPrev("d")), "d=4");
  EXPECT_EQ(At(cursor_->SetForPrev("z")), "h=8");
  EXPECT_EQ(At(cursor_->SetForPrev("a")), "NotFound");
  EXPECT_EQ(At(cursor_->Current()), "b=2");
}

TEST_F(Cursors, SkipNothingWhenTheyDeleteWhereTheyStand) {
  Begin();
  ASSERT_OK(cursor_->Set("d"));
  ASSERT_OK(cursor_->Delete());
  EXPECT_FALSE(cursor_->Valid());
  EXPECT_EQ(At(cursor_->Next()), "f=6");
  EXPECT_EQ(At(cursor_->Prev()), "b=2");
}

TEST_F(Cursors, GoToTheOneBeforeAfterADelete) {
  Begin();
  ASSERT_OK(cursor_->Set("d"));
  ASSERT_OK(cursor_->Delete());
  EXPECT_EQ(At(cursor_->Prev()), "b=2");
}

TEST_F(Cursors, FindWhatMovedIntoPlaceAfterADelete) {
  Begin();
  ASSERT_OK(cursor_->Set("d"));
  ASSERT_OK(cursor_->Delete());
  EXPECT_EQ(At(cursor_->Current()), "f=6");
  EXPECT_EQ(At(cursor_->Next()), "h=8");
}

TEST_F(Cursors, DeleteTheFollowingKeyBySecondDelete) {
  Begin();
  ASSERT_OK(cursor_->Set("d"));
  ASSERT_OK(cursor_->Delete());
  ASSERT_OK(cursor_->Delete());
  EXPECT_EQ(At(cursor_->Next()), "h=8");
  EXPECT_EQ(At(cursor_->First()), "b=2");
  EXPECT_EQ(At(cursor_->Next()), "h=8");
}

TEST_F(Cursors, FindNothingBehindADeletedLastKey) {
  Begin();
  ASSERT_OK(cursor_->Last());
  ASSERT_OK(cursor_->Delete());
  EXPECT_EQ(At(cursor_->Current()), "NotFound");
  EXPECT_EQ(At(cursor_->Next()), "NotFound");
  EXPECT_EQ(At(cursor_->Delete()), "NotFound");
  EXPECT_EQ(At(cursor_->Put("x")), "NotFound");
  EXPECT_EQ(At(cursor_->Prev()), "f=6");
}

TEST_F(Cursors, EmptyTheDatabaseByNextAndDelete) {
  Begin();
  int deleted = 0;
  for (Status status = cursor_->First(); status.ok(); status = cursor_->Next(), ++deleted) ASSERT_OK(cursor_->Delete());
  EXPECT_EQ(deleted, 4);
  EXPECT_EQ(At(cursor_->First()), "NotFound");
  ASSERT_OK(transaction_->Commit());
  auto it = db_->NewIterator();
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
}

TEST_F(Cursors, PutUnderThemselvesAndStay) {
  Begin();
  ASSERT_OK(cursor_->Set("d"));
  ASSERT_OK(cursor_->Put("four"));
  EXPECT_EQ(At(cursor_->Current()), "d=four");
  EXPECT_EQ(At(cursor_->Next()), "f=6");
}

TEST_F(Cursors, FollowWhatOthersOfTheTransactionDo) {
  Begin();
  auto other = transaction_->OpenCursor();
  ASSERT_OK(cursor_->Set("d"));
  ASSERT_OK(other->Set("d"));
  ASSERT_OK(other->Delete());
  EXPECT_EQ(At(cursor_->Next()), "f=6");
  ASSERT_OK(transaction_->Put("g", "7"));
  EXPECT_EQ(At(cursor_->Next()), "g=7");
  ASSERT_OK(transaction_->DeleteRange("g", "z"));
  EXPECT_EQ(At(cursor_->Current()), "NotFound");
  EXPECT_EQ(At(cursor_->Prev()), "f=6");
  EXPECT_EQ(At(*other, other->Current()), "f=6");
}

TEST_F(Cursors, StayAtTheirKeysThroughARollbackToASavepoint) {
  Begin();
  ASSERT_OK(transaction_->SetSavepoint());
  ASSERT_OK(transaction_->Put("c", "3"));
  ASSERT_OK(transaction_->DeleteRange("d", "e"));
  EXPECT_EQ(At(cursor_->Set("c")), "c=3");
  EXPECT_EQ(At(cursor_->Next()), "f=6");
  ASSERT_OK(cursor_->Prev());
  ASSERT_OK(transaction_->RollbackToSavepoint());
  EXPECT_EQ(At(cursor_->Next()), "d=4");  // c was rolled back; the cursor is at its gap
}

TEST_F(Cursors, ShowTheirOwnPutsAndMergesAtOnce) {
  Begin();
  ASSERT_OK(transaction_->Merge("d", merge::Append("!")));
  ASSERT_OK(transaction_->Merge("d", merge::Append("?")));
  ASSERT_OK(transaction_->Merge("e", merge::Append("new")));
  EXPECT_EQ(At(cursor_->Set("d")), "d=4!?");
  EXPECT_EQ(At(cursor_->Next()), "e=new");
  EXPECT_EQ(At(cursor_->Prev()), "d=4!?");
  EXPECT_EQ(At(cursor_->Prev()), "b=2");
}

TEST_F(Cursors, AreOfNoUseAfterTheirTransaction) {
  Begin();
  ASSERT_OK(cursor_->First());
  ASSERT_OK(transaction_->Commit());
  EXPECT_FALSE(cursor_->Valid());
  EXPECT_EQ(At(cursor_->Next()), "Aborted");
  transaction_ = nullptr;
  EXPECT_EQ(At(cursor_->Current()), "Aborted");
  EXPECT_EQ(At(cursor_->Put("x")), "Aborted");
}

TEST_F(Cursors, OfAReadOnlyTransactionRefuseToWrite) {
  ASSERT_OK_AND_ASSIGN(transaction_, Transaction::Begin(*db_, {.kind = TransactionKind::kReadOnly}));
  cursor_ = transaction_->OpenCursor();
  EXPECT_EQ(At(cursor_->First()), "b=2");
  EXPECT_EQ(At(cursor_->Put("x")), "NotSupported");
  EXPECT_EQ(At(cursor_->Delete()), "NotSupported");
  EXPECT_EQ(At(cursor_->Next()), "d=4");
}

TEST_F(Cursors, DoNotSeeWhatOthersCommitMeanwhile) {
  Begin(TransactionKind::kOptimistic);
  ASSERT_OK(db_->Put({}, "c", "later"));
  ASSERT_OK(db_->Delete({}, "d"));
  ASSERT_OK(db_->Put({}, "f", "later"));
  EXPECT_EQ(At(cursor_->First()), "b=2");
  EXPECT_EQ(At(cursor_->Next()), "d=4");
  EXPECT_EQ(At(cursor_->Next()), "f=6");
  EXPECT_EQ(At(cursor_->Next()), "h=8");
  EXPECT_EQ(At(cursor_->Prev()), "f=6");
  EXPECT_EQ(At(cursor_->Prev()), "d=4");
  Flush();
  auto other = transaction_->OpenCursor();
  EXPECT_EQ(At(*other, other->SetRange("c")), "d=4");
}

// The first keyspace of a database changes the mapping from keys to tree keys, also for cursors that are already
// open.
TEST_F(Cursors, DoNotShowTheRecordOfTheFirstKeyspaceThatIsCreatedUnderThem) {
  Begin();
  ASSERT_EQ(At(cursor_->First()), "b=2");
  ASSERT_OK_AND_ASSIGN(const Keyspace x, transaction_->CreateKeyspace("x"));
  ASSERT_OK(transaction_->Put(x, "c", "not the default one's"));
  std::string seen;
  for (Status status = cursor_->First(); status.ok(); status = cursor_->Next()) seen += At(*cursor_, status) + ' ';
  EXPECT_EQ(seen, "b=2 d=4 f=6 h=8 ");
  seen.clear();
  for (Status status = cursor_->Last(); status.ok(); status = cursor_->Prev()) seen += At(*cursor_, status) + ' ';
  EXPECT_EQ(seen, "h=8 f=6 d=4 b=2 ");
}

// ---- random moves, compared with a map

struct Reference {
  std::map<std::string, std::string> pairs;
  enum { kFresh, kAt, kGap, kEnd } state = kFresh;
  std::string key;

  using Place = std::map<std::string, std::string>::const_iterator;
  std::string Show(Place place) {
    if (place == pairs.end()) return "NotFound";
    state = kAt;
    key = place->first;
    return place->first + "=" + place->second;
  }
  bool IsThere() const { return pairs.contains(key); }
  std::string First() {
    if (pairs.empty()) state = kFresh;
    return Show(pairs.begin());
  }
  std::string Last() {
    if (pairs.empty()) state = kFresh;
    return Show(pairs.empty() ? pairs.end() : std::prev(pairs.end()));
  }
  std::string Next() {
    if (state == kFresh) return First();
    if (state == kEnd) return "NotFound";
    return Show(pairs.upper_bound(key));
  }
  std::string Prev() {
    if (state == kFresh || state == kEnd) return Last();
    auto place = pairs.lower_bound(key);
    return Show(place == pairs.begin() ? pairs.end() : std::prev(place));
  }
  std::string SetRange(const std::string& to) {
    auto place = pairs.lower_bound(to);
    if (place == pairs.end()) state = kEnd;
    return Show(place);
  }
  std::string Set(const std::string& to) {
    const std::string found = SetRange(to);
    return pairs.contains(to) ? found : "NotFound";
  }
  std::string SetForPrev(const std::string& to) {
    auto place = pairs.upper_bound(to);
    if (place != pairs.begin()) return Show(std::prev(place));
    First();
    return "NotFound";
  }
  std::string Current() {
    if (state == kFresh) return "InvalidArgument";
    if (state == kEnd) return "NotFound";
    return Show(pairs.lower_bound(key));
  }
};

class RandomMoves : public Cursors, public ::testing::WithParamInterface<TransactionKind> {};

TEST_P(RandomMoves, AgreeWithAMap) {
  const uint64_t seed = SeedOr(20261121);
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Random random(seed);
  const auto key = [&] { return std::string(1, static_cast<char>('a' + random.Uniform(20))); };
  std::map<std::string, std::string> committed = {{"b", "2"}, {"d", "4"}, {"f", "6"}};
  for (uint64_t round = 0; round < Sized(60, 2000); ++round) {
    ASSERT_OK_AND_ASSIGN(transaction_, Transaction::Begin(*db_, {.kind = GetParam()}));
    Reference model;
    model.pairs = committed;
    cursor_ = transaction_->OpenCursor();
    std::vector<std::map<std::string, std::string>> savepoints;
    for (int step = 0; step < 200; ++step) {
      SCOPED_TRACE("round " + std::to_string(round) + " step " + std::to_string(step));
      const std::string k = key();
      const std::string v = std::to_string(step);
      switch (random.Uniform(17)) {
        case 0: ASSERT_EQ(At(cursor_->First()), model.First()); break;
        case 1: ASSERT_EQ(At(cursor_->Last()), model.Last()); break;
        case 2:
        case 3:
        case 4: ASSERT_EQ(At(cursor_->Next()), model.Next()); break;
        case 5:
        case 6:
        case 7: ASSERT_EQ(At(cursor_->Prev()), model.Prev()); break;
        case 8: ASSERT_EQ(At(cursor_->Set(k)), model.Set(k)); break;
        case 9: ASSERT_EQ(At(cursor_->SetRange(k)), model.SetRange(k)); break;
        case 10: ASSERT_EQ(At(cursor_->SetForPrev(k)), model.SetForPrev(k)); break;
        case 11: ASSERT_EQ(At(cursor_->Current()), model.Current()); break;
        case 12: {
          const std::string before = model.Current();
          const Status status = cursor_->Delete();
          ASSERT_EQ(status.ok(), before.find('=') != std::string::npos) << status.ToString();
          if (status.ok()) model.pairs.erase(model.key);
          break;
        }
        case 13:
          ASSERT_OK(transaction_->Put(k, v));
          model.pairs[k] = v;
          break;
        case 14:
          ASSERT_OK(transaction_->Merge(k, merge::Append("+")));
          model.pairs[k] += "+";
          break;
        case 15: {
          const std::string end = std::max(k, key());
          ASSERT_OK(transaction_->DeleteRange(k, end));
          model.pairs.erase(model.pairs.lower_bound(k), model.pairs.lower_bound(end));
          break;
        }
        case 16:
          if (savepoints.empty() || random.Uniform(3) == 0) {
            ASSERT_OK(transaction_->SetSavepoint());
            savepoints.push_back(model.pairs);
          } else if (random.Uniform(3) == 0) {
            ASSERT_OK(transaction_->ReleaseSavepoint());
            savepoints.pop_back();
          } else {
            ASSERT_OK(transaction_->RollbackToSavepoint());
            model.pairs = savepoints.back();
            savepoints.pop_back();
          }
          break;
      }
      std::string value;
      const Status got = transaction_->Get(k, &value);
      ASSERT_EQ(got.ok() ? value : "-", model.pairs.contains(k) ? model.pairs[k] : "-") << k;
    }
    if (random.Uniform(3) == 0) {
      transaction_->Rollback();
    } else {
      ASSERT_OK(transaction_->Commit());
      committed = model.pairs;
    }
    if (random.Uniform(4) == 0) Flush();
    for (uint64_t steps = random.Uniform(50); steps > 0 && sim_.executor.RunOne();) --steps;
  }
}

// A write does not move the cursors of other keyspaces. It may move the bytes that they show: some values are
// large, so that this happens.
TEST_P(RandomMoves, InSeveralKeyspacesAgreeWithAMapEach) {
  const uint64_t seed = SeedOr(20261122);
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Random random(seed);
  const auto key = [&] { return std::string(1, static_cast<char>('a' + random.Uniform(20))); };
  constexpr size_t kKeyspaces = 3;
  std::vector<Keyspace> keyspaces = {Keyspace()};
  for (const char* name : {"x", "y"}) {
    ASSERT_OK_AND_ASSIGN(const Keyspace made, db_->CreateKeyspace(name));
    keyspaces.push_back(made);
  }
  using Pairs = std::map<std::string, std::string>;
  std::vector<Pairs> committed(kKeyspaces);
  committed[0] = {{"b", "2"}, {"d", "4"}, {"f", "6"}};
  for (uint64_t round = 0; round < Sized(60, 2000); ++round) {
    ASSERT_OK_AND_ASSIGN(transaction_, Transaction::Begin(*db_, {.kind = GetParam()}));
    std::vector<Reference> models(kKeyspaces);
    std::vector<std::unique_ptr<Cursor>> cursors;
    for (size_t i = 0; i < kKeyspaces; ++i) {
      models[i].pairs = committed[i];
      cursors.push_back(transaction_->OpenCursor(keyspaces[i]));
    }
    const auto pairs = [&] {
      std::vector<Pairs> all;
      for (const Reference& model : models) all.push_back(model.pairs);
      return all;
    };
    std::vector<std::vector<Pairs>> savepoints;
    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE("round " + std::to_string(round) + " step " + std::to_string(step));
      const size_t at = random.Uniform(kKeyspaces);
      Cursor& cursor = *cursors[at];
      Reference& model = models[at];
      const std::string k = key();
      switch (random.Uniform(14)) {
        case 0: ASSERT_EQ(At(cursor, cursor.First()), model.First()); break;
        case 1: ASSERT_EQ(At(cursor, cursor.Last()), model.Last()); break;
        case 2:
        case 3: ASSERT_EQ(At(cursor, cursor.Next()), model.Next()); break;
        case 4:
        case 5: ASSERT_EQ(At(cursor, cursor.Prev()), model.Prev()); break;
        case 6: ASSERT_EQ(At(cursor, cursor.SetRange(k)), model.SetRange(k)); break;
        case 7:
        case 8: ASSERT_EQ(At(cursor, cursor.Current()), model.Current()); break;
        case 9:
        case 10:
        case 11: {
          const std::string v = std::to_string(step) + std::string(random.Uniform(10) == 0 ? 3000 : 0, 'v');
          ASSERT_OK(transaction_->Put(keyspaces[at], k, v));
          model.pairs[k] = v;
          break;
        }
        case 12: {
          const std::string end = random.Uniform(3) == 0 ? std::max(k, key()) : k + '\0';
          ASSERT_OK(end.size() > 1 ? transaction_->Delete(keyspaces[at], k)
                                   : transaction_->DeleteRange(keyspaces[at], k, end));
          model.pairs.erase(model.pairs.lower_bound(k), model.pairs.lower_bound(end));
          break;
        }
        case 13:
          if (savepoints.empty() || random.Uniform(2) == 0) {
            ASSERT_OK(transaction_->SetSavepoint());
            savepoints.push_back(pairs());
          } else {
            ASSERT_OK(transaction_->RollbackToSavepoint());
            for (size_t i = 0; i < kKeyspaces; ++i) models[i].pairs = savepoints.back()[i];
            savepoints.pop_back();
          }
          break;
      }
    }
    if (random.Uniform(3) == 0) {
      transaction_->Rollback();
    } else {
      ASSERT_OK(transaction_->Commit());
      committed = pairs();
    }
    if (random.Uniform(4) == 0) Flush();
    for (uint64_t steps = random.Uniform(50); steps > 0 && sim_.executor.RunOne();) --steps;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomMoves,
                         ::testing::Values(TransactionKind::kSingleWriter, TransactionKind::kOptimistic));

}  // namespace
}  // namespace mergedb::testing
