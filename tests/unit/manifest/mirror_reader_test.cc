// Goal: the reader takes each record from the copy that is whole, tells damage from what a crash leaves, and reports
// the exact bytes of both. Method: files that MirrorWriter wrote, patched in one copy or in both; reads that fail.
// mirror_file_test.cc flips each byte, zeroes each page and cuts each length.
#include <gtest/gtest.h>

#include "manifest/mirror_file.h"
#include "manifest/mirror_layout.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::manifest {
namespace {

using testing::FaultFileSystem;
using ::testing::HasSubstr;
using testing::StatusIs;

const std::string kMirrorPath = "/d/MANIFEST-000001";

class MirrorReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    ASSERT_OK_AND_ASSIGN(writer_, MirrorWriter::Create(&files_, kMirrorPath, kIdentity));
  }
  // Returns the stream offset of the record.
  uint64_t Append(const std::string& payload) {
    const uint64_t offset = writer_->bytes();
    EXPECT_OK(writer_->Append(payload));
    written_.push_back(payload);
    return offset;
  }
  Result<MirrorContents> Read(const std::optional<MirrorEnd>& reached = {}) {
    read_.clear();
    return ReadMirror(
        &files_, kMirrorPath,
        [this](std::string_view payload) {
          read_.emplace_back(payload);
          return Status();
        },
        reached);
  }
  void Patch(int copy, uint64_t stream_offset, std::string_view bytes) {
    ASSERT_OK(files_.PatchBytes(kMirrorPath, MirrorOffset(stream_offset, copy), bytes));
  }
  void PatchBoth(uint64_t stream_offset, std::string_view bytes) {
    Patch(0, stream_offset, bytes);
    Patch(1, stream_offset, bytes);
  }
  std::string Stream(uint64_t offset, size_t bytes) { return files_.ReadWhole(kMirrorPath)->substr(offset, bytes); }

  const Identity kIdentity{.database_id = 7, .number = kv::FileNumber{1}};
  FaultFileSystem files_;
  std::unique_ptr<MirrorWriter> writer_;
  std::vector<std::string> written_, read_;
};

TEST_F(MirrorReaderTest, TakesEachRecordFromTheCopyThatIsWhole) {
  const uint64_t first = Append("first"), second = Append("second"), third = Append("third");
  Patch(0, first + 8, "F");
  Patch(1, second + 8, "S");
  Patch(0, third + 8, "T");
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(read_, written_);
  EXPECT_EQ(contents.repaired, 3u);
  ASSERT_EQ(contents.flaws.size(), 3u);
  EXPECT_EQ(contents.flaws[0].offset, first);
  EXPECT_EQ(contents.flaws[0].bytes, 8u + 5u);
  EXPECT_EQ(contents.flaws[1].offset, kPageBytes + second);
  EXPECT_EQ(contents.flaws[2].offset, third);
  EXPECT_TRUE(contents.tail.empty());
}

// The writer was killed while it wrote one copy of the last record.
TEST_F(MirrorReaderTest, ALastCopyThatEndsInZerosWasNotWritten) {
  for (const int copy : {0, 1}) {
    for (const size_t kept : {0, 1, 7, 8, 9, 11}) {
      SCOPED_TRACE(std::to_string(kept) + " bytes of copy " + std::to_string(copy));
      ASSERT_OK(files_.Remove(kMirrorPath));
      SetUp();
      written_.clear();
      Append("first");
      const uint64_t last = Append("last");
      Patch(copy, last + kept, std::string(8 + 4 - kept, '\0'));
      ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
      EXPECT_EQ(read_, written_);
      EXPECT_EQ(contents.repaired, 0u);
      EXPECT_TRUE(contents.flaws.empty());
    }
  }
}

TEST_F(MirrorReaderTest, ALastCopyWithBytesBehindTheFirstDifferenceIsDamaged) {
  Append("first");
  const uint64_t last = Append("last");
  Patch(1, last + 8, std::string("\0\0\0t", 4));
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(read_, written_);
  EXPECT_EQ(contents.repaired, 1u);
}

TEST_F(MirrorReaderTest, ACopyThatWasNotWrittenBeforeAnotherRecordIsDamaged) {
  const uint64_t first = Append("first");
  Append("last");
  Patch(1, first, std::string(8 + 5, '\0'));
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(contents.repaired, 1u);
  EXPECT_EQ(read_, written_);
}

TEST_F(MirrorReaderTest, BothHeadersDamagedIsNoManifestAndOneIsEnough) {
  Append("first");
  Patch(0, 20, "x");
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(contents.identity.database_id, 7u);
  EXPECT_EQ(contents.flaws.front().offset, 0u);
  EXPECT_EQ(contents.flaws.front().bytes, kMirrorHeaderBytes);
  Patch(1, 20, "x");
  EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("header")));
}

TEST_F(MirrorReaderTest, ANewerVersionIsNotSupported) {
  Append("first");
  std::string header = Stream(0, kMirrorHeaderBytes);
  header[16] = kFormatVersion + 1;
  base::StoreFixed32(header.data() + 32, base::Crc32c(std::string_view(header).substr(0, 32)));
  PatchBoth(0, header);
  EXPECT_THAT(Read(), StatusIs(Code::kNotSupported, HasSubstr("version 2")));
}

