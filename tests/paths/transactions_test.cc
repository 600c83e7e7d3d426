// Goal: all short histories of transactions, savepoints, keyspaces, cursors, snapshots and flushes give the answers of
// the model in transactions_model.h. Method: testing/paths.h, a family of calls at a time; each path has a database of
// its own, in memory. All calls are of one thread, so a write that would wait for a single writer returns Busy. To
// replay a finding, set MERGEDB_PATH and name the test by --gtest_filter.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/contents.h"
#include "testing/paths.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "tests/paths/transactions_model.h"

namespace mergedb::testing::transactions_test {
namespace {

std::string Show(const Status& status) { return std::string(CodeName(status.code())); }

// A database and its transactions. Answers are those of the model, or other texts.
class Subject {
 public:
  explicit Subject(const Family& family) {
    (void)Reopen();
    for (const Call& call : family.setup) (void)Do(call);
  }

  std::string Do(const Call& call) {
    if (IsOfCursor(call.op)) return DoCursor(call);
    if (call.op >= Op::kBegin && call.op <= Op::kRelease) return DoTransaction(call);
    if (call.op >= Op::kTakeSnapshot) return DoDatabase(call);
    return call.who == kOutside ? DoOutside(call) : DoInside(call);
  }

 private:
  struct Slot {
    std::unique_ptr<Transaction> transaction;
    std::unique_ptr<Cursor> cursor;  // opened by its first call
  };

  Slot& SlotOf(const Call& call) { return slots_[static_cast<size_t>(call.who)]; }
  Keyspace KeyspaceOf(const Call& call) const {
    return call.keyspace == 0 ? Keyspace() : keyspaces_.at(static_cast<size_t>(call.keyspace) - 1);
  }
  std::string NumberOf(Keyspace keyspace) const {
    const auto found = std::ranges::find(keyspaces_, keyspace);
    return found == keyspaces_.end() ? "unknown" : std::to_string(found - keyspaces_.begin() + 1);
  }

  std::string Text(Keyspace keyspace, const Snapshot* snapshot = nullptr) {
    return Contents(*db_, {.read = {.snapshot = snapshot}, .keyspace = keyspace});
  }
  std::string NamesOf(const Result<std::vector<KeyspaceEntry>>& entries) const {
    if (!entries) return Show(entries.error());
    std::string text;
    for (const auto& [name, keyspace] : *entries) text += name + "=" + NumberOf(keyspace) + " ";
    return text;
  }
  std::string Text() {
    const auto entries = db_->ListKeyspaces();
    if (!entries) return Show(entries.error());
    std::string text = Text(Keyspace());
    for (const auto& [name, keyspace] : *entries) text += "[" + name + ": " + Text(keyspace) + "]";
    return text;
  }
  std::string AfterWrite(const Status& status) { return status.ok() ? "OK " + Text() : Show(status); }

  std::string NoteCreated(const Result<Keyspace>& created) {
    if (!created) return Show(created.error());
    if (NumberOf(*created) != "unknown") return "an id that was used before";
    keyspaces_.push_back(*created);
    return "OK";
  }

  std::string DoOutside(const Call& call) {
    const Keyspace keyspace = KeyspaceOf(call);
    const std::string key(1, call.key), value(1, call.value);
    std::string found;
    switch (call.op) {
      case Op::kGet: return testing::Show(db_->Get({}, keyspace, key, &found), found);
      case Op::kPut: return AfterWrite(db_->Put({}, keyspace, key, value));
      case Op::kDelete: return AfterWrite(db_->Delete({}, keyspace, key));
      case Op::kMerge: return AfterWrite(db_->Merge({}, keyspace, key, merge::Append(value)));
      case Op::kDeleteRange: return AfterWrite(db_->DeleteRange({}, keyspace, key, std::string(1, call.end)));
      case Op::kScan: return Text(keyspace);
      case Op::kList: return NamesOf(db_->ListKeyspaces());
      case Op::kDrop: return AfterWrite(db_->DropKeyspace({}, keyspace));
      case Op::kClear: return AfterWrite(db_->ClearKeyspace({}, keyspace));
      default: break;
    }
    if (call.op == Op::kCreate) {
      const std::string answer = NoteCreated(db_->CreateKeyspace(value));
      return answer == "OK" ? "OK " + Text() : answer;
    }
    const auto opened = db_->OpenKeyspace(value);
    return opened ? NumberOf(*opened) : Show(opened.error());
  }

