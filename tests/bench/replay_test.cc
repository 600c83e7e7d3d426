// Goal: the benchmark replay does the operations of a trace, each once, in their order, on every engine. Method: a
// trace of known operations and an engine that records its calls; db_bench on a recorded trace.
#include "bench/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include "bench/keys.h"
#include "bench/workloads.h"
#include "mergedb/db.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "trace/format.h"

namespace mergedb::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::Operation;
using Kind = trace::OpKind;

// A map in memory that notes its calls.
class NotingEngine final : public Engine {
 public:
  struct Noted {
    std::map<std::string, std::string> rows;
    std::vector<std::string> calls;
    void Note(const std::string& call) { calls.push_back(call); }
  };
  class MapWriter final : public Writer {
   public:
    explicit MapWriter(Noted& noted) : noted_(noted) {}
    void Put(std::string_view key, std::string_view value) override {
      noted_.Note("put " + std::string(key) + " " + std::to_string(value.size()));
      noted_.rows[std::string(key)] = value;
    }
    void Delete(std::string_view key) override {
      noted_.Note("delete " + std::string(key));
      noted_.rows.erase(std::string(key));
    }
    void DeleteRange(std::string_view begin, std::string_view end) override {
      noted_.Note("delete_range " + std::string(begin) + " " + std::string(end));
    }
    void Merge(std::string_view key, std::string_view operand) override {
      noted_.Note("merge " + std::string(key) + " " + std::to_string(operand.size()));
    }
    void Commit() override { noted_.Note("commit"); }

   private:
    Noted& noted_;
  };
  class MapReader final : public bench::Reader {
   public:
    explicit MapReader(Noted& noted) : noted_(noted) {}
    bool Get(std::string_view key, std::string* value) override {
      noted_.Note("get " + std::string(key));
      const auto row = noted_.rows.find(std::string(key));
      if (row == noted_.rows.end()) return false;
      *value = row->second;
      return true;
    }

   private:
    Noted& noted_;
  };
  class MapCursor final : public Cursor {
   public:
    explicit MapCursor(Noted& noted) : noted_(noted), rows_(noted.rows), at_(rows_.end()) {}
    ~MapCursor() override { noted_.Note("close"); }
    bool Valid() const override { return at_ != rows_.end(); }
    void SeekToFirst() override { Note("seek_to_first", rows_.begin()); }
    void SeekToLast() override { Note("seek_to_last", rows_.empty() ? rows_.end() : std::prev(rows_.end())); }
    void Seek(std::string_view target) override {
      Note("seek " + std::string(target), rows_.lower_bound(std::string(target)));
    }
    void Next() override { Note("next", std::next(at_)); }
    void Prev() override { Note("prev", at_ == rows_.begin() ? rows_.end() : std::prev(at_)); }
    std::string_view key() const override { return at_->first; }
    std::string_view value() const override { return at_->second; }

   private:
    using Rows = std::map<std::string, std::string>;
    void Note(const std::string& call, Rows::const_iterator to) {
      at_ = to;
      noted_.Note(call + " -> " + (Valid() ? at_->first : "end"));
    }
    Noted& noted_;
    const Rows rows_;
    Rows::const_iterator at_;
  };

  explicit NotingEngine(Noted& noted, bool can_all) : noted_(noted), can_all_(can_all) {}
  std::string Version() const override { return "map"; }
  bool CanMerge() const override { return can_all_; }
  bool CanDeleteRange() const override { return can_all_; }
  std::unique_ptr<Writer> NewWriter(Durability, bool) override { return std::make_unique<MapWriter>(noted_); }
  std::unique_ptr<bench::Reader> NewReader() override { return std::make_unique<MapReader>(noted_); }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<MapCursor>(noted_); }
  double WaitForCompaction() override { return 0; }
  void Compact() override {}
  std::string Property(std::string_view) override { return {}; }
  int64_t RunCount() override { return 1; }
  int64_t WriteMemoryBytes() override { return 0; }

 private:
  Noted& noted_;
  const bool can_all_;
};