TEST_F(MirrorReaderTest, ABrokenLastRecordIsDroppedAndTold) {
  Append("first");
  const uint64_t last = Append("last");
  PatchBoth(last + 8, "L");
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(read_, std::vector<std::string>{"first"});
  EXPECT_EQ(contents.dropped_bytes, 8u + 4u);
  ASSERT_EQ(contents.tail.size(), 2u);
  EXPECT_EQ(contents.tail[0].offset, last);
  EXPECT_EQ(contents.tail[0].bytes, 8u + 4u);
  EXPECT_EQ(contents.tail[1].offset, kPageBytes + last);
}

TEST_F(MirrorReaderTest, TheTailIsFromItsFirstToItsLastByte) {
  Append("first");
  const uint64_t end = writer_->bytes();
  Patch(1, end + 100, "x");
  Patch(1, end + 200, "y");
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  ASSERT_EQ(contents.tail.size(), 1u);
  EXPECT_EQ(contents.tail[0].offset, kPageBytes + end + 100);
  EXPECT_EQ(contents.tail[0].bytes, 101u);
  EXPECT_EQ(contents.dropped_bytes, 201u);
}

// Bytes of the second record are removed or inserted in both copies; the third record is whole, elsewhere.
TEST_F(MirrorReaderTest, FindsAWholeRecordBehindABrokenOneWhereverItLies) {
  Append("first");
  const uint64_t second = Append("the second"), third = Append("the third"), end = writer_->bytes();
  const std::string rest = Stream(third, end - third), whole = Stream(second, end - second);
  for (const int shift : {-5, -1, 0, 1, 7}) {
    SCOPED_TRACE(shift);
    PatchBoth(second, whole + std::string(10, '\0'));
    PatchBoth(second + 8, "THE");
    PatchBoth(third + static_cast<uint64_t>(static_cast<int64_t>(shift)), rest + std::string(20, '\0'));
    const auto contents = Read();
    EXPECT_THAT(contents, StatusIs(Code::kCorruption, HasSubstr("a whole record follows")));
    EXPECT_EQ(read_, std::vector<std::string>{"first"});
  }
}

TEST_F(MirrorReaderTest, ALengthBeyondTheStreamIsACutFile) {
  Append("first");
  const uint64_t end = writer_->bytes();
  const auto room = static_cast<uint32_t>(kPageBytes - end - kRecordHeaderBytes);
  char length[4];
  base::StoreFixed32(length, room);
  PatchBoth(end + 4, {length, 4});
  EXPECT_OK(Read());
  EXPECT_EQ(read_, written_);
  base::StoreFixed32(length, room + 1);
  PatchBoth(end + 4, {length, 4});
  EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("truncated?")));
  Patch(1, end + 4, std::string(4, '\0'));
  EXPECT_OK(Read()) << "in the other copy a record has room";
}

TEST_F(MirrorReaderTest, AFirstRecordThatIsBrokenIsNoCrash) {
  const uint64_t first = Append("first");
  PatchBoth(first + 8, "F");
  EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("first record")));
}

TEST_F(MirrorReaderTest, APayloadOfWhichAPartIsBrokenIsDroppedAsAWhole) {
  ASSERT_OK(files_.Remove(kMirrorPath));
  ASSERT_OK_AND_ASSIGN(writer_, MirrorWriter::Create(&files_, kMirrorPath, kIdentity, /*part_bytes_max=*/10));
  Append("first");
  const uint64_t parts = Append("0123456789abcdefghij");
  PatchBoth(parts + 8 + 10 + 8, "A");  // the second part
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(read_, std::vector<std::string>{"first"});
  EXPECT_EQ(contents.dropped_bytes, 2u * (8 + 10));
}

TEST_F(MirrorReaderTest, APairThatIsNotWholeMayHoldOnlyZeros) {
  Append("first");
  const std::string whole = *files_.ReadWhole(kMirrorPath);
  for (const size_t zeros : {size_t{1}, kPageBytes, 2 * kPageBytes - 1}) {
    ASSERT_OK(files_.WriteWhole(kMirrorPath, whole + std::string(zeros, '\0')));
    EXPECT_OK(Read()) << zeros;
    ASSERT_OK(files_.WriteWhole(kMirrorPath, whole + std::string(zeros - 1, '\0') + "x"));
    EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("expected a multiple"))) << zeros;
  }
}

TEST_F(MirrorReaderTest, APayloadLargerThanItsWindowIsWhole) {
  Append(std::string(300 << 10, 'x'));
  const uint64_t damaged = 40 + 8 + (256 << 10);
  Patch(0, damaged, "y");
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_TRUE(read_ == written_);
  EXPECT_EQ(contents.repaired, 1u);
}

TEST_F(MirrorReaderTest, AReadThatFailsIsNeverTakenForDamage) {
  Append("first");
  const uint64_t last = Append("last");
  PatchBoth(last + 8, "L");
  uint64_t nth = 0;
  for (bool was_hit = true; was_hit;) {
    const uint64_t before = files_.faults_hit();
    files_.AddFault({.op = testing::FileOp::kRead, .nth = ++nth});
    const Status status = Read().status();
    was_hit = files_.faults_hit() > before;
    EXPECT_EQ(status.IsIOError(), was_hit) << nth << ": " << status.ToString();
    files_.ClearFaults();
  }
  EXPECT_GT(nth, 3u);
}

}  // namespace
}  // namespace mergedb::manifest
