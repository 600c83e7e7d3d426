// A file that stores each byte twice: no single damage loses a record. Method: a small file is damaged in every
// way.
#include "manifest/mirror_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "env/posix_file_system.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::manifest {
namespace {

using testing::FaultFileSystem;
using ::testing::HasSubstr;
using testing::StatusIs;

const std::string kPath = "/d/MANIFEST-000001";

class MirrorFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    written_.clear();
    ASSERT_OK_AND_ASSIGN(writer_,
                         MirrorWriter::Create(&files_, kPath, {.database_id = 7, .number = kv::FileNumber{1}}));
  }
  void Append(const std::string& record) {
    ASSERT_OK(writer_->Append(record));
    written_.push_back(record);
  }
  Result<MirrorContents> Read() {
    read_.clear();
    return ReadMirror(&files_, kPath, [this](std::string_view record) {
      read_.emplace_back(record);
      return Status();
    });
  }
  std::string Bytes() { return *files_.ReadWhole(kPath); }

  FaultFileSystem files_;
  std::unique_ptr<MirrorWriter> writer_;
  std::vector<std::string> written_, read_;
};

TEST_F(MirrorFileTest, GivesBackWhatWasAppended) {
  Append("one");
  Append(std::string(100'000, 'x'));  // several pages
  Append("three");
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(read_, written_);
  EXPECT_EQ(contents.identity.database_id, 7u);
  EXPECT_EQ(contents.identity.number, kv::FileNumber{1});
  EXPECT_EQ(contents.records, 3u);
  EXPECT_EQ(contents.repaired + contents.dropped_bytes, 0u);
  EXPECT_EQ(Bytes().size() % (2 * kPageBytes), 0u);
}

TEST_F(MirrorFileTest, AFileOfOneRecordIsWrittenFromFrontToBack) {
  FaultFileSystem appended({.is_append_only = true});
  ASSERT_OK(appended.CreateDirectory("/d"));
  for (const size_t bytes : {size_t{1}, kPageBytes - 40 - 8 - 8, kPageBytes - 40 - 8 - 7, size_t{100'000}}) {
    const std::string record(bytes, 'x');
    const std::string path = "/d/" + std::to_string(bytes);
    ASSERT_OK(MirrorWriter::WriteWhole(&appended, path, {.database_id = 7, .number = kv::FileNumber{1}}, record));
    std::string read;
    ASSERT_OK_AND_ASSIGN(const MirrorContents contents, ReadMirror(&appended, path, [&](std::string_view found) {
                           read = found;
                           return Status();
                         }));
    EXPECT_EQ(read, record);
    EXPECT_EQ(contents.records, 1u);
    EXPECT_EQ(contents.repaired + contents.dropped_bytes, 0u);
    EXPECT_TRUE(contents.flaws.empty() && contents.tail.empty());
  }
}

TEST_F(MirrorFileTest, AFileOfOneRecordTellsOfEveryFailedCall) {
  for (const testing::FileOp op : {testing::FileOp::kCreate, testing::FileOp::kOpen, testing::FileOp::kWrite,
                                   testing::FileOp::kSync, testing::FileOp::kClose}) {
    uint64_t nth = 0;
    for (bool was_hit = true; was_hit;) {
      FaultFileSystem appended({.is_append_only = true});
      ASSERT_OK(appended.CreateDirectory("/d"));
      appended.AddFault({.op = op, .nth = ++nth});
      const Status status =
          MirrorWriter::WriteWhole(&appended, "/d/1", {.database_id = 7, .number = kv::FileNumber{1}}, "record")
              .status();
      was_hit = appended.faults_hit() > 0;
      EXPECT_EQ(status.IsIOError(), was_hit) << status.ToString();
    }
    EXPECT_GT(nth, op == testing::FileOp::kOpen ? 0u : 1u) << testing::OpName(op);
  }
}

TEST_F(MirrorFileTest, SurvivesAnyFlippedByteOfEitherCopy) {
  Append("one");
  Append("two");
  for (const size_t copy : {size_t{0}, kPageBytes}) {
    for (size_t at = 0; at < 80; ++at) {
      ASSERT_OK(files_.FlipBit(kPath, copy + at, static_cast<int>(at % 8)));
      ASSERT_OK(Read());
      EXPECT_EQ(read_, written_) << "byte " << at;
      ASSERT_OK(files_.FlipBit(kPath, copy + at, static_cast<int>(at % 8)));
    }
  }
}

TEST_F(MirrorFileTest, CountsADamagedHeaderOfEitherCopy) {
  Append("one");
  for (const size_t at : {size_t{3}, kPageBytes + 3}) {
    ASSERT_OK(files_.FlipBit(kPath, at, 0));
    ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
    EXPECT_EQ(read_, written_);
    EXPECT_EQ(contents.repaired, 1u) << at;
    EXPECT_EQ(contents.flaws.size(), 1u) << at;
    ASSERT_OK(files_.FlipBit(kPath, at, 0));
  }
}

TEST_F(MirrorFileTest, SurvivesALostPage) {
  for (int i = 0; i < 50; ++i) Append(std::string(2000, static_cast<char>('a' + i % 26)));
  const std::string whole = Bytes();
  for (size_t page = 0; page < whole.size(); page += kPageBytes) {
    std::string damaged = whole;
    damaged.replace(page, kPageBytes, kPageBytes, '\0');
    ASSERT_OK(files_.WriteWhole(kPath, damaged));
    ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
    EXPECT_EQ(read_, written_) << "page at " << page;
    EXPECT_EQ(contents.dropped_bytes, 0u);
  }
}

TEST_F(MirrorFileTest, RefusesEveryShorterLength) {
  for (int i = 0; i < 50; ++i) Append(std::string(2000, static_cast<char>('a' + i % 26)));
  const std::string whole = Bytes();
  ASSERT_GT(whole.size(), 2 * kPageBytes);
  for (size_t length = 0; length < whole.size(); length += 8192) {
    ASSERT_OK(files_.WriteWhole(kPath, std::string_view(whole).substr(0, length)));
    EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr(kPath))) << length;
  }
}

// Symptom: a MANIFEST that was cut at the end of a pair, where a record ends, looked complete. Cause: the writer
// added the next pair only when a record needed it, so a missing pair proved nothing.
TEST_F(MirrorFileTest, RefusesAFileCutWhereARecordEnds) {
  for (const uint64_t short_by : {0, 1, 7, 8}) {
    SCOPED_TRACE(short_by);
    ASSERT_OK(files_.Remove(kPath));
    SetUp();
    Append(std::string(kPageBytes - short_by - 8 - writer_->bytes(), 'x'));
    ASSERT_EQ(writer_->bytes(), kPageBytes - short_by);
    ASSERT_OK(Read());
    Append("lost");
    ASSERT_OK(files_.WriteWhole(kPath, Bytes().substr(0, 2 * kPageBytes)));
    EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("truncated")));
  }
}