class ReplayTest : public ::testing::Test {
 protected:
  void WriteTrace(const std::vector<Operation>& operations, bool has_end = true) {
    const trace::Head head{.id = 1};
    trace::BlockBuilder builder(head.id);
    for (const Operation& op : operations) builder.Add(op);
    if (has_end) builder.Add({.kind = Kind::kEnd});
    ASSERT_OK_AND_ASSIGN(const auto file, DefaultEnv().file_system->Open(flags_.trace, {.access = Access::kCreate}));
    ASSERT_OK(file->WriteAt(0, trace::EncodeHead(head) + builder.Finish()));
  }
  // Replays with one thread of --threads.
  ThreadStats Run(bool can_all = true, int index = 0) {
    const Workload workload = *FindWorkload("replay", flags_);
    NotingEngine noting(noted_, can_all);
    Engine* engine = &noting;
    const std::function<void()> reopen;
    const std::atomic<int> others_left{0};
    Task task{.flags = flags_,
              .workload = workload,
              .engine = engine,
              .index = index,
              .seed = 1,
              .value_bytes = value_bytes_,
              .reopen = reopen,
              .others_left = others_left};
    task.stats.Start(true);
    Replay(task);
    task.stats.Stop();
    return task.stats;
  }

  const testing::TempDirectory directory_;
  Flags flags_ = [this] {
    Flags flags;
    flags.trace = directory_ / "trace";
    return flags;
  }();
  std::string value_bytes_ = std::string(1000, 'v');
  NotingEngine::Noted noted_;
};

TEST_F(ReplayTest, DoesEachCallInOrder) {
  WriteTrace({{.kind = Kind::kPut, .key = "a", .value_bytes = 10},
              {.kind = Kind::kPut, .code = Code::kIOError, .key = "failed", .value_bytes = 10},
              {.kind = Kind::kPut, .key = "large", .value_bytes = 5000},
              {.kind = Kind::kPut, .key = "exact", .value_bytes = 3, .value = "abc"},
              {.kind = Kind::kGet, .key = "a", .value_bytes = 10},
              {.kind = Kind::kGet, .code = Code::kNotFound, .key = "b"},
              {.kind = Kind::kGet, .key = "lost", .value_bytes = 1},
              {.kind = Kind::kBatch, .count = 3},
              {.kind = Kind::kPut, .is_element = true, .key = "c", .value_bytes = 20},
              {.kind = Kind::kDelete, .is_element = true, .key = "a"},
              {.kind = Kind::kMerge, .is_element = true, .key = "m", .value_bytes = 9},
              {.kind = Kind::kDeleteRange, .keyspace = 0x61626364, .key = "x", .end = "y"},
              {.kind = Kind::kMultiGet, .count = 2},
              {.kind = Kind::kGet, .is_element = true, .key = "c", .value_bytes = 20},
              {.kind = Kind::kGet, .is_element = true, .code = Code::kNotFound, .key = "d"},
              {.kind = Kind::kLost, .count = 5}});
  const ThreadStats stats = Run();
  EXPECT_THAT(noted_.calls, ElementsAre("put a 10", "commit", "put large 5000", "commit", "put exact 3", "commit",
                                        "get a", "get b", "get lost", "put c 20", "delete a", "merge m 9", "commit",
                                        "delete_range abcdx abcdy", "commit", "get c", "get d"));
  EXPECT_EQ(noted_.rows["exact"], "abc");
  EXPECT_EQ(stats.done(), 9);
  EXPECT_EQ(stats.kinds()[static_cast<size_t>(OpKind::kRead)].ops, 4);
  EXPECT_EQ(stats.kinds()[static_cast<size_t>(OpKind::kRead)].found, 2);
  EXPECT_EQ(stats.kinds()[static_cast<size_t>(OpKind::kUpdate)].ops, 5);
  EXPECT_EQ(stats.kinds()[static_cast<size_t>(OpKind::kUpdate)].latencies.count(), 5u);
  EXPECT_THAT(stats.message(), HasSubstr("(1 gets differ from the trace in whether the key exists)"));
  EXPECT_THAT(stats.message(), HasSubstr("(5 operations were lost in the recording)"));
}

