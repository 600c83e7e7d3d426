// Goal: if a call of a transaction or a cursor cannot be done, its status names the mistake or the failure, and
// the transaction is unchanged.
// Method: calls that can never work; calls after the transaction ended, with a full transaction, and after
// another caller created the first keyspace; a damaged keyspace record, committed below the interface; and for
// every move of a cursor, a failure of each of its reads of a table.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db/access/keyspace_records.h"
#include "db/db_impl.h"
#include "format/batch.h"
#include "mergedb/comparator.h"
#include "mergedb/cursor.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/reverse_comparator.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "txn/transaction_impl.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;

class TransactionRefusals : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(db_, sim_.Open());
    ASSERT_OK(db_->Put({}, "b", "2"));
    ASSERT_OK(db_->Put({}, "d", "4"));
  }
  void Begin(TransactionKind kind = TransactionKind::kSingleWriter, size_t bytes_max = 1 << 20) {
    transaction_ = nullptr;
    ASSERT_OK_AND_ASSIGN(transaction_, Transaction::Begin(*db_, {.kind = kind, .bytes_max = bytes_max}));
  }
  void MakeKeyspace() { ASSERT_OK_AND_ASSIGN(keyspace_, db_->CreateKeyspace("made")); }
  db::TransactionAccess& host() { return dynamic_cast<db::DbImpl&>(*db_).transactions(); }
  // Writes a keyspace record that no call of the interface would write.
  void PutRecord(const std::string& name, const std::string& value) {
    const kv::KeyMap* const map = host().key_map();
    std::string batch;
    format::AppendRecord(&batch, kv::Kind::kPut, db::KeyspaceRecordTreeKey(*map, name), value);
    ASSERT_OK(host().Commit({.what = write::Batch{.bytes = batch, .records = 1}, .key_map = map}));
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
  Keyspace keyspace_;
  std::unique_ptr<Transaction> transaction_;
};

// ---- calls that can never work

// These views are longer than their strings. The calls check the size before they read any byte.
TEST_F(TransactionRefusals, KeysAndValuesBeyondTheLimits) {
  const std::string_view long_key("k", kKeyBytesMax + 1), long_value("v", kValueBytesMax + 1);
  Begin();
  char* place = nullptr;
  const Status key_refusals[] = {
      transaction_->Put(long_key, "v"), transaction_->Delete(long_key), transaction_->Merge(long_key, merge::AddU64(1)),
      transaction_->DeleteRange(long_key, "z"), transaction_->Reserve(Keyspace(), long_key, 1, &place)};
  for (const Status& status : key_refusals)
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, HasSubstr("key of 8388609 bytes")));
  const Status value_refusals[] = {transaction_->Put("k", long_value), transaction_->Merge("k", long_value),
                                   transaction_->Reserve(Keyspace(), "k", kValueBytesMax + 1, &place)};
  for (const Status& status : value_refusals)
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, HasSubstr("value of 1073741825 bytes")));
  EXPECT_EQ(place, nullptr);
  EXPECT_EQ(transaction_->writes(), 0u);
  EXPECT_OK(transaction_->Put("k", "v"));
  EXPECT_OK(transaction_->Commit());
}

TEST_F(TransactionRefusals, KeyspacesThatCannotBe) {
  MakeKeyspace();
  Begin();
  EXPECT_THAT(transaction_->CreateKeyspace("", {}), StatusIs(Code::kInvalidArgument, HasSubstr("of 0 bytes")));
  EXPECT_THAT(transaction_->CreateKeyspace("made", {}), StatusIs(Code::kInvalidArgument, HasSubstr("already")));
  EXPECT_THAT(transaction_->DropKeyspace(Keyspace(77)), StatusIs(Code::kInvalidArgument, HasSubstr("never created")));
  EXPECT_THAT(transaction_->ClearKeyspace(Keyspace(77)), StatusIs(Code::kInvalidArgument, HasSubstr("never created")));
  EXPECT_EQ(transaction_->writes(), 0u);
}

TEST_F(TransactionRefusals, AKeyspaceInADatabaseOfAnotherOrder) {
  static const ReverseComparator reverse;
  Options options = sim_.SmallOptions();
  options.comparator = &reverse;
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, "/reversed"));
  Begin();
  EXPECT_THAT(transaction_->CreateKeyspace("new", {}), StatusIs(Code::kNotSupported, HasSubstr("bytewise")));
  EXPECT_EQ(transaction_->writes(), 0u);
  EXPECT_OK(transaction_->Put("k", "v"));
  EXPECT_OK(transaction_->Commit());
}

// ---- calls after the end

