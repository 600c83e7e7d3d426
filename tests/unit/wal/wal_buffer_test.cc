// Goal: a frame that reaches over the end of the WAL buffer continues at its front, mapped or not; a buffer that cannot
// be mapped leaves no file; what is given back has no blocks, and what is needed keeps its bytes. Method: bytes around
// the end of a small ring; every range of blocks in a ring of eight.
#include "wal/wal_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/wal/wal_fixture.h"
#include "wal/frame.h"

namespace mergedb::wal {
namespace {

using testing::StatusIs;

constexpr size_t kRingBytes = 4096;

class WalBufferTest : public ::testing::Test {
 protected:
  explicit WalBufferTest(const testing::FaultFileSystem::Options& options = {}) : files_(options) {
    EXPECT_OK(files_.CreateDirectory(kDirectory));
  }
  Result<std::unique_ptr<WalBuffer>> Create(bool use_mapping) {
    return WalBuffer::Create(&files_, kDirectory, {.mapped = kRingBytes, .in_memory = kRingBytes}, use_mapping);
  }

  testing::FaultFileSystem files_;
};

// Writes 10 bytes at `position`, as an appender does, and returns the first bytes of the ring.
std::string FrontAfter(WalBuffer& buffer, uint64_t position) {
  std::memset(buffer.data(), '.', buffer.size());
  std::memcpy(buffer.At(position), "0123456789", 10);
  buffer.Mirror(position, 10);
  return {buffer.data(), 12};
}

TEST_F(WalBufferTest, BytesBeyondTheEndContinueAtTheFront) {
  for (const bool use_mapping : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto buffer, Create(use_mapping));
    EXPECT_EQ(buffer->is_mapped(), use_mapping);
    EXPECT_EQ(FrontAfter(*buffer, kRingBytes - 10), "............") << "up to the end";
    EXPECT_EQ(FrontAfter(*buffer, kRingBytes - 9), "9...........");
    EXPECT_EQ(FrontAfter(*buffer, kRingBytes - 1), "123456789...");
    EXPECT_EQ(FrontAfter(*buffer, kRingBytes), "0123456789..");
    EXPECT_EQ(FrontAfter(*buffer, 7 * kRingBytes - 4), "456789......") << "a later lap";
  }
}

TEST_F(WalBufferTest, AMappedOneIsAFileOfItsSizeInZeros) {
  ASSERT_OK(files_.WriteWhole("/db/STAGING", "of an earlier epoch"));
  ASSERT_OK_AND_ASSIGN(const auto buffer, Create(true));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, files_.ReadWhole("/db/STAGING"));
  EXPECT_EQ(bytes, std::string(kRingBytes, '\0'));
}

TEST_F(WalBufferTest, AnUnmappedOneLeavesNoFile) {
  ASSERT_OK(files_.WriteWhole("/db/STAGING", "of an earlier epoch"));
  ASSERT_OK_AND_ASSIGN(const auto buffer, Create(false));
  EXPECT_THAT(files_.Files(), ::testing::IsEmpty());
}

class GiveBack : public WalBufferTest {
 protected:
  static constexpr size_t kBlocks = 8;
  static constexpr size_t kBytes = kBlocks * kBlockBytes;

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(buffer_,
                         WalBuffer::Create(&files_, kDirectory, {.mapped = kBytes, .in_memory = kBytes}, true));
  }
  // A ring in its fourth lap, where all blocks are allocated and filled with 'x'.
  void Fill() {
    ASSERT_OK(buffer_->Allocate(8 * kBytes));
    ASSERT_EQ(buffer_->allocated_bytes(), kBytes);
    std::memset(buffer_->data(), 'x', kBytes);
  }
  std::string At(uint64_t begin, uint64_t end) { return {buffer_->At(begin), end - begin}; }

  std::unique_ptr<WalBuffer> buffer_;
};

TEST_F(GiveBack, LeavesWhatIsNeededAndNothingElse) {
  for (size_t first = 0; first < kBlocks; ++first) {
    for (size_t count = 0; count < kBlocks / 2; ++count) {
      SCOPED_TRACE(::testing::Message() << "blocks " << first << " and " << count << " more");
      Fill();
      const uint64_t begin = 3 * kBytes + first * kBlockBytes, end = begin + count * kBlockBytes;
      while (buffer_->GiveBack(begin, end, false)) continue;
      EXPECT_EQ(At(begin, end), std::string(end - begin, 'x'));
      EXPECT_EQ(At(end, begin + kBytes), std::string(begin + kBytes - end, '\0')) << "a hole";
      EXPECT_EQ(buffer_->allocated_bytes(), end - begin);
      EXPECT_EQ(buffer_->allocated_end(), end);
      ASSERT_OK(buffer_->Allocate(end + kBlockBytes));
      EXPECT_GE(buffer_->allocated_end(), end + kBlockBytes) << "the next frame needs a block";
    }
  }
}

TEST_F(GiveBack, LeavesThePartialBlocksAtBothEnds) {
  Fill();
  const uint64_t begin = 3 * kBytes + 7 * kBlockBytes + 8, end = begin + kBlockBytes;
  while (buffer_->GiveBack(begin, end, false)) continue;
  EXPECT_EQ(At(begin, end), std::string(kBlockBytes, 'x'));
  EXPECT_EQ(buffer_->allocated_bytes(), 2 * kBlockBytes);
}

