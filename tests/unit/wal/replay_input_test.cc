// Goal: of each position replay reads the byte of the newest segment that holds it, and no byte beyond a gap or the end
// of a file; the WAL buffer wraps at its size. Method: segments whose bytes tell their position and generation.
#include "wal/replay_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/wal/wal_frames.h"

namespace mergedb::wal {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

std::string BytesOf(uint64_t generation, uint64_t position, size_t count) {
  std::string bytes;
  for (uint64_t i = position; i < position + count; ++i) bytes += static_cast<char>(generation * 100 + i % 97);
  return bytes;
}

class SegmentBytesTest : public ::testing::Test {
 protected:
  SegmentBytesTest() { EXPECT_OK(files_.CreateDirectory(kDirectory)); }

  // A segment, whose number is its generation, from `start` on; its file ends at position `end`.
  Status Add(uint64_t generation, uint64_t start, uint64_t end, uint64_t capacity) {
    const SegmentHead head{.generation = generation, .start = start, .capacity = capacity};
    const kv::FileNumber number{generation};
    const std::string path = format::SegmentPath(kDirectory, number);
    EXPECT_OK(
        files_.WriteWhole(path, std::string(kBlockBytes, '\0') + BytesOf(generation, head.base(), end - head.base())));
    ASSIGN_OR_RETURN(auto file, files_.Open(path, {.access = Access::kRead}));
    return segments_.Add(number, head, std::move(file));
  }
  std::string Read(uint64_t position, size_t bytes) {
    std::string_view found;
    EXPECT_OK(segments_.Read(position, bytes, &found));
    return std::string(found);
  }