  std::string DoInside(const Call& call) {
    Transaction& transaction = *SlotOf(call).transaction;
    const Keyspace keyspace = KeyspaceOf(call);
    const std::string key(1, call.key), value(1, call.value);
    std::string found;
    switch (call.op) {
      case Op::kGet: return testing::Show(transaction.Get(keyspace, key, &found), found);
      case Op::kPut: return Show(transaction.Put(keyspace, key, value));
      case Op::kDelete: return Show(transaction.Delete(keyspace, key));
      case Op::kMerge: return Show(transaction.Merge(keyspace, key, merge::Append(value)));
      case Op::kDeleteRange: return Show(transaction.DeleteRange(keyspace, key, std::string(1, call.end)));
      case Op::kScan: return Scan(transaction, keyspace);
      case Op::kList: return NamesOf(transaction.ListKeyspaces());
      case Op::kDrop: return Show(transaction.DropKeyspace(keyspace));
      case Op::kClear: return Show(transaction.ClearKeyspace(keyspace));
      case Op::kCreate: return NoteCreated(transaction.CreateKeyspace(value));
      default: break;
    }
    const auto opened = transaction.OpenKeyspace(value);
    return opened ? NumberOf(*opened) : Show(opened.error());
  }

  static std::string Scan(Transaction& transaction, Keyspace keyspace) {
    const auto cursor = transaction.OpenCursor(keyspace);
    std::string text;
    Status status = cursor->First();
    for (; status.ok(); status = cursor->Next())
      text += std::string(cursor->key()) + "=" + std::string(cursor->value()) + " ";
    return status.IsNotFound() ? text : Show(status);
  }

  std::string DoTransaction(const Call& call) {
    Slot& slot = SlotOf(call);
    if (call.op == Op::kBegin || call.op == Op::kBeginAtSnapshot) return Begin(call);
    switch (call.op) {
      case Op::kCommit: {
        const Status status = slot.transaction->Commit();
        return status.IsAborted() ? Show(status) : Show(status) + " " + Text();
      }
      case Op::kRollback: slot.transaction->Rollback(); return "OK " + Text();
      case Op::kSavepoint: return Counted(slot, slot.transaction->SetSavepoint());
      case Op::kRollbackTo: return Counted(slot, slot.transaction->RollbackToSavepoint());
      default: return Counted(slot, slot.transaction->ReleaseSavepoint());
    }
  }
  std::string Begin(const Call& call) {
    TransactionOptions options{.wait_us_max = 0};
    options.kind = call.kind == Kind::kSingleWriter ? TransactionKind::kSingleWriter
                   : call.kind == Kind::kOptimistic ? TransactionKind::kOptimistic
                                                    : TransactionKind::kReadOnly;
    if (call.op == Op::kBeginAtSnapshot) options.snapshot = snapshot_;
    auto begun = Transaction::Begin(*db_, options);
    if (!begun) return Show(begun.error());
    SlotOf(call).cursor = nullptr;
    SlotOf(call).transaction = std::move(*begun);
    return "OK";
  }
  static std::string Counted(const Slot& slot, const Status& status) {
    if (status.IsAborted()) return Show(status);
    return Show(status) + " savepoints=" + std::to_string(slot.transaction->savepoints()) +
           " writes=" + std::to_string(slot.transaction->writes());
  }

  std::string DoDatabase(const Call& call) {
    std::string found;
    switch (call.op) {
      case Op::kTakeSnapshot: snapshot_ = db_->GetSnapshot(); return "OK";
      case Op::kReleaseSnapshot: snapshot_ = nullptr; return "OK";
      case Op::kGetAtSnapshot:
        return testing::Show(
            db_->Get({.snapshot = snapshot_.get()}, KeyspaceOf(call), std::string(1, call.key), &found), found);
      case Op::kScanAtSnapshot: return Text(KeyspaceOf(call), snapshot_.get());
      case Op::kReopen: return AfterWrite(Reopen());
      case Op::kFlush: return AfterWrite(db_->Flush());
      default: return AfterWrite(db_->CompactRange(nullptr, nullptr));
    }
  }