TEST_F(TransactionRefusals, EveryCallAfterTheEnd) {
  MakeKeyspace();
  Begin();
  const auto cursor = transaction_->OpenCursor();
  transaction_->Rollback();
  const auto fresh = transaction_->OpenCursor();
  Transaction& t = *transaction_;
  std::string value;
  char* place = nullptr;
  const std::vector<std::pair<const char*, Status>> calls = {
      {"Get", t.Get("b", &value)},
      {"Put", t.Put("b", "x")},
      {"Delete", t.Delete("b")},
      {"DeleteRange", t.DeleteRange("a", "z")},
      {"Merge", t.Merge("b", merge::AddU64(1))},
      {"Reserve", t.Reserve(Keyspace(), "b", 1, &place)},
      {"CreateKeyspace", t.CreateKeyspace("new", {}).status()},
      {"OpenKeyspace", t.OpenKeyspace("made").status()},
      {"ListKeyspaces", t.ListKeyspaces().status()},
      {"DropKeyspace", t.DropKeyspace(keyspace_)},
      {"ClearKeyspace", t.ClearKeyspace(keyspace_)},
      {"SetSavepoint", t.SetSavepoint()},
      {"RollbackToSavepoint", t.RollbackToSavepoint()},
      {"ReleaseSavepoint", t.ReleaseSavepoint()},
      {"Commit", t.Commit()},
      {"First", cursor->First()},
      {"Last", cursor->Last()},
      {"Next", cursor->Next()},
      {"Prev", cursor->Prev()},
      {"Set", cursor->Set("b")},
      {"SetRange", cursor->SetRange("b")},
      {"SetForPrev", cursor->SetForPrev("b")},
      {"Current", cursor->Current()},
      {"cursor's Put", cursor->Put("x")},
      {"cursor's Delete", cursor->Delete()},
      {"First of a new one", fresh->First()},
  };
  for (const auto& [name, status] : calls)
    EXPECT_THAT(status, StatusIs(Code::kAborted, HasSubstr("has ended"))) << name;
  EXPECT_EQ(t.writes(), 0u);
}

// For interfaces that keep a reader and begin it again, as the LMDB interface does.
TEST_F(TransactionRefusals, AReaderOfWhatIsClosed) {
  ASSERT_OK_AND_ASSIGN(auto reader, txn::TransactionImpl::Begin(*db_, host(), {.kind = TransactionKind::kReadOnly}));
  std::string scratch;
  std::string_view value;
  EXPECT_OK(reader->GetView(Keyspace(), "b", &scratch, &value));
  EXPECT_EQ(value, "2");
  reader->Rollback();
  EXPECT_THAT(reader->GetView(Keyspace(), "b", &scratch, &value), StatusIs(Code::kAborted, HasSubstr("has ended")));
  ASSERT_OK(db_->Close());
  EXPECT_THAT(reader->BeginAgain(), StatusIs(Code::kShuttingDown));
  EXPECT_FALSE(reader->is_open());
}

// ---- calls beyond bytes_max

TEST_F(TransactionRefusals, WritesBeyondItsBytes) {
  Begin(TransactionKind::kSingleWriter, 200);
  char* place = nullptr;
  EXPECT_THAT(transaction_->Reserve(Keyspace(), "k", 1000, &place),
              StatusIs(Code::kNoSpace, HasSubstr("bytes_max of 200")));
  EXPECT_EQ(place, nullptr);
  EXPECT_THAT(transaction_->Put("k", std::string(1000, 'v')), StatusIs(Code::kNoSpace, HasSubstr("bytes_max of 200")));
  EXPECT_EQ(transaction_->writes(), 0u);
  EXPECT_OK(transaction_->Put("k", "v"));
  EXPECT_OK(transaction_->Commit());
}

TEST_F(TransactionRefusals, ChangesOfKeyspacesBeyondItsBytes) {
  MakeKeyspace();
  Begin(TransactionKind::kSingleWriter, 10);
  EXPECT_THAT(transaction_->CreateKeyspace("another").status(), StatusIs(Code::kNoSpace, HasSubstr("bytes_max of 10")));
  EXPECT_THAT(transaction_->DropKeyspace(keyspace_), StatusIs(Code::kNoSpace));
  EXPECT_THAT(transaction_->ClearKeyspace(keyspace_), StatusIs(Code::kNoSpace));
  EXPECT_THAT(transaction_->DeleteRange(keyspace_, "a", "b"), StatusIs(Code::kNoSpace));
  EXPECT_EQ(transaction_->writes(), 0u);
  EXPECT_OK(transaction_->Commit());
  EXPECT_OK(db_->OpenKeyspace("made").status());
}

