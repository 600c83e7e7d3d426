// Goal: a trace of a database has what the program did, in order, whatever the way in; no error of the trace reaches a
// call. Method: files in memory; the records of the trace as lines; threads on real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "tests/unit/trace/traces.h"
#include "trace/reader.h"
#include "txn/transaction_impl.h"

namespace mergedb::testing::trace_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kPath[] = "/trace";

class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(db_, DB::Open(sim_.SmallOptions(), SimulatedEnv::kPath)); }
  trace::ReadTrace Read() { return trace::ReadAll(sim_.files.get(), kPath); }
  std::vector<std::string> EndAndRead() {
    EXPECT_OK(db_->EndTrace());
    const trace::ReadTrace read = Read();
    EXPECT_OK(read.status);
    return read.lines;
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
};

TEST_F(TraceTest, HasWritesAndGetsInOrder) {
  ASSERT_OK(db_->Put({}, "before", "v"));
  ASSERT_OK(db_->StartTrace(kPath));
  ASSERT_OK(db_->Put({}, "a", "value"));
  ASSERT_OK(db_->Delete({}, "b"));
  ASSERT_OK(db_->Merge({}, "sum", merge::AddU64(1)));
  ASSERT_OK(db_->DeleteRange({}, "c", "d"));
  ASSERT_OK(db_->DeletePrefix({}, "e"));
  WriteBatch batch;
  batch.Put("f", "value");
  batch.Delete("g");
  batch.DeleteRange("h", "i");
  ASSERT_OK(db_->Write({}, batch));
  ASSERT_OK(db_->Write({}, WriteBatch()));
  EXPECT_THAT(db_->Put({}, "", "empty key"), IsOk());
  EXPECT_FALSE(db_->DeleteRange({}, "z", "a").ok());
  std::string value;
  ASSERT_OK(db_->Get({}, "a", &value));
  EXPECT_TRUE(db_->Get({}, "b", &value).IsNotFound());
  std::vector<std::string> values;
  (void)db_->MultiGet({}, {"a", "b"}, &values);
  const std::string sum = "  merge sum [" + std::to_string(merge::AddU64(1).size()) + "]";
  EXPECT_THAT(EndAndRead(),
              ElementsAre("put a [5]", "delete b", sum.substr(2), "delete_range c to d", "delete_range e to f",
                          "batch x3", "  put f [5]", "  delete g", "  delete_range h to i", "put [9]",
                          "delete_range InvalidArgument z to a", "get a [5]", "get NotFound b", "multi_get x2",
                          "  get a [5]", "  get NotFound b"));
  ASSERT_OK(db_->Put({}, "after", "v"));
  EXPECT_EQ(Read().lines.size(), 16u);
}

TEST_F(TraceTest, HasIteratorsWithCountsOfSteps) {
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_OK(db_->Put({}, key, "v"));
  const auto older = db_->NewIterator();
  ASSERT_OK(db_->StartTrace(kPath));
  older->SeekToFirst();
  {
    const auto it = db_->NewIterator({.lower = "a", .upper = "d", .keys_only = true});
    it->Seek("a");
    it->Next();
    it->Next();
    it->Prev();
    EXPECT_EQ(it->key(), "b");
    EXPECT_EQ(it->value(), "");
    it->SeekForPrev("c");
    EXPECT_EQ(it->key(), "c");
    it->Next();
    EXPECT_FALSE(it->Valid());
    EXPECT_OK(it->status());
    EXPECT_FALSE(it->failed_key());
  }
  const auto other = db_->NewIterator({.prefix = "c"});
  other->SeekToFirst();
  other->SeekToLast();
  other->Next();
  ASSERT_OK(db_->EndTrace());
  EXPECT_EQ(older->key(), "a");
  ASSERT_OK(db_->StartTrace("/second"));
  other->SeekToFirst();
  EXPECT_EQ(other->key(), "c") << "it works after the trace";
  ASSERT_OK(db_->EndTrace());
  EXPECT_TRUE(trace::ReadAll(sim_.files.get(), "/second").lines.empty()) << "and is not in the next one";
  EXPECT_THAT(Read().lines,
              ElementsAre("iterator #1 a to d keys_only", "seek #1 a", "next #1 x2", "prev #1 x1", "seek_for_prev #1 c",
                          "next #1 x1", "release #1", "iterator #2 c to d", "seek_to_first #2", "seek_to_last #2"))
      << "the last step was not followed by anything before the end";
}