TEST_F(ReplayTest, MovesCursorsWithinTheirBounds) {
  for (const char* key : {"a", "b", "c", "d", "e"}) noted_.rows[key] = "v";
  WriteTrace({{.kind = Kind::kSeek, .key = "c", .iterator = 9},
              {.kind = Kind::kIterator, .iterator = 1},
              {.kind = Kind::kSeekToFirst, .iterator = 1},
              {.kind = Kind::kNext, .iterator = 1, .count = 2},
              {.kind = Kind::kSeekToLast, .iterator = 1},
              {.kind = Kind::kNext, .iterator = 1, .count = 7},
              {.kind = Kind::kIterator, .key = "b", .end = "d", .iterator = 2, .has_lower = true, .has_upper = true},
              {.kind = Kind::kSeekToFirst, .iterator = 2},
              {.kind = Kind::kSeekToLast, .iterator = 2},
              {.kind = Kind::kPrev, .iterator = 2, .count = 1},
              {.kind = Kind::kSeek, .key = "a", .iterator = 2},
              {.kind = Kind::kSeekForPrev, .key = "c", .iterator = 2},
              {.kind = Kind::kSeekForPrev, .key = "bb", .iterator = 2},
              {.kind = Kind::kSeekForPrev, .key = "z", .iterator = 2},
              {.kind = Kind::kRelease, .iterator = 1}});
  const ThreadStats stats = Run();
  EXPECT_THAT(noted_.calls,
              ElementsAre("seek_to_first -> a", "next -> b", "next -> c", "seek_to_last -> e", "next -> end",  //
                          "seek b -> b", "seek d -> d", "prev -> c", "prev -> b", "seek b -> b", "seek c -> c",
                          "seek bb -> c", "prev -> b", "seek d -> d", "prev -> c", "close", "close"));
  EXPECT_EQ(stats.kinds()[static_cast<size_t>(OpKind::kScan)].ops, 11);
  EXPECT_EQ(stats.kinds()[static_cast<size_t>(OpKind::kScan)].found, 11);
}

// A transaction sees its own writes before its commit, and a snapshot.
TEST_F(ReplayTest, ReadsOfATransactionMayDiffer) {
  WriteTrace({{.kind = Kind::kGet, .in_transaction = true, .key = "a", .value_bytes = 10},
              {.kind = Kind::kIterator, .in_transaction = true, .iterator = 1},
              {.kind = Kind::kSeek, .key = "a", .iterator = 1},
              {.kind = Kind::kRelease, .iterator = 1},
              {.kind = Kind::kBatch, .in_transaction = true, .count = 1},
              {.kind = Kind::kPut, .is_element = true, .key = "a", .value_bytes = 10},
              {.kind = Kind::kBatch, .in_transaction = true, .code = Code::kConflict, .count = 1},
              {.kind = Kind::kPut, .is_element = true, .key = "b", .value_bytes = 10}});
  EXPECT_EQ(Run().message().find("differ"), std::string::npos);
  EXPECT_THAT(noted_.calls, ElementsAre("get a", "seek a -> end", "close", "put a 10", "commit"));
}

TEST_F(ReplayTest, UsesWhatTheEngineHas) {
  for (const char* key : {"a", "b", "c", "d"}) noted_.rows[key] = "v";
  WriteTrace(
      {{.kind = Kind::kMerge, .key = "m", .value_bytes = 9}, {.kind = Kind::kDeleteRange, .key = "b", .end = "d"}});
  const ThreadStats stats = Run(false);
  EXPECT_THAT(noted_.calls, ElementsAre("put m 9", "commit", "seek b -> b", "next -> c", "next -> d", "delete b",
                                        "delete c", "close", "commit"));
  EXPECT_THAT(stats.message(), HasSubstr("(1 merges by puts) (1 range deletes by scans)"));
}

TEST_F(ReplayTest, CountersGetOperandsOfEightBytes) {
  flags_.merge_operator = "uint64add";
  WriteTrace({{.kind = Kind::kMerge, .key = "m", .value_bytes = 14}});
  Run();
  EXPECT_THAT(noted_.calls, ElementsAre("merge m 8", "commit"));
}