// Symptom: after a process was killed while it added a pair of pages, no open accepted the MANIFEST.
TEST_F(MirrorFileTest, TakesAPairThatACrashLeftHalfMadeForNone) {
  Append("one");
  files_.AddFault({.op = testing::FileOp::kWrite, .partial_bytes = 12'288});
  EXPECT_THAT(writer_->Append(std::string(kPageBytes, 'x')), StatusIs(Code::kIOError));
  ASSERT_NE(Bytes().size() % (2 * kPageBytes), 0u);
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(read_, written_);
  EXPECT_EQ(contents.dropped_bytes, 0u);
}

TEST_F(MirrorFileTest, DropsARecordOfWhichBothCopiesAreTorn) {
  Append("one");
  const uint64_t end = writer_->bytes();
  Append("two");
  for (const size_t copy : {size_t{0}, kPageBytes}) ASSERT_OK(files_.FlipBit(kPath, copy + end + 8, 0));
  ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
  EXPECT_EQ(read_, std::vector<std::string>{"one"});
  EXPECT_EQ(contents.dropped_bytes, 8u + 3u);
}

// Symptom: damage to both copies of a record dropped all later records silently.
TEST_F(MirrorFileTest, AWholeRecordBehindABrokenOneIsDamage) {
  for (const char* record : {"one", "the second", "3", "the last one"}) Append(record);
  const std::string whole = Bytes();
  for (size_t at = 40; at < writer_->bytes() - 20; ++at) {  // up to the last record
    for (size_t other = 40; other < writer_->bytes() - 20; other += 7) {
      std::string bytes = whole;
      bytes[at] ^= 0x21;
      bytes[kPageBytes + other] ^= 0x12;
      ASSERT_OK(files_.WriteWhole(kPath, bytes));
      const auto contents = Read();
      if (contents) {
        EXPECT_EQ(read_, written_) << at << ", " << other;  // two records are damaged; each has a whole copy
      } else {
        EXPECT_THAT(contents, StatusIs(Code::kCorruption)) << at << ", " << other;
      }
    }
  }
}

// Symptom: after a kill between the two writes of an append, the next open reported damage.
TEST_F(MirrorFileTest, ASecondCopyThatWasNotWrittenIsNoDamageUnlessItWasDurable) {
  Append("one");
  const std::string before = Bytes();
  Append("the second");
  const std::string whole = Bytes();
  for (size_t bytes = 0; bytes < 18; ++bytes) {  // bytes of the second copy that were written
    std::string killed = whole;
    const size_t at = kPageBytes + writer_->bytes() - 18;
    killed.replace(at + bytes, 18 - bytes, before, at + bytes, 18 - bytes);
    ASSERT_OK(files_.WriteWhole(kPath, killed));
    ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
    EXPECT_EQ(read_, written_);
    EXPECT_EQ(contents.repaired, 0u);
    EXPECT_TRUE(contents.flaws.empty());
    ASSERT_OK_AND_ASSIGN(const MirrorContents durable,
                         ReadMirror(
                             &files_, kPath, [](std::string_view) { return Status(); }, writer_->end()));
    EXPECT_EQ(durable.repaired, 1u) << bytes;
  }
}

TEST_F(MirrorFileTest, RefusesAStreamThatDoesNotPassAKnownPoint) {
  Append("one");
  const MirrorEnd first = writer_->end();
  Append("two");
  const auto read = [&](const std::optional<MirrorEnd>& reached) {
    return ReadMirror(
               &files_, kPath, [](std::string_view) { return Status(); }, reached)
        .status();
  };
  EXPECT_OK(read(first));
  EXPECT_OK(read(writer_->end()));
  EXPECT_THAT(read(MirrorEnd{first.bytes, first.chain + 1}), StatusIs(Code::kCorruption, HasSubstr("older MANIFEST")));
  EXPECT_THAT(read(MirrorEnd{first.bytes + 1, first.chain}), StatusIs(Code::kCorruption));
  EXPECT_THAT(read(MirrorEnd{writer_->bytes() + 11, 5}), StatusIs(Code::kCorruption));
}

// Symptom: an edit of 1 GiB, with many large bounds, stopped the process. This test uses a small limit.
TEST_F(MirrorFileTest, APayloadLargerThanARecordIsOnePayload) {
  ASSERT_OK(files_.Remove(kPath));
  ASSERT_OK_AND_ASSIGN(writer_,
                       MirrorWriter::Create(&files_, kPath, {.database_id = 7, .number = kv::FileNumber{1}}, 1000));
  for (const size_t bytes : {size_t{1}, size_t{999}, size_t{1000}, size_t{1001}, size_t{2000}, size_t{70'000}}) {
    Append(std::string(bytes, static_cast<char>('a' + written_.size())));
    ASSERT_OK_AND_ASSIGN(const MirrorContents contents, Read());
    EXPECT_EQ(read_, written_);
    EXPECT_EQ(contents.dropped_bytes, 0u);
  }
  FaultFileSystem appended({.is_append_only = true});
  ASSERT_OK(appended.CreateDirectory("/d"));
  ASSERT_OK_AND_ASSIGN(const MirrorEnd end,
                       MirrorWriter::WriteWhole(&appended, kPath, {.database_id = 7, .number = kv::FileNumber{1}},
                                                written_.back(), 1000));
  std::string read;
  const auto keep = [&](std::string_view found) {
    read = found;
    return Status();
  };
  ASSERT_OK(ReadMirror(&appended, kPath, keep, end));
  EXPECT_EQ(read, written_.back());
}

// A large file is allowed. A file with more bytes after its last record than a writer leaves is refused before
// they are read.
TEST_F(MirrorFileTest, AFileOfManyHolesIsRefusedAtOnce) {
  testing::TempDirectory directory;
  FileSystem* const files = env::PosixFileSystem();
  const std::string path = directory / "MANIFEST-000001";
  ASSERT_OK_AND_ASSIGN(auto writer, MirrorWriter::Create(files, path, {.database_id = 7, .number = kv::FileNumber{1}}));
  ASSERT_OK(writer->Append("one"));
  std::error_code error;
  std::filesystem::resize_file(path, uint64_t{1} << 42, error);
  if (error) GTEST_SKIP() << "no files of 4 TiB here: " << error.message();
  EXPECT_THAT(ReadMirror(files, path, [](std::string_view) { return Status(); }),
              StatusIs(Code::kCorruption, HasSubstr("behind the last record")));
}

// A power cut at any file operation of an append in many parts.
TEST_F(MirrorFileTest, ACrashWithinAPayloadOfManyPartsDropsAllOfIt) {
  ASSERT_OK(files_.Remove(kPath));
  ASSERT_OK_AND_ASSIGN(writer_,
                       MirrorWriter::Create(&files_, kPath, {.database_id = 7, .number = kv::FileNumber{1}}, 3000));
  Append("one");
  ASSERT_OK(files_.SyncDirectory("/d"));
  ASSERT_OK(files_.SyncDirectory("/"));
  const std::string large(10'000, 'x');
  files_.SetOpHook([&](uint64_t op, const char*, const std::string&) {
    for (const auto mode : testing::kPowerCutModes) {
      auto image = files_.Crash(mode, testing::CrashModel::kStrict, op);
      std::vector<std::string> read;
      ASSERT_OK(ReadMirror(image.get(), kPath, [&](std::string_view record) {
        read.emplace_back(record);
        return Status();
      }));
      ASSERT_TRUE(read == std::vector<std::string>{"one"} || read == std::vector<std::string>({"one", large}));
    }
  });
  ASSERT_OK(writer_->Append(large));
  files_.SetOpHook(nullptr);
}

TEST_F(MirrorFileTest, RefusesAFileWithoutAWholeHeaderOrRecord) {
  EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("first record")));
  for (const size_t copy : {size_t{0}, kPageBytes}) ASSERT_OK(files_.FlipBit(kPath, copy + 20, 3));
  EXPECT_THAT(Read(), StatusIs(Code::kCorruption, HasSubstr("header")));
}

TEST_F(MirrorFileTest, PassesOnWhatTheReaderSays) {
  Append("one");
  const auto refuse = [](std::string_view) { return Status::InvalidArgument("no"); };
  EXPECT_THAT(ReadMirror(&files_, kPath, refuse), StatusIs(Code::kInvalidArgument, HasSubstr(kPath)));
}

TEST_F(MirrorFileTest, TellsOfAFailedSync) {
  files_.AddFault({.op = testing::FileOp::kSync});
  EXPECT_THAT(writer_->Append("one"), StatusIs(Code::kIOError));
}

}  // namespace
}  // namespace mergedb::manifest