// A read must be recorded in the read set. If it does not fit, the commit could not check it.
TEST_F(TransactionRefusals, ReadsThatAnOptimisticOneCannotRemember) {
  MakeKeyspace();
  Begin(TransactionKind::kOptimistic, 90);
  const auto cursor = transaction_->OpenCursor();
  std::string value;
  const std::vector<std::pair<const char*, std::function<Status()>>> reads = {
      {"Get", [&] { return transaction_->Get("b", &value); }},
      {"OpenKeyspace", [&] { return transaction_->OpenKeyspace("made").status(); }},
      {"ListKeyspaces", [&] { return transaction_->ListKeyspaces().status(); }},
      {"DropKeyspace", [&] { return transaction_->DropKeyspace(keyspace_); }},
      {"First", [&] { return cursor->First(); }},
      {"Last", [&] { return cursor->Last(); }},
      {"Set, before another", [&] { return cursor->Set("c"); }},
      {"SetRange", [&] { return cursor->SetRange("c"); }},
      {"SetRange, behind all", [&] { return cursor->SetRange("z"); }},
      {"SetForPrev", [&] { return cursor->SetForPrev("c"); }},
      {"SetForPrev, before all", [&] { return cursor->SetForPrev("a"); }},
  };
  for (const auto& [name, read] : reads) {
    EXPECT_THAT(read(), StatusIs(Code::kNoSpace, HasSubstr("bytes_max of 90"))) << name;
    EXPECT_FALSE(cursor->Valid()) << name;
  }
  EXPECT_THAT(cursor->Set("b"), StatusIs(Code::kNoSpace, HasSubstr("bytes_max of 90")));
  EXPECT_EQ(transaction_->bytes(), 0u);
}

// ---- the first keyspace is created meanwhile

// Symptom: the cursor stood at a key that the read set did not contain, and its value could be read.
TEST_F(TransactionRefusals, ASetThatCannotBeRememberedLeavesTheCursorFresh) {
  Begin(TransactionKind::kOptimistic, 90);
  const auto cursor = transaction_->OpenCursor();
  EXPECT_THAT(cursor->Set("b"), StatusIs(Code::kNoSpace));
  EXPECT_FALSE(cursor->Valid());
}

TEST_F(TransactionRefusals, WhatComesAfterAReadWhenTheFirstKeyspaceWasMadeMeanwhile) {
  const auto other_map =
      StatusIs(Code::kConflict, HasSubstr("first keyspace was created after this transaction began"));
  std::string value;
  Begin(TransactionKind::kOptimistic);
  ASSERT_OK(transaction_->Get("b", &value));
  MakeKeyspace();
  EXPECT_THAT(transaction_->Get("d", &value), other_map);
  EXPECT_THAT(transaction_->OpenCursor()->First(), other_map);
  EXPECT_THAT(transaction_->ListKeyspaces(), other_map);
  EXPECT_THAT(transaction_->Put("d", "x"), other_map);
  EXPECT_THAT(transaction_->DeleteRange("a", "z"), other_map);
  EXPECT_THAT(transaction_->SetSavepoint(), other_map);
  EXPECT_EQ(transaction_->writes(), 0u);
  EXPECT_OK(transaction_->Commit()) << "it wrote nothing";
  Begin(TransactionKind::kOptimistic);
  EXPECT_OK(transaction_->Get("d", &value));
  EXPECT_EQ(value, "4");
}

TEST_F(TransactionRefusals, NothingWhenItHadReadAndWrittenNothingUntilThen) {
  Begin(TransactionKind::kOptimistic);
  MakeKeyspace();
  std::string value;
  EXPECT_OK(transaction_->Get("b", &value));
  EXPECT_OK(transaction_->Put("b", "x"));
  EXPECT_OK(transaction_->Commit());
}

// ---- damaged keyspace records

TEST_F(TransactionRefusals, InvalidKeyspaceRecords) {
  MakeKeyspace();
  PutRecord("zero", std::string(1, '\0'));
  Begin();
  const auto is_bad = StatusIs(Code::kCorruption, HasSubstr("keyspace records: a record: expected an id from 1"));
  EXPECT_THAT(transaction_->OpenKeyspace("zero"), is_bad);
  EXPECT_THAT(transaction_->ListKeyspaces(), is_bad);
  EXPECT_THAT(transaction_->OpenKeyspace("made"), IsOkAndHolds(keyspace_)) << "others are fine";
  EXPECT_OK(transaction_->DropKeyspace(keyspace_));
}

TEST_F(TransactionRefusals, ARecordWithAnIdThatWasNeverGivenOut) {
  MakeKeyspace();
  PutRecord("lost", "\x7f");
  Begin();
  EXPECT_THAT(transaction_->OpenKeyspace("lost"),
              StatusIs(Code::kInvalidArgument, HasSubstr("keyspace 127 was never created")));
}

// ---- reads that fail