  testing::FaultFileSystem files_;
  SegmentBytes segments_;
};

TEST_F(SegmentBytesTest, ReadsOnFromOneSegmentToTheNext) {
  ASSERT_OK(Add(1, 0, 8192, 8192));
  ASSERT_OK(Add(2, 8192, 12'288, 8192));
  EXPECT_EQ(Read(8000, 500), BytesOf(1, 8000, 192) + BytesOf(2, 8192, 308));
  EXPECT_EQ(Read(8010, 20), BytesOf(1, 8010, 20)) << "from the bytes that were read before";
  EXPECT_EQ(Read(3, 4), BytesOf(1, 3, 4)) << "before them";
  EXPECT_EQ(Read(12'280, 100), BytesOf(2, 12'280, 8)) << "no more exist";
}

// A write to segment 1 failed at position 5000, so segment 2 holds the stream from there on.
TEST_F(SegmentBytesTest, TheNewerOfTwoSegmentsCountsFromItsStart) {
  ASSERT_OK(Add(2, 5000, 20'480, 16'384));
  ASSERT_OK(Add(1, 0, 16'384, 16'384));
  EXPECT_EQ(Read(4990, 20), BytesOf(1, 4990, 10) + BytesOf(2, 5000, 10));
  EXPECT_EQ(Read(16'380, 10), BytesOf(2, 16'380, 10));
  EXPECT_EQ(segments_.Locate(4999)->number, kv::FileNumber{1});
  EXPECT_EQ(segments_.Locate(5000)->number, kv::FileNumber{2});
  EXPECT_EQ(segments_.Locate(5000)->offset, kBlockBytes + 904) << "the file begins at position 4096";
}

TEST_F(SegmentBytesTest, EndAtAGap) {
  ASSERT_OK(Add(1, 0, 4096, 4096));
  ASSERT_OK(Add(2, 8192, 12'288, 4096));
  EXPECT_EQ(Read(4000, 5000), BytesOf(1, 4000, 96));
  EXPECT_EQ(Read(4096, 10), "");
  EXPECT_EQ(segments_.NextHeld(0), 0u);
  EXPECT_EQ(segments_.NextHeld(4095), 4095u);
  EXPECT_EQ(segments_.NextHeld(4096), 8192u);
  EXPECT_EQ(segments_.NextHeld(8193), 8193u);
  EXPECT_EQ(segments_.NextHeld(12'287), 12'287u);
  EXPECT_EQ(segments_.NextHeld(12'288), UINT64_MAX);
  EXPECT_FALSE(segments_.Locate(4096).has_value());
}

TEST_F(SegmentBytesTest, AFileThatIsCutShortHoldsItsBytesAndIsNamed) {
  ASSERT_OK(Add(7, 0, 100, 8192));
  EXPECT_EQ(Read(0, 200), BytesOf(7, 0, 100));
  EXPECT_EQ(segments_.NextHeld(99), 99u);
  EXPECT_EQ(segments_.NextHeld(100), UINT64_MAX);
  EXPECT_THAT(segments_.Describe(99), HasSubstr("000007.seg: offset 4195"));
  EXPECT_THAT(segments_.Describe(100), HasSubstr("000007.seg: ends before WAL position 100"));
  EXPECT_THAT(segments_.Describe(8191), HasSubstr("000007.seg: ends before WAL position 8191"));
  EXPECT_EQ(segments_.Describe(8192), "no segment has WAL position 8192");
  EXPECT_EQ(segments_.Locate(100)->offset, kBlockBytes + 100) << "where the byte should be";
}

TEST_F(SegmentBytesTest, BytesBeyondTheCapacityDoNotCount) {
  ASSERT_OK(Add(1, 0, 8192, 4096));
  EXPECT_EQ(Read(4000, 200), BytesOf(1, 4000, 96));
  EXPECT_EQ(segments_.NextHeld(4096), UINT64_MAX);
}

TEST_F(SegmentBytesTest, AFileWithoutDataHoldsNothing) {
  ASSERT_OK(Add(1, 4096, 4096, 4096));
  EXPECT_EQ(segments_.NextHeld(4096), UINT64_MAX);
  EXPECT_EQ(Read(4096, 1), "");
}

TEST_F(SegmentBytesTest, AnErrorIsNotTheEndOfTheBytes) {
  ASSERT_OK(Add(1, 0, 4096, 4096));
  files_.AddFault({.op = testing::FileOp::kRead});
  std::string_view found;
  EXPECT_THAT(segments_.Read(0, 10, &found), StatusIs(Code::kIOError));
  files_.AddFault({.op = testing::FileOp::kSizeOf});
  EXPECT_THAT(Add(2, 4096, 8192, 4096), StatusIs(Code::kIOError));
}

// Symptom: the report of a repair counted no WAL frames behind a read error, though the next read of their bytes would
// have succeeded. Cause: the bytes that the failed read should have filled stayed in the window, as zeros, and the next
// Read returned them. Consequence: wrong numbers in the report.
TEST_F(SegmentBytesTest, AReadAfterAnErrorReadsTheFileAgain) {
  ASSERT_OK(Add(1, 0, 4096, 4096));
  files_.AddFault({.op = testing::FileOp::kRead});
  std::string_view found;
  EXPECT_THAT(segments_.Read(0, 10, &found), StatusIs(Code::kIOError));
  EXPECT_EQ(Read(0, 10), BytesOf(1, 0, 10));
}

class BufferBytesTest : public ::testing::Test {
 protected:
  BufferBytesTest() { EXPECT_OK(files_.CreateDirectory(kDirectory)); }

  void WriteStaging(size_t bytes) { EXPECT_OK(files_.WriteWhole("/db/STAGING", BytesOf(1, 0, bytes))); }
  // The size that the buffer has with a file of `bytes`, or the code of the error.
  std::string Loaded(size_t bytes, std::optional<uint64_t> expected = {}) {
    WriteStaging(bytes);
    BufferBytes buffer(&files_, kDirectory, expected);
    const Status status = buffer.Load();
    return status.ok() ? std::to_string(buffer.size()) : std::string(CodeName(status.code()));
  }

  testing::FaultFileSystem files_;
};

TEST_F(BufferBytesTest, HasTheBytesOfTheFileRoundAndRound) {
  WriteStaging(4096);
  BufferBytes buffer(&files_, kDirectory, {});
  ASSERT_OK(buffer.Load());
  EXPECT_EQ(buffer.Read(4086, 10), BytesOf(1, 4086, 10)) << "up to the end";
  EXPECT_EQ(buffer.Read(4087, 10), BytesOf(1, 4087, 9) + BytesOf(1, 0, 1));
  EXPECT_EQ(buffer.Read(4096, 10), BytesOf(1, 0, 10));
  EXPECT_EQ(buffer.Read(5 * 4096 + 4090, 10), BytesOf(1, 4090, 6) + BytesOf(1, 0, 4));
  EXPECT_EQ(buffer.Read(0, 4096), BytesOf(1, 0, 4096));
  EXPECT_EQ(buffer.Read(1, 4096), BytesOf(1, 1, 4095) + BytesOf(1, 0, 1));
}

TEST_F(BufferBytesTest, TakesPowersOfTwoFromOneBlockOn) {
  EXPECT_EQ(Loaded(4096), "4096");
  EXPECT_EQ(Loaded(8192), "8192");
  EXPECT_EQ(Loaded(2048), "0");
  EXPECT_EQ(Loaded(4095), "0");
  EXPECT_EQ(Loaded(6144), "0");
  EXPECT_EQ(Loaded(0), "0");
}

TEST_F(BufferBytesTest, AnExpectedFileHasItsSize) {
  EXPECT_EQ(Loaded(4096, 4096), "4096");
  EXPECT_EQ(Loaded(8192, 4096), CodeName(Code::kCorruption));
  EXPECT_EQ(Loaded(4095, 4096), CodeName(Code::kCorruption));
  EXPECT_EQ(Loaded(0, 4096), CodeName(Code::kCorruption));
}

TEST_F(BufferBytesTest, AMissingFileIsEmptyUnlessItIsExpected) {
  BufferBytes unexpected(&files_, kDirectory, {});
  EXPECT_OK(unexpected.Load());
  EXPECT_EQ(unexpected.Read(0, 10), "");
  BufferBytes expected(&files_, kDirectory, 4096);
  EXPECT_THAT(expected.Load(), StatusIs(Code::kCorruption, HasSubstr("missing, expected 4096 bytes")));
}

TEST_F(BufferBytesTest, ReadsTheFileOnce) {
  WriteStaging(4096);
  BufferBytes buffer(&files_, kDirectory, {});
  ASSERT_OK(buffer.Load());
  ASSERT_OK(files_.WriteWhole("/db/STAGING", std::string(4096, 'x')));
  ASSERT_OK(buffer.Load());
  EXPECT_EQ(buffer.Read(0, 10), BytesOf(1, 0, 10));
}

}  // namespace
}  // namespace mergedb::wal