  Status Reopen() {
    slots_ = std::vector<Slot>(2);
    snapshot_ = nullptr;
    db_ = nullptr;
    Options options = sim_.SmallOptions();
    options.use_mapped_wal_buffer = false;  // an open takes half as long
    auto db = DB::Open(options, SimulatedEnv::kPath);
    if (!db) return db.error();
    db_ = std::move(*db);
    return {};
  }

  std::string DoCursor(const Call& call) {
    Slot& slot = SlotOf(call);
    if (slot.cursor == nullptr) slot.cursor = slot.transaction->OpenCursor();
    const std::string answer = Show(Move(*slot.cursor, call));
    if (!slot.cursor->Valid()) return answer;
    return answer + " at " + std::string(slot.cursor->key()) + "=" + std::string(slot.cursor->value());
  }
  static Status Move(Cursor& cursor, const Call& call) {
    const std::string key(1, call.key);
    switch (call.op) {
      case Op::kFirst: return cursor.First();
      case Op::kLast: return cursor.Last();
      case Op::kNext: return cursor.Next();
      case Op::kPrev: return cursor.Prev();
      case Op::kSet: return cursor.Set(key);
      case Op::kSetRange: return cursor.SetRange(key);
      case Op::kSetForPrev: return cursor.SetForPrev(key);
      case Op::kCurrent: return cursor.Current();
      case Op::kCursorPut: return cursor.Put(std::string(1, call.value));
      default: return cursor.Delete();
    }
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::vector<Keyspace> keyspaces_;
  std::vector<Slot> slots_;
};

using Calls = std::vector<Call>;

Calls operator+(Calls calls, const Calls& more) {
  calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}
Call Begin(int who, Kind kind) { return {.op = Op::kBegin, .who = who, .kind = kind}; }
Call Put(char key, char value = '1', int keyspace = 0) {
  return {.op = Op::kPut, .keyspace = keyspace, .key = key, .value = value};
}
Call OnKey(Op op, char key, int keyspace = 0) { return {.op = op, .keyspace = keyspace, .key = key}; }
Call OnName(Op op, char name) { return {.op = op, .value = name}; }
Call OnKeyspace(Op op, int keyspace) { return {.op = op, .keyspace = keyspace}; }
Calls By(int who, Calls calls) {
  for (Call& call : calls) call.who = who;
  return calls;
}
Calls ByEach(const Calls& calls) { return By(0, calls) + By(1, calls); }

const Call kCommit{.op = Op::kCommit}, kRollback{.op = Op::kRollback}, kFlush{.op = Op::kFlush};
const Calls kSavepoints = {{.op = Op::kSavepoint}, {.op = Op::kRollbackTo}, {.op = Op::kRelease}};

struct Sizes {
  size_t calls_max = 4;        // of a path
  uint64_t paths_max = 2'000;  // of a length; if there are more, a random part runs
  uint64_t state_paths_max = 3'000;
};

// Runs all paths, or a part of those of each length, and then each call in each state.
void WalkFamily(const Family& family, const Sizes& sizes) {
  constexpr uint64_t kFullPaths = 50'000;
  const Model start(&family);
  const auto make = [&family] { return Subject(family); };
  const size_t calls_max = sizes.calls_max - (kInstrumentedFactor > 1 ? 1 : 0);  // to list the paths takes time, too
  const Walked paths =
      WalkPaths(start, {.calls_max = calls_max, .paths_max = Sized(sizes.paths_max, kFullPaths)}, make);
  ASSERT_EQ(paths.finding, "");
  const Walked states =
      WalkStates(start, {.calls_max = 12, .paths_max = Sized(sizes.state_paths_max, kFullPaths)}, make);
  ASSERT_EQ(states.finding, "");
  ::testing::Test::RecordProperty("paths", std::to_string(paths.paths + states.paths));
  ::testing::Test::RecordProperty("states", std::to_string(states.states));
}

// ---- Kinds ----------------------------------------------------------------------------------------------------------

TEST(TransactionPaths, TwoOfAnyKind) {
  const Family family{
      .setup = {Put('a')},
      .calls = ByEach({Begin(0, Kind::kSingleWriter), Begin(0, Kind::kOptimistic), Begin(0, Kind::kReadOnly),
                       OnKey(Op::kGet, 'a'), Put('a', '2'), Put('b'), kCommit, kRollback}) +
               Calls{Put('a', '3')}};
  WalkFamily(family, {.calls_max = 5});
}

TEST(TransactionPaths, WhatAnOptimisticOneReads) {
  const Family family{
      .setup = Calls{Put('a'), kFlush, Put('b')} + By(0, {Begin(0, Kind::kOptimistic)}),
      .calls = By(0, {OnKey(Op::kGet, 'a'),
                      Put('a', '2'),
                      OnKey(Op::kDelete, 'b'),
                      OnKey(Op::kMerge, 'a'),
                      OnKey(Op::kDeleteRange, 'a'),
                      {.op = Op::kScan},
                      kCommit}) +
               Calls{Put('b', '3'), OnKey(Op::kDelete, 'a'), OnKey(Op::kMerge, 'a'), OnKey(Op::kDeleteRange, 'b')}};
  WalkFamily(family, {.calls_max = 4, .paths_max = 12'000});
}

TEST(TransactionPaths, WhatTwoOptimisticOnesRead) {
  const Family family{
      .setup = Calls{Put('a'), kFlush, Put('b')} + ByEach({Begin(0, Kind::kOptimistic)}),
      .calls =
          By(0, {OnKey(Op::kGet, 'a'), Put('b', '2'), OnKey(Op::kMerge, 'a'), kCommit}) +
          By(1,
             {OnKey(Op::kGet, 'b'), OnKey(Op::kDelete, 'a'), {.op = Op::kScan}, Begin(1, Kind::kOptimistic), kCommit})};
  WalkFamily(family, {.calls_max = 5});
}

TEST(TransactionPaths, AnOptimisticOneBesideASingleWriter) {
  const Family family{.setup = Calls{Put('a')} + By(0, {Begin(0, Kind::kOptimistic)}),
                      .calls = By(0, {OnKey(Op::kGet, 'a'), Put('b', '2'), OnKey(Op::kMerge, 'a'), kCommit}) +
                               By(1, {Begin(1, Kind::kSingleWriter), OnKey(Op::kGet, 'b'), OnKey(Op::kDelete, 'a'),
                                      OnKey(Op::kMerge, 'a'), OnKey(Op::kDeleteRange, 'a'), kCommit, kRollback}) +
                               Calls{Put('a', '3'), kFlush}};
  WalkFamily(family, {.calls_max = 5});
}

TEST(TransactionPaths, AfterTheEnd) {
  const Calls calls = {OnKey(Op::kGet, 'a'),
                       Put('a'),
                       OnKey(Op::kDelete, 'a'),
                       OnKey(Op::kMerge, 'a'),
                       OnKey(Op::kDeleteRange, 'a'),
                       {.op = Op::kScan},
                       OnName(Op::kCreate, 'x'),
                       OnName(Op::kOpen, 'x'),
                       {.op = Op::kList},
                       OnKeyspace(Op::kDrop, 0),
                       OnKeyspace(Op::kClear, 0),
                       kCommit,
                       kRollback,
                       {.op = Op::kFirst},
                       {.op = Op::kCurrent},
                       {.op = Op::kCursorPut},
                       {.op = Op::kCursorDelete}};
  const Family family{
      .setup = {Put('a')},
      .calls = By(0, Calls{Begin(0, Kind::kSingleWriter), Begin(0, Kind::kOptimistic), Begin(0, Kind::kReadOnly)} +
                         kSavepoints + calls),
      .has_calls_after_end = true};
  WalkFamily(family, {.calls_max = 3});
}

// ---- Savepoints -----------------------------------------------------------------------------------------------------

class PathsOfAKind : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, PathsOfAKind, ::testing::Values(Kind::kSingleWriter, Kind::kOptimistic),
                         [](const auto& tested) {
                           return std::string(tested.param == Kind::kOptimistic ? "Optimistic" : "SingleWriter");
                         });

TEST_P(PathsOfAKind, Savepoints) {
  const Family family{.setup = Calls{Put('a'), kFlush} + By(0, {Begin(0, GetParam())}),
                      .calls = By(0, kSavepoints + Calls{OnKey(Op::kGet, 'a'), Put('a', '2'), OnKey(Op::kMerge, 'a'),
                                                         OnKey(Op::kDeleteRange, 'a'), kCommit}) +
                               Calls{OnKey(Op::kMerge, 'a')}};
  WalkFamily(family, {.calls_max = 6});
}

TEST_P(PathsOfAKind, SavepointsAndKeyspaces) {
  const Family family{.setup = Calls{OnName(Op::kCreate, 'x'), Put('a', '1', 1)} + By(0, {Begin(0, GetParam())}),
                      .calls = By(0, Calls{{.op = Op::kSavepoint},
                                           {.op = Op::kRollbackTo},
                                           Put('a', '2', 1),
                                           OnKeyspace(Op::kClear, 1),
                                           OnKeyspace(Op::kDrop, 1),
                                           OnName(Op::kCreate, 'x'),
                                           OnName(Op::kOpen, 'x'),
                                           Put('b', '1', 2),
                                           kCommit})};
  WalkFamily(family, {.calls_max = 6});
}

TEST(TransactionPaths, SavepointsAndDropsOfOthers) {
  const Family family{.setup = Calls{OnName(Op::kCreate, 'x'), Put('a', '1', 1)} + By(0, {Begin(0, Kind::kOptimistic)}),
                      .calls = By(0, {{.op = Op::kSavepoint},
                                      {.op = Op::kRollbackTo},
                                      Put('a', '2', 1),
                                      Put('a', '2'),
                                      OnKeyspace(Op::kClear, 1),
                                      kCommit}) +
                               Calls{OnKeyspace(Op::kDrop, 1)}};
  WalkFamily(family, {.calls_max = 6});
}

// ---- Cursors --------------------------------------------------------------------------------------------------------

TEST_P(PathsOfAKind, Cursor) {
  const Calls moves = {{.op = Op::kFirst},        {.op = Op::kLast},
                       {.op = Op::kNext},         {.op = Op::kPrev},
                       {.op = Op::kCurrent},      OnKey(Op::kSet, 'b'),
                       OnKey(Op::kSetRange, 'b'), OnKey(Op::kSetForPrev, 'b'),
                       OnKey(Op::kSetRange, 'c'), {.op = Op::kCursorPut, .value = '2'},
                       {.op = Op::kCursorDelete}};
  const Family family{.setup = Calls{Put('a'), kFlush, Put('c')} + By(0, {Begin(0, GetParam())}),
                      .calls = By(0, moves + Calls{Put('b'),
                                                   OnKey(Op::kDeleteRange, 'b'),
                                                   OnKey(Op::kDelete, 'c'),
                                                   {.op = Op::kSavepoint},
                                                   {.op = Op::kRollbackTo},
                                                   kCommit}) +
                               Calls{Put('b', '3'), OnKey(Op::kDelete, 'c')}};
  WalkFamily(family, {.calls_max = 4, .paths_max = 6'000});
}

TEST_P(PathsOfAKind, CursorAndSavepoints) {
  const Family family{.setup = Calls{Put('a'), kFlush, Put('b')} + By(0, {Begin(0, GetParam())}),
                      .calls = By(0, {{.op = Op::kFirst},
                                      {.op = Op::kNext},
                                      {.op = Op::kCurrent},
                                      {.op = Op::kSavepoint},
                                      {.op = Op::kRollbackTo},
                                      {.op = Op::kCursorDelete},
                                      Put('c'),
                                      OnKey(Op::kDeleteRange, 'a')})};
  WalkFamily(family, {.calls_max = 6, .paths_max = 6'000});
}

// ---- Keyspaces ------------------------------------------------------------------------------------------------------

TEST_P(PathsOfAKind, KeyspacesOfTwo) {
  const Family family{
      .setup = Calls{OnName(Op::kCreate, 'x'), Put('a', '1', 1)} + By(0, {Begin(0, Kind::kOptimistic)}),
      .calls =
          By(0, {Put('a', '2', 1),
                 OnKey(Op::kGet, 'a', 1),
                 OnName(Op::kCreate, 'x'),
                 OnName(Op::kCreate, 'y'),
                 OnName(Op::kOpen, 'y'),
                 OnKeyspace(Op::kDrop, 1),
                 OnKeyspace(Op::kDrop, 2),
                 OnKeyspace(Op::kClear, 1),
                 Put('b', '2', 2),
                 {.op = Op::kList},
                 kCommit}) +
          By(1, {Begin(1, GetParam()), OnName(Op::kCreate, 'y'), OnKeyspace(Op::kDrop, 1), OnKeyspace(Op::kClear, 1),
                 OnName(Op::kOpen, 'x'), Put('b', '3', 1), OnKey(Op::kGet, 'b', 2), kCommit, kRollback}) +
          Calls{OnName(Op::kCreate, 'x'), OnKeyspace(Op::kDrop, 1), OnKey(Op::kDeleteRange, 'a', 1), Put('b', '1', 2)}};
  WalkFamily(family, {.calls_max = 4});
}

// The database has had no keyspace.
TEST_P(PathsOfAKind, TheFirstKeyspace) {
  const Family family{.setup = {Put('a')},
                      .calls = By(0, {Begin(0, GetParam()),
                                      OnKey(Op::kGet, 'a'),
                                      Put('a', '2'),
                                      OnKey(Op::kDeleteRange, 'a'),
                                      OnName(Op::kCreate, 'x'),
                                      OnName(Op::kOpen, 'x'),
                                      Put('a', '2', 1),
                                      OnKeyspace(Op::kDrop, 1),
                                      {.op = Op::kSavepoint},
                                      {.op = Op::kRollbackTo},
                                      {.op = Op::kList},
                                      kCommit,
                                      kRollback}) +
                               By(1, {Begin(1, Kind::kOptimistic), OnKey(Op::kGet, 'a'), Put('b', '3'),
                                      OnName(Op::kCreate, 'x'), Put('b', '3', 1), kCommit}) +
                               Calls{OnName(Op::kCreate, 'x'), Put('a', '1', 1), Put('a', '4'), {.op = Op::kReopen}}};
  WalkFamily(family, {.calls_max = 5});
}

// ---- Snapshots ------------------------------------------------------------------------------------------------------

TEST(TransactionPaths, SnapshotsAndFlushes) {
  const Call begin_at_snapshot{.op = Op::kBeginAtSnapshot, .who = 1, .kind = Kind::kReadOnly};
  const Call refused{.op = Op::kBeginAtSnapshot, .who = 1, .kind = Kind::kOptimistic};
  const Family family{.setup = {OnName(Op::kCreate, 'x'), Put('a'), Put('a', '1', 1)},
                      .calls = Calls{Put('a', '2'),
                                     OnKey(Op::kMerge, 'a'),
                                     OnKey(Op::kDeleteRange, 'a'),
                                     OnKeyspace(Op::kDrop, 1),
                                     OnKeyspace(Op::kClear, 1),
                                     Put('b', '3', 1),
                                     {.op = Op::kTakeSnapshot},
                                     {.op = Op::kReleaseSnapshot},
                                     {.op = Op::kScanAtSnapshot},
                                     OnKey(Op::kGetAtSnapshot, 'a', 1),
                                     kFlush,
                                     {.op = Op::kCompact},
                                     {.op = Op::kReopen}} +
                               By(0, {Begin(0, Kind::kOptimistic), OnKey(Op::kMerge, 'a'), OnKey(Op::kGet, 'a'),
                                      OnKey(Op::kGet, 'a', 1), kCommit}) +
                               By(1, {begin_at_snapshot,
                                      refused,
                                      OnKey(Op::kGet, 'a'),
                                      OnKeyspace(Op::kScan, 1),
                                      {.op = Op::kList},
                                      Put('a'),
                                      kCommit})};
  WalkFamily(family, {.calls_max = 4});
}

}  // namespace
}  // namespace mergedb::testing::transactions_test
