// Goal: a trace comes back as it was written; each cut and each flipped bit is an error with a place, and what comes
// before it comes back unchanged. Method: a small trace of every kind of record; all cuts and all flips of it; records
// that no writer makes.
#include "trace/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/coding.h"
#include "base/crc32c.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "tests/unit/trace/traces.h"

namespace mergedb::trace {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr char kPath[] = "/trace";
constexpr Head kHead{.id = 7, .start_unix_micros = 1'000'000, .sampling = 3, .has_values = true};

std::vector<Operation> FirstBlock() {
  return {
      {.kind = OpKind::kPut,
       .thread = 2,
       .start_micros = 500,
       .took_micros = 3,
       .key = "a",
       .value_bytes = 5,
       .value = "green"},
      {.kind = OpKind::kGet, .start_micros = 499, .took_micros = 9, .key = "a", .value_bytes = 5},
      {.kind = OpKind::kGet, .in_transaction = true, .start_micros = 510, .code = Code::kNotFound, .key = "b"},
      {.kind = OpKind::kBatch, .start_micros = 520, .count = 4},
      {.kind = OpKind::kPut, .is_element = true, .start_micros = 520, .key = "c", .value_bytes = 300},
      {.kind = OpKind::kDelete, .is_element = true, .start_micros = 520, .keyspace = 9, .key = "d"},
      {.kind = OpKind::kMerge, .is_element = true, .start_micros = 520, .key = "e", .value_bytes = 2, .value = "op"},
      {.kind = OpKind::kDeleteRange, .is_element = true, .start_micros = 520, .key = "f", .end = "g"}};
}
std::vector<Operation> SecondBlock() {
  return {
      {.kind = OpKind::kMultiGet, .thread = 1, .start_micros = 600, .count = 2},
      {.kind = OpKind::kGet, .is_element = true, .thread = 1, .start_micros = 600, .key = "a", .value_bytes = 1},
      {.kind = OpKind::kGet, .is_element = true, .thread = 1, .start_micros = 600, .code = Code::kNotFound, .key = "z"},
      {.kind = OpKind::kIterator,
       .start_micros = 601,
       .key = "a",
       .end = "m",
       .iterator = 1,
       .has_lower = true,
       .has_upper = true,
       .keys_only = true},
      {.kind = OpKind::kSeek, .start_micros = 602, .key = "k", .iterator = 1},
      {.kind = OpKind::kNext, .start_micros = 603, .iterator = 1, .count = 100},
      {.kind = OpKind::kPrev, .start_micros = 604, .iterator = 1, .count = 2},
      {.kind = OpKind::kSeekForPrev, .start_micros = 605, .key = "k", .iterator = 1},
      {.kind = OpKind::kSeekToFirst, .start_micros = 606, .iterator = 1},
      {.kind = OpKind::kSeekToLast, .start_micros = 607, .iterator = 1},
      {.kind = OpKind::kRelease, .start_micros = 608, .iterator = 1},
      {.kind = OpKind::kLost, .start_micros = 609, .count = 12},
      {.kind = OpKind::kEnd, .start_micros = 610, .count = 14, .lost = 12, .reason = EndReason::kFull}};
}

std::string TraceOf(const std::vector<std::vector<Operation>>& blocks, const Head& head = kHead) {
  std::string trace = EncodeHead(head);
  BlockBuilder builder(head.id);
  for (const auto& block : blocks) {
    for (const Operation& op : block) builder.Add(op);
    trace += builder.Finish();
  }
  return trace;
}

ReadTrace ReadBytes(const std::string& bytes) {
  testing::FaultFileSystem files;
  EXPECT_TRUE(files.WriteWhole(kPath, bytes).ok());
  return ReadAll(&files, kPath);
}

// FORMAT golden: docs/formats/trace.md
TEST(TraceFormat, Golden) {
  const std::string head = EncodeHead(kHead);
  EXPECT_EQ(head.substr(0, 40),
            "mrgdTRCE\x01\0\0\0\x30\0\0\0\x07\0\0\0\0\0\0\0\x40\x42\x0f\0\0\0\0\0\x03\0\0\0\x01\0\0\0"s);
  BlockBuilder builder(7);
  builder.Add({.kind = OpKind::kPut,
               .thread = 2,
               .start_micros = 500,
               .took_micros = 3,
               .key = "ab",
               .value_bytes = 5,
               .value = "green"});
  builder.Add({.kind = OpKind::kGet,
               .start_micros = 499,
               .took_micros = 300,
               .code = Code::kNotFound,
               .keyspace = 9,
               .key = "b"});
  builder.Add({.kind = OpKind::kBatch, .start_micros = 501, .count = 1});
  builder.Add({.kind = OpKind::kDelete, .is_element = true, .key = "c"});
  const std::string block = builder.Finish();
  EXPECT_EQ(block.substr(0, 16), "\x26\0\0\0\0\0\0\0\xf4\x01\0\0\0\0\0\0"s);
  EXPECT_EQ(block.substr(20),
            "\x0e\x01\x02\x02\x00\x03\x02"
            "ab\x05"
            "green"
            "\x0a\x06\x05\x00\x01\xac\x02\x01\x09\x01"
            "b"
            "\x06\x05\x00\x00\x04\x00\x01"
            "\x04\x02\x08\x01"
            "c"s);
}

TEST(TraceFormat, ComesBack) {
  testing::FaultFileSystem files;
  ASSERT_OK(files.WriteWhole(kPath, TraceOf({FirstBlock(), SecondBlock()})));
  ASSERT_OK_AND_ASSIGN(const auto reader, Reader::Open(&files, kPath));
  EXPECT_EQ(reader->head(), kHead);
  std::vector<Operation> expected = FirstBlock();
  for (const Operation& op : SecondBlock()) expected.push_back(op);
  Operation op;
  for (size_t i = 0; i + 1 < expected.size(); ++i) {
    ASSERT_TRUE(reader->Next(&op)) << i << reader->status().ToString();
    EXPECT_EQ(op, expected[i]) << Line(op);
    EXPECT_FALSE(reader->end());
  }
  EXPECT_FALSE(reader->Next(&op));
  EXPECT_OK(reader->status());
  EXPECT_EQ(reader->end(), expected.back());
  EXPECT_FALSE(reader->Next(&op)) << "also when it is called again";
}

TEST(TraceFormat, ARolledBackRecordIsGone) {
  BlockBuilder builder(7);
  const auto empty = builder.mark();
  builder.Add({.kind = OpKind::kGet, .start_micros = 1, .key = "gone"});
  builder.Rollback(empty);
  EXPECT_TRUE(builder.empty());
  builder.Add({.kind = OpKind::kGet, .start_micros = 900, .code = Code::kNotFound, .key = "first"});
  const auto mark = builder.mark();
  builder.Add({.kind = OpKind::kGet, .start_micros = 5'000, .code = Code::kNotFound, .key = "gone, too"});
  builder.Rollback(mark);
  const Operation last{.kind = OpKind::kGet, .start_micros = 901, .code = Code::kNotFound, .key = "last"};
  builder.Add(last);
  const std::string block = builder.Finish();
  BlockDecoder decoder(std::string_view(block).substr(kBlockHeadBytes), DecodeBlockHead(block).base_micros);
  Operation op;
  ASSERT_TRUE(decoder.Next(&op));
  EXPECT_EQ(op.start_micros, 900u);
  ASSERT_TRUE(decoder.Next(&op));
  EXPECT_EQ(op, last);
  EXPECT_FALSE(decoder.Next(&op));
}

// What `bytes` yields is the beginning of `whole` and an error, which names a place in the file.
void ExpectPrefix(const ReadTrace& read, const ReadTrace& whole, const std::string& what) {
  EXPECT_FALSE(read.status.ok()) << what;
  EXPECT_THAT(read.status.ToString(), HasSubstr(kPath)) << what;
  ASSERT_LE(read.lines.size(), whole.lines.size()) << what;
  EXPECT_TRUE(std::equal(read.lines.begin(), read.lines.end(), whole.lines.begin())) << what;
  EXPECT_THAT(std::string(read.status.message()), HasSubstr("offset ")) << what;
}

TEST(TraceFormat, EachCutIsAnErrorAfterTheWholeBlocks) {
  const std::string bytes = TraceOf({FirstBlock(), SecondBlock()});
  const size_t second = TraceOf({FirstBlock()}).size();
  const ReadTrace whole = ReadBytes(bytes);
  ASSERT_OK(whole.status);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const ReadTrace read = ReadBytes(bytes.substr(0, size));
    ExpectPrefix(read, whole, "cut to " + std::to_string(size));
    EXPECT_EQ(read.lines.size(), size < second ? 0 : FirstBlock().size()) << size;
  }
}

TEST(TraceFormat, EachFlippedBitIsAnErrorAfterTheWholeBlocks) {
  const std::string bytes = TraceOf({FirstBlock(), SecondBlock()});
  const size_t second = TraceOf({FirstBlock()}).size();
  const ReadTrace whole = ReadBytes(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    if (!testing::IsTried(bit)) continue;
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const ReadTrace read = ReadBytes(damaged);
    ExpectPrefix(read, whole, "bit " + std::to_string(bit));
    EXPECT_EQ(read.lines.size(), bit / 8 < second ? 0 : FirstBlock().size()) << bit;
  }
}

TEST(TraceFormat, BlocksInAnotherOrderOrOfAnotherTraceAreErrors) {
  const std::string head = EncodeHead(kHead);
  BlockBuilder builder(kHead.id), other(8);
  const auto block = [](BlockBuilder& of, OpKind kind) {
    of.Add({.kind = kind, .key = "k"});
    return of.Finish();
  };
  const std::string first = block(builder, OpKind::kPut), second = block(builder, OpKind::kPut),
                    end = block(builder, OpKind::kEnd);
  EXPECT_OK(ReadBytes(head + first + second + end).status);
  EXPECT_THAT(ReadBytes(head + first + end).status,
              StatusIs(Code::kCorruption, HasSubstr("expected block 1, found block 2")));
  EXPECT_THAT(ReadBytes(head + first + first).status, StatusIs(Code::kCorruption, HasSubstr("found block 0")));
  EXPECT_THAT(ReadBytes(head + block(other, OpKind::kPut)).status, StatusIs(Code::kCorruption, HasSubstr("checksum")));
  EXPECT_THAT(ReadBytes(head + first + second + end + "x").status,
              StatusIs(Code::kCorruption, HasSubstr("bytes follow the end")));
  BlockBuilder late(kHead.id);
  late.Add({.kind = OpKind::kEnd});
  late.Add({.kind = OpKind::kPut, .key = "k"});
  EXPECT_THAT(ReadBytes(head + late.Finish()).status,
              StatusIs(Code::kCorruption, HasSubstr("a record follows the end")));
}

// A block with these records, and an end.
ReadTrace ReadRecords(const std::string& records) {
  std::string block(kBlockHeadBytes, '\0');
  block += records + "\x08\x11\x00\x00\x00\x00\x00\x00\x01"s;
  base::StoreFixed32(&block[0], static_cast<uint32_t>(block.size() - kBlockHeadBytes));
  base::StoreFixed32(&block[16], BlockCrc(kHead.id, block.substr(0, kBlockHeadBytes), block.substr(kBlockHeadBytes)));
  return ReadBytes(EncodeHead(kHead) + block);
}

TEST(TraceFormat, InvalidRecordsAreErrors) {
  const auto error = [](const std::string& records) { return ReadRecords(records).status.ToString(); };
  EXPECT_THAT(ReadRecords("\x07\x06\x04\x00\x00\x00\x01\x00"s).lines, ElementsAre("get NotFound"));
  EXPECT_THAT(error("\x00"s), HasSubstr("a record is empty"));
  EXPECT_THAT(error("\x01\x00"s), HasSubstr("kind 0"));
  EXPECT_THAT(error("\x7f\x06"s), HasSubstr("longer than its block"));
  EXPECT_THAT(error("\x01\x06"s), HasSubstr("a record is invalid")) << "no flags";
  EXPECT_THAT(error("\x06\x06\x04\x00\x00\x00\x63"s), HasSubstr("a record is invalid")) << "an unknown code";
  EXPECT_THAT(error("\x07\x06\x01\x00\x00\x00\x00\x00"s), HasSubstr("a record is invalid")) << "keyspace 0";
  EXPECT_THAT(error("\x08\x01\x02\x00\x00\x00\x01k\x05"s), HasSubstr("a record is invalid")) << "a value without bytes";
  EXPECT_THAT(error("\x04\x02\x08\x01k"s), HasSubstr("does not belong to its group")) << "no group";
  EXPECT_THAT(error("\x06\x05\x00\x00\x00\x00\x02\x04\x02\x08\x01k"s), HasSubstr("does not belong to its group"))
      << "END in a group";
  EXPECT_THAT(error("\x06\x07\x00\x00\x00\x00\x01\x04\x02\x08\x01k"s), HasSubstr("does not belong to its group"))
      << "a delete in a multi_get";
  EXPECT_THAT(error("\x06\x05\x00\x00\x00\x00\x01\x05\x06\x08\x01k\x00"s), HasSubstr("does not belong to its group"))
      << "a get in a batch";
}

TEST(TraceFormat, NewerRecordsAreSkipped) {
  const ReadTrace read = ReadRecords("\x05\x63what\x0d\x02\x00\x00\x00\x00\x01kmore.."s);
  EXPECT_OK(read.status);
  EXPECT_THAT(read.lines, ElementsAre("delete k")) << "an unknown kind, and a longer record";
}

TEST(TraceFormat, ANewerVersionIsNotSupportedAndALongerHeadIsRead) {
  std::string head = EncodeHead(kHead) + "more";
  base::StoreFixed32(&head[12], 52);
  const auto fix = [](std::string bytes) {
    base::StoreFixed32(&bytes[40], base::Crc32c(bytes.substr(0, 40) + bytes.substr(44)));
    return bytes;
  };
  size_t head_bytes = 0;
  EXPECT_EQ(*DecodeHead(fix(head), &head_bytes), kHead);
  EXPECT_EQ(head_bytes, 52u);
  base::StoreFixed32(&head[8], 2);
  EXPECT_THAT(DecodeHead(fix(head), &head_bytes), StatusIs(Code::kNotSupported, HasSubstr("version 2")));
  base::StoreFixed32(&head[12], 47);
  EXPECT_THAT(DecodeHead(head, &head_bytes), StatusIs(Code::kCorruption, HasSubstr("size of 47")));
}

TEST(TraceFormat, ErrorsOfTheDiskAreNotDamage) {
  testing::FaultFileSystem files;
  EXPECT_THAT(Reader::Open(&files, kPath), StatusIs(Code::kNotFound));
  ASSERT_OK(files.WriteWhole(kPath, TraceOf({FirstBlock(), SecondBlock()})));
  for (const uint64_t nth : {1, 2, 3}) {
    files.AddFault({.op = testing::FileOp::kRead, .nth = nth});
    EXPECT_THAT(ReadAll(&files, kPath).status, StatusIs(Code::kIOError)) << nth;
  }
}

}  // namespace
}  // namespace mergedb::trace