// Two tables, so that a move finds nothing in one table before it reads the other.
class FailingReads : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(db_, sim_.Open());
    ASSERT_OK_AND_ASSIGN(keyspace_, db_->CreateKeyspace("made"));
    for (const char* key : {"b", "d"}) ASSERT_OK(db_->Put({}, key, "small"));
    ASSERT_OK(db_->Flush());
    for (const char* key : {"x", "y"}) ASSERT_OK(db_->Put({}, key, "small"));
    ASSERT_OK(db_->Flush());
    ASSERT_OK(db_->Close());
  }
  // Opens the database again, with an empty block cache.
  void Reopen(bool fills_cache) {
    cursor_ = nullptr;
    transaction_ = nullptr;
    db_ = nullptr;
    ASSERT_OK_AND_ASSIGN(db_, sim_.Open());
    ASSERT_OK_AND_ASSIGN(transaction_, Transaction::Begin(*db_, {.kind = TransactionKind::kOptimistic,
                                                                 .read = {.fill_cache = fills_cache}}));
    cursor_ = transaction_->OpenCursor();
  }
  // Lets the n-th read of a table fail, for n = 1, 2, ... until `read` does fewer reads. Without a failure, and
  // when repeated after one, `read` returns `expected`.
  void FailEach(const char* name, Code expected, const std::function<Status()>& read) {
    SCOPED_TRACE(name);
    for (const bool fills_cache : {true, false}) FailEach(fills_cache, expected, read);
  }
  void FailEach(bool fills_cache, Code expected, const std::function<Status()>& read) {
    for (uint64_t nth = 1;; ++nth) {
      ASSERT_LT(nth, 50u);
      ASSERT_NO_FATAL_FAILURE(Reopen(fills_cache));
      const uint64_t hit_before = sim_.files->faults_hit();
      sim_.files->AddFault({.op = FileOp::kRead, .path_contains = ".tbl", .nth = nth});
      const Status status = read();
      sim_.files->ClearFaults();
      if (sim_.files->faults_hit() == hit_before) {
        EXPECT_EQ(status.code(), expected) << status.ToString();
        EXPECT_GT(nth, 1u) << "it reads no table";
        return;
      }
      EXPECT_THAT(status, StatusIs(Code::kIOError, HasSubstr("injected"))) << "read " << nth;
      EXPECT_FALSE(cursor_->Valid());
      EXPECT_EQ(read().code(), expected) << "once more, read " << nth;
    }
  }

  // Without mappings each access to a table is a call of the file system.
  SimulatedEnv sim_{{}, std::make_unique<FaultFileSystem>(FaultFileSystem::Options{.allow_mapping = false})};
  std::unique_ptr<DB> db_;
  Keyspace keyspace_;
  std::unique_ptr<Transaction> transaction_;
  std::unique_ptr<Cursor> cursor_;
};

TEST_F(FailingReads, AreErrorsOfEveryMoveAndPassForTheSameCursor) {
  FailEach("First", Code::kOk, [&] { return cursor_->First(); });
  FailEach("Last", Code::kOk, [&] { return cursor_->Last(); });
  FailEach("Next", Code::kOk, [&] { return cursor_->Next(); });
  FailEach("Prev", Code::kOk, [&] { return cursor_->Prev(); });
  FailEach("Set", Code::kOk, [&] { return cursor_->Set("d"); });
  FailEach("Set, before another", Code::kNotFound, [&] { return cursor_->Set("c"); });
  FailEach("SetRange", Code::kOk, [&] { return cursor_->SetRange("c"); });
  FailEach("SetForPrev", Code::kOk, [&] { return cursor_->SetForPrev("c"); });
  FailEach("SetForPrev, before all", Code::kNotFound, [&] { return cursor_->SetForPrev("a"); });
}

TEST_F(FailingReads, AreErrorsOfTheKeyspaceRecords) {
  FailEach("OpenKeyspace", Code::kOk, [&] { return transaction_->OpenKeyspace("made").status(); });
  FailEach("ListKeyspaces", Code::kOk, [&] { return transaction_->ListKeyspaces().status(); });
  FailEach("DropKeyspace", Code::kOk, [&] {
    const Status status = transaction_->DropKeyspace(keyspace_);
    EXPECT_EQ(transaction_->writes(), status.ok() ? 2u : 0u);
    return status;
  });
}

// Symptom: the iterator kept its error. Cause: it returned the old status of the table that failed, and did not
// open the table again.
TEST_F(FailingReads, PassWithTheFailureForTheSameIterator) {
  ASSERT_NO_FATAL_FAILURE(Reopen(true));
  const auto it = db_->NewIterator();
  sim_.files->AddFault({.op = FileOp::kRead, .path_contains = ".tbl", .nth = 1});
  it->SeekToFirst();
  EXPECT_THAT(it->status(), StatusIs(Code::kIOError));
  sim_.files->ClearFaults();
  it->SeekToFirst();
  EXPECT_OK(it->status());
  EXPECT_TRUE(it->Valid());
}

}  // namespace
}  // namespace mergedb::testing