// The WAL writer writes the block in which the stream ends to a segment again.
TEST_F(GiveBack, LeavesTheBlockOfTheEndIfNothingIsNeeded) {
  Fill();
  const uint64_t end = 3 * kBytes + 5 * kBlockBytes + 8;
  while (buffer_->GiveBack(end, end, true)) continue;
  EXPECT_EQ(At(end - 8, end), "xxxxxxxx");
  EXPECT_EQ(buffer_->allocated_bytes(), kBlockBytes);
}

TEST_F(GiveBack, LeavesAFewBlocksForTheNextFrames) {
  Fill();
  const uint64_t begin = 3 * kBytes, end = begin + kBytes / 2;
  EXPECT_FALSE(buffer_->GiveBack(begin, end, true));
  EXPECT_EQ(buffer_->allocated_bytes(), kBytes);
  EXPECT_EQ(At(begin, begin + kBytes), std::string(kBytes, 'x'));
}

// The range of the hole wraps, so it takes two calls. After a failure some blocks of a piece may be gone.
TEST_F(GiveBack, CountsWhatAFailureLeavesAsGivenBack) {
  for (const uint64_t failing : {1, 2}) {
    Fill();
    const uint64_t begin = 3 * kBytes + 4 * kBlockBytes, end = begin + kBlockBytes;
    files_.ClearFaults();
    files_.AddFault({.op = testing::FileOp::kDeallocate, .nth = failing});
    while (buffer_->GiveBack(begin, end, false)) continue;
    EXPECT_EQ(files_.faults_hit(), failing);
    EXPECT_EQ(At(begin, end), std::string(kBlockBytes, 'x'));
    EXPECT_EQ(buffer_->allocated_bytes(), (failing == 1 ? 4 : 1) * kBlockBytes);
    ASSERT_OK(buffer_->Allocate(begin + kBytes));
    EXPECT_EQ(buffer_->allocated_bytes(), kBytes);
    std::memset(buffer_->At(end), 'y', kBytes - kBlockBytes);  // kills the process if there is a hole
  }
}

// A writer may wait for a call, so a call takes a bounded time.
TEST_F(WalBufferTest, GivesBackAPieceAtATime) {
  constexpr size_t kLarge = size_t{16} << 20, kPiece = size_t{4} << 20;
  ASSERT_OK_AND_ASSIGN(const auto buffer,
                       WalBuffer::Create(&files_, kDirectory, {.mapped = kLarge, .in_memory = kLarge}, true));
  ASSERT_OK(buffer->Allocate(kLarge));
  for (size_t left = kLarge; left > 0; left -= kPiece) {
    EXPECT_EQ(buffer->allocated_bytes(), left);
    EXPECT_TRUE(buffer->GiveBack(kLarge, kLarge, false));
  }
  EXPECT_FALSE(buffer->GiveBack(kLarge, kLarge, false));
}

TEST_F(GiveBack, LeavesAllBlocksIfTheFileSystemMakesNoHoles) {
  Fill();
  files_.AddFault({.op = testing::FileOp::kDeallocate, .sticky = true, .status = Status::NotSupported("holes")});
  EXPECT_FALSE(buffer_->GiveBack(3 * kBytes, 3 * kBytes, false));
  EXPECT_EQ(buffer_->allocated_bytes(), kBytes);
  EXPECT_EQ(buffer_->allocated_end(), UINT64_MAX);
}

class WithoutMapping : public WalBufferTest {
 protected:
  WithoutMapping() : WalBufferTest({.allow_mapping = false}) {}
};

TEST_F(WithoutMapping, TheBufferIsInMemory) {
  ASSERT_OK_AND_ASSIGN(const auto buffer, Create(true));
  EXPECT_FALSE(buffer->is_mapped());
  EXPECT_THAT(files_.Files(), ::testing::IsEmpty());
}

// Only a file system that does not support mappings gets a buffer in memory: any other failure is an error.
TEST_F(WalBufferTest, AFailureIsReturnedAndLeavesNoFile) {
  for (const testing::FileOp op : {testing::FileOp::kCreate, testing::FileOp::kTruncate, testing::FileOp::kSync,
                                   testing::FileOp::kSyncDirectory, testing::FileOp::kMap}) {
    files_.ClearFaults();
    files_.AddFault({.op = op});
    EXPECT_THAT(Create(true), StatusIs(Code::kIOError)) << testing::OpName(op);
    EXPECT_THAT(files_.Files(), ::testing::IsEmpty()) << testing::OpName(op);
  }
}

TEST_F(WalBufferTest, AnEarlierFileThatCannotBeRemovedIsAnError) {
  ASSERT_OK(files_.WriteWhole("/db/STAGING", "of an earlier epoch"));
  files_.AddFault({.op = testing::FileOp::kRemove});
  EXPECT_THAT(Create(false), StatusIs(Code::kIOError)) << "replay would read it";
}

}  // namespace
}  // namespace mergedb::wal