TEST_F(ReplayTest, ThreadsShareTheThreadsOfTheTrace) {
  std::vector<Operation> operations;
  const std::vector<std::string> keys = {"a", "b", "c", "d", "e"};
  for (uint32_t thread = 0; thread < 5; ++thread)
    operations.push_back({.kind = Kind::kGet, .thread = thread, .key = keys[thread]});
  WriteTrace(operations);
  flags_.threads = 2;
  Run(true, 0);
  EXPECT_THAT(noted_.calls, ElementsAre("get a", "get c", "get e"));
  noted_.calls.clear();
  Run(true, 1);
  EXPECT_THAT(noted_.calls, ElementsAre("get b", "get d"));
}

TEST_F(ReplayTest, WaitsUntilAnOperationIsDue) {
  WriteTrace(
      {{.kind = Kind::kGet, .start_micros = 0, .key = "a"}, {.kind = Kind::kGet, .start_micros = 60'000, .key = "b"}});
  flags_.replay_speed = 2;
  const ThreadStats stats = Run();
  EXPECT_GE(stats.wall_seconds(), 0.03);
  EXPECT_LT(stats.latencies().min(), uint64_t{30'000'000}) << "the wait is no part of a latency";
  EXPECT_THAT(stats.message(), HasSubstr(" ms late)"));
}

TEST_F(ReplayTest, ACutTraceIsReplayedUpToTheCut) {
  WriteTrace({{.kind = Kind::kGet, .key = "a"}}, false);
  EXPECT_THAT(Run().message(), HasSubstr("(the trace is cut or damaged)"));
  EXPECT_THAT(noted_.calls, ElementsAre("get a"));
}

TEST(ReplayFlags, NeedATraceAndASpeed) {
  Flags flags;
  flags.benchmarks = "fillseq,replay";
  EXPECT_THAT(FlagConflict(flags), HasSubstr("--trace"));
  flags.trace = "/tmp/trace";
  EXPECT_EQ(FlagConflict(flags), "");
  flags.replay_speed = -1;
  EXPECT_THAT(FlagConflict(flags), HasSubstr("--replay_speed"));
}

// The same data after a replay as after the recorded program: on mergedb, and on the linked peers.
TEST(ReplayOnEngines, LeavesTheKeysOfTheRecordedDatabase) {
  const testing::TempDirectory directory;
  std::map<std::string, size_t> expected;
  {
    auto db = DB::Open({}, directory / "recorded");
    ASSERT_TRUE(db);
    ASSERT_OK((*db)->StartTrace(directory / "trace"));
    std::string value;
    for (int i = 0; i < 2'000; ++i) {
      const std::string key = "key" + std::to_string(i * 7919 % 500);
      if (i % 7 == 3) {
        ASSERT_OK((*db)->Delete({}, key));
      } else if (i % 97 == 5) {
        ASSERT_OK((*db)->DeleteRange({}, key, key + "z"));
      } else if (i % 11 == 4) {
        WriteBatch batch;
        batch.Put(key, std::string(static_cast<size_t>(i % 50), 'b'));
        batch.Delete("key1");
        ASSERT_OK((*db)->Write({}, batch));
      } else {
        ASSERT_OK((*db)->Put({}, key, std::string(static_cast<size_t>(i % 300), 'v')));
      }
      (void)(*db)->Get({}, key, &value);
    }
    const auto it = (*db)->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) expected[std::string(it->key())] = it->value().size();
    ASSERT_OK((*db)->EndTrace());
  }
  for (const std::string& name : LinkedEngines()) {
    Flags flags;
    flags.engine = name;
    flags.trace = directory / "trace";
    const Workload workload = *FindWorkload("replay", flags);
    const auto opened = OpenEngine(flags, directory / name);
    Engine* engine = opened.get();
    const std::function<void()> reopen;
    const std::atomic<int> others_left{0};
    const std::string value_bytes(1000, 'v');
    Task task{.flags = flags,
              .workload = workload,
              .engine = engine,
              .index = 0,
              .seed = 1,
              .value_bytes = value_bytes,
              .reopen = reopen,
              .others_left = others_left};
    task.stats.Start(true);
    Replay(task);
    EXPECT_THAT(task.stats.message(), ::testing::Not(HasSubstr("differ"))) << name;
    std::map<std::string, size_t> found;
    const auto cursor = engine->NewCursor();
    for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next())
      found[std::string(cursor->key())] = cursor->value().size();
    EXPECT_EQ(found, expected) << name;
  }
}

}  // namespace
}  // namespace mergedb::bench