TEST_F(TraceTest, HasKeyspacesAndCommitsOfTransactions) {
  ASSERT_OK_AND_ASSIGN(const Keyspace users, db_->CreateKeyspace("users"));
  ASSERT_OK(db_->StartTrace(kPath, {.record_values = true}));
  ASSERT_OK(db_->Put({}, users, "a", "v"));
  std::string value;
  ASSERT_OK(db_->Get({}, users, "a", &value));
  WriteBatch batch;
  batch.Put(users, "b", "v");
  batch.Put("b", "w");
  ASSERT_OK(db_->Write({}, batch));
  ASSERT_OK_AND_ASSIGN(const auto transaction, Transaction::Begin(*db_, {}));
  ASSERT_OK(transaction->Put(users, "c", "v"));
  ASSERT_OK(transaction->Put("d", "w"));
  ASSERT_OK(transaction->DeleteRange(users, "e", "f"));
  ASSERT_OK(transaction->Commit());
  db_->NewIterator({.keyspace = users})->SeekToFirst();
  std::vector<std::string> lines = EndAndRead();
  const std::string in = " @" + std::to_string(users.id()) + " ";
  ASSERT_EQ(lines.size(), 12u);
  EXPECT_EQ(lines[0], "put" + in + "a [1]=v");
  EXPECT_EQ(lines[1], "get" + in + "a [1]");
  EXPECT_EQ(lines[3], "  put" + in + "b [1]=v");
  EXPECT_EQ(lines[4], "  put b [1]=w");
  EXPECT_EQ(lines[5], "batch in_transaction x3");
  std::vector<std::string> commit(lines.begin() + 6, lines.begin() + 9);
  EXPECT_THAT(commit, ::testing::UnorderedElementsAre("  put" + in + "c [1]=v", "  put d [1]=w",
                                                      "  delete_range" + in + "e to f"));
  EXPECT_EQ(lines[9], "iterator" + in + "#1");
}

TEST_F(TraceTest, HasGetsAndCursorsOfTransactions) {
  ASSERT_OK_AND_ASSIGN(const Keyspace users, db_->CreateKeyspace("users"));
  for (const char* key : {"a", "b", "c"}) ASSERT_OK(db_->Put({}, key, "v"));
  ASSERT_OK(db_->Put({}, users, "u", "value"));
  ASSERT_OK_AND_ASSIGN(const auto transaction, Transaction::Begin(*db_, {.kind = TransactionKind::kOptimistic}));
  std::string value;
  ASSERT_OK(transaction->Get("a", &value));
  ASSERT_OK(db_->StartTrace(kPath));
  ASSERT_OK(transaction->Get("a", &value));
  ASSERT_OK(transaction->Get(users, "u", &value));
  EXPECT_TRUE(transaction->Get("z", &value).IsNotFound());
  ASSERT_OK(transaction->Put("z", "own write"));
  ASSERT_OK(transaction->Get("z", &value));
  {
    const auto cursor = transaction->OpenCursor();
    ASSERT_OK(cursor->First());
    ASSERT_OK(cursor->Next());
    ASSERT_OK(cursor->Next());
    EXPECT_EQ(cursor->key(), "c");
    ASSERT_OK(cursor->Next());
    EXPECT_EQ(cursor->key(), "z");
    EXPECT_EQ(cursor->value(), "own write");
    ASSERT_OK(cursor->Prev());
    ASSERT_OK(cursor->SetRange("b"));
    ASSERT_OK(transaction->Delete("c"));
    ASSERT_OK(cursor->Next());
    EXPECT_EQ(cursor->key(), "z");
  }
  ASSERT_OK(transaction->OpenCursor(users)->Last());
  ASSERT_OK(db_->Put({}, "a", "a conflict"));
  EXPECT_TRUE(transaction->Commit().IsConflict());
  EXPECT_TRUE(transaction->Get("a", &value).IsAborted());
  {
    ASSERT_OK_AND_ASSIGN(const auto reads, Transaction::Begin(*db_, {.kind = TransactionKind::kReadOnly}));
    std::string_view shown;  // as the LMDB interface reads
    ASSERT_OK(static_cast<txn::TransactionImpl&>(*reads).GetView(Keyspace(), "a", &value, &shown));
    ASSERT_OK(reads->Commit());
  }
  const std::string in = " @" + std::to_string(users.id()) + " ";
  EXPECT_THAT(EndAndRead(),
              ElementsAre("get in_transaction a [1]", "get in_transaction" + in + "u [5]",
                          "get NotFound in_transaction z", "get in_transaction z [9]", "iterator in_transaction #1",
                          "seek_to_first #1", "next #1 x3", "prev #1 x1", "seek #1 b", "seek #1 b", "next #1 x1",
                          "release #1", "iterator in_transaction" + in + "#2", "seek_to_last #2", "release #2",
                          "put a [10]", "batch Conflict in_transaction x2", "  put z [9]", "  delete c",
                          "get Aborted in_transaction a", "get in_transaction a [10]"));
}

