// Goal: reads return all bytes or an error that cannot be mistaken; a path that is no regular file is told from an
// error of the disk. Method: files in memory with injected errors, and links and pipes on the real file system.
#include "env/file_reads.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::env {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace mergedb::testing;

class FileReads : public ::testing::Test {
 protected:
  FileReads() { EXPECT_OK(files_.WriteWhole("/f", "0123456789")); }
  std::unique_ptr<File> Open() { return std::move(files_.Open("/f", {.access = Access::kRead})).value(); }

  FaultFileSystem files_;
};

TEST_F(FileReads, ReadExactlyReturnsTheBytesOrSaysWhereTheFileEnds) {
  const auto file = Open();
  char bytes[16] = {};
  ASSERT_OK(ReadExactly(file.get(), 3, 7, bytes));
  EXPECT_EQ(std::string(bytes, 7), "3456789");
  EXPECT_THAT(ReadExactly(file.get(), 4, 7, bytes),
              StatusIs(Code::kCorruption, AllOf(HasSubstr("ends at 10"), HasSubstr("at least 11 bytes"))));
  EXPECT_THAT(ReadExactly(file.get(), 20, 1, bytes), StatusIs(Code::kCorruption));
  EXPECT_OK(ReadExactly(file.get(), 10, 0, bytes));
}

// NotFound is what a Get returns for an absent key.
TEST_F(FileReads, AFileThatVanishedIsNoMissingKey) {
  EXPECT_OK(OfRead({}));
  EXPECT_THAT(OfRead(Status::Corruption("why")), StatusIs(Code::kCorruption, "why"));
  EXPECT_THAT(OfRead(Status::NotFound("/f: gone")), StatusIs(Code::kIOError, HasSubstr("/f: gone")));
  const auto file = Open();
  files_.AddFault({.op = FileOp::kRead, .sticky = true, .status = Status::NotFound("/f: gone")});
  char bytes[4];
  EXPECT_THAT(ReadExactly(file.get(), 0, 4, bytes), StatusIs(Code::kIOError, HasSubstr("/f: gone")));
}

TEST_F(FileReads, TheBeginningOfAShortFileIsAllOfIt) {
  EXPECT_THAT(ReadBeginning(&files_, "/f", 4), IsOkAndHolds("0123"));
  EXPECT_THAT(ReadBeginning(&files_, "/f", 10), IsOkAndHolds("0123456789"));
  EXPECT_THAT(ReadBeginning(&files_, "/f", 99), IsOkAndHolds("0123456789"));
  EXPECT_THAT(ReadBeginning(&files_, "/absent", 4), StatusIs(Code::kNotFound));
  files_.AddFault({.op = FileOp::kRead});
  EXPECT_THAT(ReadBeginning(&files_, "/f", 4), StatusIs(Code::kIOError));
}

TEST_F(FileReads, AnErrorOfTheDiskIsNotAnIrregularFile) {
  ASSERT_OK(files_.CreateDirectory("/directory"));
  for (const char* path : {"/directory", "/absent"}) {
    ASSERT_OK_AND_ASSIGN(const auto file, OpenIfRegular(&files_, path));
    EXPECT_EQ(file, nullptr) << path;
  }
  ASSERT_OK_AND_ASSIGN(const auto file, OpenIfRegular(&files_, "/f"));
  EXPECT_NE(file, nullptr);
  files_.AddFault({.op = FileOp::kOpen, .path_contains = "/f", .sticky = true});
  EXPECT_THAT(OpenIfRegular(&files_, "/f"), StatusIs(Code::kIOError));
}

TEST_F(FileReads, LinksAndPipesAreIrregularInTheRealFileSystem) {
  const TempDirectory directory;
  FileSystem* const files = DefaultEnv().file_system;
  ASSERT_EQ(symlink("/etc/hostname", (directory / "link").c_str()), 0);
  ASSERT_EQ(symlink("/nowhere", (directory / "dangling").c_str()), 0);
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "dangling", "pipe", ""}) {
    ASSERT_OK_AND_ASSIGN(const auto file, OpenIfRegular(files, directory / name));
    EXPECT_EQ(file, nullptr) << name;
  }
}

}  // namespace
}  // namespace mergedb::env
