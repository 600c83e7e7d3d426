// Goal: a trace of a database has what the program did, in order, whatever the way in; no error of the trace reaches a
// call. Method: files in memory; the records of the trace as lines; threads on real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "tests/unit/trace/traces.h"
#include "trace/reader.h"

namespace mergedb::testing {
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
  EXPECT_EQ(lines[5], "batch x3");
  std::vector<std::string> commit(lines.begin() + 6, lines.begin() + 9);
  EXPECT_THAT(commit, ::testing::UnorderedElementsAre("  put" + in + "c [1]=v", "  put d [1]=w",
                                                      "  delete_range" + in + "e to f"));
  EXPECT_EQ(lines[9], "iterator" + in + "#1");
}

TEST_F(TraceTest, AFullDiskEndsTheTraceAndNotThePuts) {
  ASSERT_OK(db_->StartTrace(kPath));
  sim_.files->AddFault(
      {.op = Op::kWrite, .path_contains = kPath, .sticky = true, .status = Status::NoSpace("the disk is full")});
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
  sim_.files->AddFault({.op = Op::kWrite, .path_contains = kPath, .sticky = true});
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
}  // namespace mergedb::testing