// A trace that runs does not change what a cursor shows.
TEST_F(TraceTest, ACursorShowsTheSameWithATrace) {
  ASSERT_OK_AND_ASSIGN(const Keyspace users, db_->CreateKeyspace("users"));
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(db_->Put({}, "k" + std::to_string(i), "v" + std::to_string(i)));
    ASSERT_OK(db_->Put({}, users, "k" + std::to_string(i), "u" + std::to_string(i)));
  }
  const auto run = [&](TransactionKind kind, Keyspace keyspace) {
    const auto begun = Transaction::Begin(*db_, {.kind = kind});
    Transaction* const transaction = begun->get();
    const auto cursor = transaction->OpenCursor(keyspace);
    base::Random random(7);
    std::vector<std::string> shown;
    for (int i = 0; i < 500; ++i) {
      const std::string key = "k" + std::to_string(random.Uniform(250));
      Status status;
      switch (random.Uniform(kind == TransactionKind::kReadOnly ? 9 : 12)) {
        case 0: status = cursor->First(); break;
        case 1: status = cursor->Last(); break;
        case 2: status = cursor->Set(key); break;
        case 3: status = cursor->SetRange(key); break;
        case 4: status = cursor->SetForPrev(key); break;
        case 5:
        case 6: status = cursor->Next(); break;
        case 7: status = cursor->Prev(); break;
        case 8: status = cursor->Current(); break;
        case 9: status = cursor->Delete(); break;
        case 10: status = cursor->Put("changed"); break;
        case 11: status = transaction->Put(keyspace, key, "new"); break;
      }
      shown.push_back(std::string(CodeName(status.code())) + " " +
                      (cursor->Valid() ? std::string(cursor->key()) + "=" + std::string(cursor->value()) : "-"));
    }
    return shown;
  };
  for (const auto kind : {TransactionKind::kReadOnly, TransactionKind::kOptimistic, TransactionKind::kSingleWriter}) {
    for (const Keyspace keyspace : {Keyspace(), users}) {
      const std::vector<std::string> expected = run(kind, keyspace);
      ASSERT_OK(db_->StartTrace("/trace" + std::to_string(static_cast<int>(kind)) + std::to_string(keyspace.id())));
      EXPECT_EQ(run(kind, keyspace), expected);
      ASSERT_OK(db_->EndTrace());
    }
  }
}

TEST_F(TraceTest, AKeyMayBeAViewOfWhatTheCallChanges) {
  const std::string key(100, 'k'), other(200, 'v');
  ASSERT_OK(db_->Put({}, key, other));
  ASSERT_OK(db_->Put({}, other, key));
  ASSERT_OK(db_->StartTrace(kPath));
  std::string value = key;
  ASSERT_OK(db_->Get({}, value, &value));
  EXPECT_EQ(value, other);
  ASSERT_OK_AND_ASSIGN(const auto transaction, Transaction::Begin(*db_, {}));
  ASSERT_OK(transaction->Get(value, &value));
  EXPECT_EQ(value, key);
  transaction->Rollback();
  {
    const auto it = db_->NewIterator();
    it->SeekToLast();
    it->Seek(it->value());
    EXPECT_EQ(it->key(), key);
    it->SeekForPrev(it->value());
    EXPECT_EQ(it->key(), other);
  }
  EXPECT_THAT(EndAndRead(),
              ElementsAre("get " + key + " [200]", "get in_transaction " + other + " [100]", "iterator #1",
                          "seek_to_last #1", "seek #1 " + key, "seek_for_prev #1 " + other, "release #1"));
}

