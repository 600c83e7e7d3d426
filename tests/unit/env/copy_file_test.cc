// Goal: a copy has all bytes of its source and is durable when the call returns; a call that fails, or a caller that
// gives up, ends it with that error. The same of a new file. Method: files in memory with sizes around the size of a
// piece; an error of each call.
#include "env/copy_file.h"

#include <gtest/gtest.h>

#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::env {
namespace {

using testing::FaultFileSystem;
using testing::StatusIs;

constexpr size_t kPieceBytes = size_t{1} << 20;

class CopyFileTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.CreateDirectory("/d")); }
  Status Copy(const std::function<Status(uint64_t)>& copied = nullptr) {
    return CopyFile(&files_, "/d/source", "/d/target", copied);
  }

  FaultFileSystem files_;
};

TEST_F(CopyFileTest, HasAllBytesAndTellsOfEachPiece) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kPieceBytes - 1, kPieceBytes, kPieceBytes + 1}) {
    std::string source(bytes, 'x');
    if (bytes > 0) source.back() = 'y';
    ASSERT_OK(files_.WriteWhole("/d/source", source));
    uint64_t told = 0;
    ASSERT_OK(Copy([&](uint64_t piece) {
      EXPECT_LE(piece, kPieceBytes);
      told += piece;
      return Status();
    }));
    EXPECT_TRUE(*files_.ReadWhole("/d/target") == source) << bytes;
    EXPECT_EQ(told, bytes);
    ASSERT_OK(files_.Remove("/d/target"));
  }
}

TEST_F(CopyFileTest, OutlivesAPowerCutOnceItsNameIsDurable) {
  ASSERT_OK(files_.WriteWhole("/d/source", "bytes"));
  ASSERT_OK(Copy());
  ASSERT_OK(files_.SyncDirectory("/d"));
  ASSERT_OK(files_.SyncDirectory("/"));
  const auto image = files_.Crash(testing::CrashMode::kMin, testing::CrashModel::kStrict, 1);
  EXPECT_THAT(image->ReadWhole("/d/target"), testing::IsOkAndHolds("bytes"));
}

TEST_F(CopyFileTest, OverwritesNothingAndMakesNothingOutOfNothing) {
  EXPECT_THAT(Copy(), StatusIs(Code::kNotFound));
  EXPECT_TRUE(files_.Files().empty());
  ASSERT_OK(files_.WriteWhole("/d/source", "new"));
  ASSERT_OK(files_.WriteWhole("/d/target", "old"));
  EXPECT_FALSE(Copy().ok());
  EXPECT_THAT(files_.ReadWhole("/d/target"), testing::IsOkAndHolds("old"));
}

TEST_F(CopyFileTest, ACallerWhoGivesUpEndsItAtThatPiece) {
  ASSERT_OK(files_.WriteWhole("/d/source", std::string(2 * kPieceBytes, 'x')));
  int calls = 0;
  EXPECT_THAT(Copy([&](uint64_t) { return ++calls == 2 ? Status::Aborted("enough") : Status(); }),
              StatusIs(Code::kAborted));
  EXPECT_EQ(calls, 2);
}

TEST_F(CopyFileTest, AnErrorOfAnyCallIsItsError) {
  ASSERT_OK(files_.WriteWhole("/d/source", "bytes"));
  uint64_t nth = 0;
  for (bool was_hit = true; was_hit;) {
    const uint64_t before = files_.faults_hit();
    files_.AddFault({.op = testing::FileOp::kAny, .nth = ++nth});
    const Status status = Copy();
    was_hit = files_.faults_hit() > before;
    EXPECT_EQ(status.IsIOError(), was_hit) << nth << ": " << status.ToString();
    files_.ClearFaults();
    (void)files_.Remove("/d/target");
  }
  EXPECT_GE(nth, 6u) << "two opens, a read, a write, a sync and a close";
}

TEST_F(CopyFileTest, ANewFileHasItsBytesDurablyOrTheErrorIsReturned) {
  ASSERT_OK(WriteNewFile(&files_, "/d/new", "bytes"));
  for (const char* directory : {"/", "/d"}) ASSERT_OK(files_.SyncDirectory(directory));
  const auto after = files_.Crash(testing::CrashMode::kMin, testing::CrashModel::kStrict, 1);
  EXPECT_THAT(after->ReadWhole("/d/new"), testing::IsOkAndHolds("bytes"));
  EXPECT_THAT(WriteNewFile(&files_, "/d/new", "other"), StatusIs(Code::kInvalidArgument)) << "it exists";
  for (const testing::FileOp op : {testing::FileOp::kWrite, testing::FileOp::kSync}) {
    files_.AddFault({.op = op, .path_contains = "/d/failed"});
    EXPECT_THAT(WriteNewFile(&files_, "/d/failed", "bytes"), StatusIs(Code::kIOError));
    ASSERT_OK(files_.Remove("/d/failed"));
  }
}

}  // namespace
}  // namespace mergedb::env
