// Goal: a frame that reaches over the end of the WAL buffer continues at its front, mapped or not; a buffer that cannot
// be mapped leaves no file. Method: bytes around the end of a small ring.
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
  for (const testing::Op op : {testing::Op::kCreate, testing::Op::kTruncate, testing::Op::kSync,
                               testing::Op::kSyncDirectory, testing::Op::kMap}) {
    files_.ClearFaults();
    files_.AddFault({.op = op});
    EXPECT_THAT(Create(true), StatusIs(Code::kIOError)) << testing::OpName(op);
    EXPECT_THAT(files_.Files(), ::testing::IsEmpty()) << testing::OpName(op);
  }
}

TEST_F(WalBufferTest, AnEarlierFileThatCannotBeRemovedIsAnError) {
  ASSERT_OK(files_.WriteWhole("/db/STAGING", "of an earlier epoch"));
  files_.AddFault({.op = testing::Op::kRemove});
  EXPECT_THAT(Create(false), StatusIs(Code::kIOError)) << "replay would read it";
}

}  // namespace
}  // namespace mergedb::wal