TEST_F(TraceTest, AFullDiskEndsTheTraceAndNotThePuts) {
  ASSERT_OK(db_->StartTrace(kPath));
  sim_.files->AddFault(
      {.op = FileOp::kWrite, .path_contains = kPath, .sticky = true, .status = Status::NoSpace("the disk is full")});
  for (int i = 0; i < 20'000; ++i) ASSERT_OK(db_->Put({}, "key" + std::to_string(i % 100), "value"));
  EXPECT_GT(sim_.files->faults_hit(), 0u);
  TraceReport report;
  EXPECT_THAT(db_->EndTrace(&report), StatusIs(Code::kNoSpace, HasSubstr("full")));
  EXPECT_EQ(report.operations, 0u);
  ASSERT_OK(db_->Put({}, "after", "v"));
}

TEST_F(TraceTest, CloseEndsATrace) {
  ASSERT_OK(db_->StartTrace(kPath));
  ASSERT_OK(db_->Put({}, "a", "v"));
  auto it = db_->NewIterator();
  it->SeekToFirst();
  ASSERT_OK(db_->Close());
  EXPECT_TRUE(db_->Put({}, "b", "v").code() == Code::kShuttingDown);
  EXPECT_THAT(db_->StartTrace("/other"), StatusIs(Code::kShuttingDown));
  EXPECT_THAT(db_->EndTrace(), StatusIs(Code::kInvalidArgument, HasSubstr("no trace")));
  const trace::ReadTrace read = Read();
  ASSERT_OK(read.status);
  EXPECT_EQ(read.end->reason, trace::EndReason::kClosed);
  EXPECT_THAT(read.lines, ElementsAre("put a [1]", "iterator #1", "seek_to_first #1"));
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  db_ = nullptr;
  it = nullptr;  // after its database
}

TEST_F(TraceTest, AnErrorOfTheTraceDoesNotFailClose) {
  ASSERT_OK(db_->StartTrace(kPath));
  sim_.files->AddFault({.op = FileOp::kWrite, .path_contains = kPath, .sticky = true});
  ASSERT_OK(db_->Put({}, "a", "v"));
  EXPECT_OK(db_->Close());
}

TEST_F(TraceTest, RefusesASecondTraceAndAnExistingFile) {
  ASSERT_OK(db_->StartTrace(kPath));
  EXPECT_THAT(db_->StartTrace("/other"), StatusIs(Code::kBusy));
  ASSERT_OK(db_->EndTrace());
  EXPECT_FALSE(db_->StartTrace(kPath).ok());
  EXPECT_FALSE(db_->StartTrace("/no/such/directory").ok());
  EXPECT_THAT(db_->StartTrace("/third", {.sampling = 0}), StatusIs(Code::kInvalidArgument));
  ASSERT_OK(db_->StartTrace("/third"));
}

TEST_F(TraceTest, OfAReadOnlyDatabaseHasItsReads) {
  ASSERT_OK(db_->Put({}, "a", "v"));
  ASSERT_OK(db_->Close());
  Options options = sim_.SmallOptions();
  options.mode = OpenMode::kReadOnly;
  ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
  ASSERT_OK(db_->StartTrace(kPath));
  std::string value;
  ASSERT_OK(db_->Get({}, "a", &value));
  EXPECT_FALSE(db_->Put({}, "b", "v").ok());
  EXPECT_THAT(EndAndRead(), ElementsAre("get a [1]", "put NotSupported b [1]"));
}

// Traces begin and end while threads work. Each thread's operations are in each trace in their order, without a hole.
TEST(TraceThreads, EachTraceHasAStretchOfEachThread) {
  constexpr int kThreads = 3, kTraces = 5, kPutsOfTrace = 2'000;
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, directory.path() + "/db"));
  std::atomic<int> puts{0};
  std::atomic<bool> is_stopped{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::string value;
      for (int i = 0; !is_stopped; ++i) {
        const std::string key = std::to_string(t) + ":" + std::to_string(i);
        EXPECT_OK(db->Put({}, key, "value"));
        EXPECT_OK(i % 3 == 0 ? db->Get({}, key, &value) : Status());
        if (i % 50 == 0) db->NewIterator()->Seek(key);
        ++puts;
      }
    });
  }
  std::vector<TraceReport> reports(kTraces);
  for (int i = 0; i < kTraces; ++i) {
    EXPECT_OK(db->StartTrace(directory.path() + "/" + std::to_string(i)));
    const int goal = puts + kPutsOfTrace;
    while (puts < goal) std::this_thread::yield();
    EXPECT_OK(db->EndTrace(&reports[static_cast<size_t>(i)]));
  }
  is_stopped = true;
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kTraces; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         trace::Reader::Open(DefaultEnv().file_system, directory.path() + "/" + std::to_string(i)));
    std::map<std::string, int> next;        // by the thread's number in its keys
    std::map<uint32_t, std::string> names;  // by the thread's number in the trace
    uint64_t operations = 0;
    for (trace::Operation op; reader->Next(&op); ++operations) {
      if (op.kind != trace::OpKind::kPut) continue;
      const size_t colon = op.key.find(':');
      const std::string name(op.key.substr(0, colon));
      const int number = std::stoi(std::string(op.key.substr(colon + 1)));
      EXPECT_EQ(names.emplace(op.thread, name).first->second, name);
      EXPECT_EQ(next.emplace(name, number).first->second, number);
      next[name] = number + 1;
    }
    ASSERT_OK(reader->status());
    EXPECT_EQ(operations, reports[static_cast<size_t>(i)].operations);
    EXPECT_EQ(reports[static_cast<size_t>(i)].lost, 0u);
    EXPECT_GE(operations, static_cast<uint64_t>(kPutsOfTrace) / 2);
  }
}

}  // namespace
}  // namespace mergedb::testing::trace_test
