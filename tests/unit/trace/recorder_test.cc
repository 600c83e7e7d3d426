// Goal: a recorder writes what it is given, in order, within its bounds; no error of the file reaches a caller. Method:
// files in memory with faults; calls from within a write of the file, as another thread makes them.
#include "trace/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "format/batch.h"
#include "testing/manual_clock.h"
#include "testing/status_matchers.h"
#include "tests/unit/trace/traces.h"

namespace mergedb::trace::recorder_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr char kPath[] = "/trace";

class RecorderTest : public ::testing::Test {
 protected:
  Status Start(const TraceOptions& options = {}) { return recorder_.Start(kPath, options); }
  TraceReport End() {
    TraceReport report;
    EXPECT_OK(recorder_.End(EndReason::kEnded, &report));
    return report;
  }
  void Put(std::string_view key, std::string_view value = "v") {
    recorder_.Add(recorder_.Begin(), {.kind = OpKind::kPut, .key = key, .value_bytes = value.size(), .value = value});
  }
  ReadTrace Read() { return ReadAll(&files_, kPath); }

  testing::FaultFileSystem files_;
  testing::ManualClock clock_;
  Recorder recorder_{&files_, &clock_, true};
};

TEST_F(RecorderTest, WritesCallsWithTheirTimes) {
  EXPECT_FALSE(recorder_.is_on());
  clock_.SleepNanos(77'000);
  ASSERT_OK(Start({.record_values = true}));
  EXPECT_TRUE(recorder_.is_on());
  clock_.SleepNanos(5'000);
  const Recorder::Call first = recorder_.Begin();
  clock_.SleepNanos(3'000);
  const Recorder::Call second = recorder_.Begin();
  clock_.SleepNanos(1'000);
  recorder_.Add(second, {.kind = OpKind::kGet, .code = Code::kNotFound, .key = "b"});
  recorder_.Add(first, {.kind = OpKind::kPut, .key = "a", .value_bytes = 1, .value = "v"});
  const TraceReport report = End();
  EXPECT_FALSE(recorder_.is_on());
  EXPECT_EQ(report.operations, 2u);
  EXPECT_EQ(report.bytes, *files_.SizeOf(kPath));

  ASSERT_OK_AND_ASSIGN(const auto reader, Reader::Open(&files_, kPath));
  Operation op;
  ASSERT_TRUE(reader->Next(&op));
  EXPECT_EQ(op.kind, OpKind::kGet);
  EXPECT_EQ(op.start_micros, 8u);
  EXPECT_EQ(op.took_micros, 1u);
  ASSERT_TRUE(reader->Next(&op));
  EXPECT_EQ(op.start_micros, 5u);
  EXPECT_EQ(op.took_micros, 4u);
  EXPECT_EQ(op.value, "v");
  EXPECT_FALSE(reader->Next(&op));
  ASSERT_OK(reader->status());
  EXPECT_EQ(reader->end()->count, 2u);
  EXPECT_EQ(reader->end()->start_micros, 9u);
}

TEST_F(RecorderTest, RecordsOnlyBetweenStartAndEnd) {
  EXPECT_THAT(recorder_.End(EndReason::kEnded, nullptr), StatusIs(Code::kInvalidArgument));
  Put("before");
  ASSERT_OK(Start());
  EXPECT_THAT(recorder_.Start("/other", {}), StatusIs(Code::kBusy));
  EXPECT_THAT(files_.SizeOf("/other"), StatusIs(Code::kNotFound));
  const Recorder::Call late = recorder_.Begin();
  Put("in");
  End();
  EXPECT_THAT(Start(), StatusIs(Code::kInvalidArgument)) << "the file exists";
  EXPECT_THAT(Read().lines, ElementsAre("put in [1]"));
  ASSERT_OK(recorder_.Start("/second", {}));
  recorder_.Add(late, {.kind = OpKind::kDelete, .key = "of the first trace"});
  End();
  EXPECT_TRUE(ReadAll(&files_, "/second").lines.empty());
}

TEST_F(RecorderTest, RefusesOptionsOutOfRange) {
  EXPECT_THAT(Start({.sampling = 0}), StatusIs(Code::kInvalidArgument, HasSubstr("sampling")));
  EXPECT_THAT(Start({.sampling = 1'000'001}), StatusIs(Code::kInvalidArgument, HasSubstr("sampling")));
  EXPECT_THAT(Start({.bytes_max = 65'535}), StatusIs(Code::kInvalidArgument, HasSubstr("bytes_max")));
  EXPECT_THAT(Start({.bytes_max = (uint64_t{1} << 40) + 1}), StatusIs(Code::kInvalidArgument, HasSubstr("bytes_max")));
}

TEST_F(RecorderTest, RecordsBatchesAndMultiGetsAsGroups) {
  std::string batch;
  format::AppendRecord(&batch, kv::Kind::kPut, "a", "value");
  format::AppendRecord(&batch, 7, kv::Kind::kDelete, "b", "");
  format::AppendRecord(&batch, kv::Kind::kRangeDelete, "c", "d");
  ASSERT_OK(Start());
  recorder_.AddBatch(recorder_.Begin(), {.code = Code::kBusy, .records = batch});
  recorder_.AddBatch(recorder_.Begin(), {.records = ""});
  recorder_.AddMultiGet(recorder_.Begin(), 7, {"x", "y"}, {Status(), Status::NotFound("")}, {"value", ""});
  EXPECT_EQ(End().operations, 2u);
  EXPECT_THAT(Read().lines, ElementsAre("batch Busy x3", "  put a [5]", "  delete @7 b", "  delete_range c to d",
                                        "multi_get x2", "  get @7 x [5]", "  get NotFound @7 y"));
}

TEST_F(RecorderTest, MapsTreeKeysBack) {
  const kv::KeyMap map("\x01R");
  std::string scratch, batch;
  const auto tree = [&](uint32_t keyspace, std::string_view key) {
    return std::string(map.ToTree(keyspace, key, &scratch));
  };
  format::AppendRecord(&batch, kv::Kind::kPut, tree(0, "a"), "value");
  format::AppendRecord(&batch, kv::Kind::kPut, tree(9, "b"), "value");
  format::AppendRecord(&batch, kv::Kind::kPut, map.Prefix(0) + "record", "of the engine");
  format::AppendRecord(&batch, kv::Kind::kRangeDelete, tree(9, "c"), tree(9, "d"));
  format::AppendRecord(&batch, kv::Kind::kRangeDelete, tree(9, ""), tree(10, ""));
  ASSERT_OK(Start());
  recorder_.AddBatch(recorder_.Begin(), {.records = batch, .map = &map, .in_transaction = true});
  End();
  EXPECT_THAT(Read().lines,
              ElementsAre("batch in_transaction x3", "  put a [5]", "  put @9 b [5]", "  delete_range @9 c to d"));
}

TEST_F(RecorderTest, SamplesKeysAndIteratorsAsAWhole) {
  ASSERT_OK(Start({.sampling = 4}));
  std::string batch;
  for (int i = 0; i < 400; ++i) {
    const std::string key = "key" + std::to_string(i);
    Put(key);
    recorder_.Add(recorder_.Begin(), {.kind = OpKind::kGet, .key = key});
    format::AppendRecord(&batch, kv::Kind::kPut, key, "v");
  }
  recorder_.AddBatch(recorder_.Begin(), {.records = batch});
  recorder_.Add(recorder_.Begin(), {.kind = OpKind::kDeleteRange, .key = "a", .end = "b"});
  std::vector<uint64_t> iterators;
  for (int i = 0; i < 8; ++i)
    iterators.push_back(recorder_.AddIterator(recorder_.Begin(), {.kind = OpKind::kIterator}));
  EXPECT_THAT(iterators, ElementsAre(1, 0, 0, 0, 2, 0, 0, 0));
  End();
  std::multiset<std::string> of_put, of_get, of_batch;
  ASSERT_OK_AND_ASSIGN(const auto reader, Reader::Open(&files_, kPath));
  EXPECT_EQ(reader->head().sampling, 4u);
  uint64_t elements = 0, ranges = 0;
  for (Operation op; reader->Next(&op);) {
    if (op.kind == OpKind::kBatch) elements = op.count;
    ranges += op.kind == OpKind::kDeleteRange;
    if (op.kind == OpKind::kPut) (op.is_element ? of_batch : of_put).emplace(op.key);
    if (op.kind == OpKind::kGet) of_get.emplace(op.key);
  }
  EXPECT_GT(of_put.size(), 50u);
  EXPECT_LT(of_put.size(), 200u);
  EXPECT_EQ(of_put, of_get);
  EXPECT_EQ(of_put, of_batch);
  EXPECT_EQ(elements, of_batch.size());
  EXPECT_EQ(ranges, 1u);
}

TEST_F(RecorderTest, ValuesAreSizesUnlessTheyAreAskedForAndSmall) {
  const std::string large(Recorder::kValueBytesMax + 1, 'x');
  ASSERT_OK(Start());
  Put("a", "value");
  End();
  EXPECT_THAT(Read().lines, ElementsAre("put a [5]"));
  ASSERT_OK(recorder_.Start("/with", {.record_values = true}));
  Put("a", "value");
  Put("b", "");
  Put("c", large);
  std::string batch;
  format::AppendRecord(&batch, kv::Kind::kMerge, "d", "operand");
  format::AppendRecord(&batch, kv::Kind::kPut, "e", "");
  format::AppendRecord(&batch, kv::Kind::kDelete, "f", "");
  recorder_.AddBatch(recorder_.Begin(), {.records = batch});
  End();
  EXPECT_THAT(ReadAll(&files_, "/with").lines, ElementsAre("put a [5]=value", "put b=", "put c [1048577]", "batch x3",
                                                           "  merge d [7]=operand", "  put e=", "  delete f"));
}

TEST_F(RecorderTest, AFullTraceEndsWithinItsBound) {
  ASSERT_OK(Start({.bytes_max = 200'000}));
  uint64_t put = 0;
  for (; recorder_.is_on(); ++put) {
    ASSERT_LT(put, 1'000'000u);
    Put("key" + std::to_string(put), std::string(put % 100, 'v'));
  }
  EXPECT_THAT(Start(), StatusIs(Code::kBusy)) << "EndTrace reports what happened";
  const TraceReport report = End();
  EXPECT_TRUE(report.is_full);
  EXPECT_EQ(report.operations, put - 1);
  EXPECT_LE(report.bytes, 200'000u);
  EXPECT_GT(report.bytes, 190'000u);
  const ReadTrace read = Read();
  ASSERT_OK(read.status);
  EXPECT_EQ(read.lines.size(), put - 1);
  EXPECT_EQ(read.end->reason, EndReason::kFull);
  EXPECT_EQ(*files_.SizeOf(kPath), report.bytes);
}

TEST_F(RecorderTest, AFailedWriteEndsTheTraceAndLeavesWholeBlocks) {
  ASSERT_OK(Start());
  files_.AddFault({.op = testing::FileOp::kWrite,
                   .path_contains = kPath,
                   .nth = 3,
                   .status = Status::NoSpace("full"),
                   .partial_bytes = 1000});
  uint64_t put = 0;
  for (; recorder_.is_on(); ++put) {
    ASSERT_LT(put, 1'000'000u);
    Put("key" + std::to_string(put));
  }
  Put("after the error");
  TraceReport report;
  EXPECT_THAT(recorder_.End(EndReason::kEnded, &report), StatusIs(Code::kNoSpace));
  EXPECT_FALSE(report.is_full);
  EXPECT_EQ(report.bytes, *files_.SizeOf(kPath)) << "the torn block is cut off";
  const ReadTrace read = Read();
  EXPECT_THAT(read.status, StatusIs(Code::kCorruption, HasSubstr("without its last record")));
  EXPECT_GT(read.lines.size(), 2 * Recorder::kBlockBytes / 20);
  EXPECT_LT(read.lines.size(), put);
  EXPECT_EQ(report.operations, read.lines.size());
  EXPECT_EQ(read.lines.back(), "put key" + std::to_string(read.lines.size() - 1) + " [1]");
  ASSERT_OK(recorder_.Start("/next", {})) << "the next trace begins anew";
  Put("next");
  End();
  EXPECT_THAT(ReadAll(&files_, "/next").lines, ElementsAre("put next [1]"));
}

TEST_F(RecorderTest, AFileThatCannotBeBegunIsAnErrorOfStart) {
  files_.AddFault({.op = testing::FileOp::kWrite, .status = Status::NoSpace("full")});
  EXPECT_THAT(Start(), StatusIs(Code::kNoSpace));
  EXPECT_THAT(files_.SizeOf(kPath), StatusIs(Code::kNotFound));
  EXPECT_FALSE(recorder_.is_on());
  ASSERT_OK(Start());
  files_.AddFault({.op = testing::FileOp::kClose});
  EXPECT_THAT(recorder_.End(EndReason::kEnded, nullptr), StatusIs(Code::kIOError)) << "so is one that cannot be closed";
}

// While one thread writes a block, others go on: up to a bound of memory, then operations are lost and counted.
TEST_F(RecorderTest, OperationsAreLostAndCountedWhileTheFileIsSlow) {
  ASSERT_OK(Start());
  const std::string key(1 << 20, 'k');
  bool is_slow = false;
  files_.SetOpHook([&](uint64_t, const char*, const std::string&) {
    if (std::exchange(is_slow, true)) return;
    for (int i = 0; i < 12; ++i) Put(key);
  });
  Put(key);  // fills a block and writes it
  files_.SetOpHook(nullptr);
  Put("after");
  const TraceReport report = End();
  EXPECT_EQ(report.lost, 4u);
  EXPECT_EQ(report.operations, 10u);
  const ReadTrace read = Read();
  ASSERT_OK(read.status);
  EXPECT_EQ(read.end->lost, 4u);
  ASSERT_EQ(read.lines.size(), 11u);
  EXPECT_EQ(read.lines[9], "lost x4");
  EXPECT_EQ(read.lines[10], "put after [1]");
}

TEST_F(RecorderTest, ABatchThatIsTooLargeIsLostAndCounted) {
  std::string batch;
  for (int i = 0; i < 40; ++i) format::AppendRecord(&batch, kv::Kind::kDelete, std::string(1 << 20, 'k'), "");
  ASSERT_OK(Start());
  Put("before");
  recorder_.AddBatch(recorder_.Begin(), {.records = batch});
  recorder_.AddMultiGet(recorder_.Begin(), 0,
                        std::vector<std::string_view>(40, std::string_view(batch).substr(0, 1 << 20)),
                        std::vector<Status>(40), std::vector<std::string>(40));
  recorder_.Add(recorder_.Begin(), {.kind = OpKind::kDelete, .key = batch});
  Put("after");
  EXPECT_EQ(End().lost, 3u);
  EXPECT_THAT(Read().lines, ElementsAre("put before [1]", "lost x3", "put after [1]"));
}

TEST_F(RecorderTest, WorksOnAnAppendOnlyFileSystem) {
  testing::FaultFileSystem files({.is_append_only = true});
  Recorder recorder(&files, &clock_, false);
  ASSERT_OK(recorder.Start(kPath, {}));
  files.AddFault({.op = testing::FileOp::kWrite, .nth = 2, .partial_bytes = 100});
  for (int i = 0; recorder.is_on() && i < 100'000; ++i)
    recorder.Add(recorder.Begin(), {.kind = OpKind::kDelete, .key = "key"});
  EXPECT_THAT(recorder.End(EndReason::kEnded, nullptr), StatusIs(Code::kIOError));
  const ReadTrace read = ReadAll(&files, kPath);
  EXPECT_THAT(read.status, StatusIs(Code::kCorruption, HasSubstr("is cut")));
  EXPECT_GT(read.lines.size(), 1000u);
  EXPECT_FALSE(read.head.is_bytewise);
}

}  // namespace
}  // namespace mergedb::trace::recorder_test
