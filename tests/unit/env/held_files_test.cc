// Goal: a file that a reader holds is not overwritten, as long as it is held and not longer, under every name; and the reads
// of a held file need neither its name nor a new descriptor. Method: the same tests on real files and on files in memory.
#include "env/held_files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "env/descriptors.h"
#include "env/hold.h"
#include "env/posix_file_system.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::env {
namespace {

using testing::StatusIs;

class HeldFilesTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { ASSERT_OK(files_->CreateDirectory(home_)); }
  std::string Path(const std::string& name) const { return home_ + "/" + name; }
  void Create(const std::string& name, std::string_view bytes) {
    auto file = files_->Open(Path(name), {.access = Access::kCreate});
    ASSERT_OK(file.status());
    ASSERT_OK((*file)->WriteAt(0, bytes));
  }
  static std::string ReadAll(File& file) {
    std::string bytes(100, 0);
    size_t got = 0;
    EXPECT_OK(file.ReadAt(0, bytes.size(), bytes.data(), &got));
    return bytes.substr(0, got);
  }
  Status Overwrite(const std::string& name) { return files_->Open(Path(name), {.access = Access::kReuse}).status(); }

  const testing::TempDirectory directory_;
  testing::FaultFileSystem memory_;
  FileSystem* const files_ = GetParam() ? PosixFileSystem() : &memory_;
  const std::string home_ = GetParam() ? directory_.path() + "/home" : "/home";
};

TEST_P(HeldFilesTest, AHeldFileIsNotOverwrittenUnderAnyName) {
  Create("a", "one");
  Create("b", "two");
  auto first = OpenHeld(*files_, Path("a"));
  auto second = OpenHeld(*files_, Path("a"));
  ASSERT_OK(first.status());
  ASSERT_OK(second.status());
  EXPECT_THAT(Overwrite("a"), StatusIs(Code::kInvalidArgument));
  EXPECT_TRUE(IsHeld(*files_, Path("a")));
  EXPECT_FALSE(IsHeld(*files_, Path("b")));
  EXPECT_FALSE(IsHeld(*files_, Path("missing")));
  ASSERT_OK(files_->Rename(Path("a"), Path("c")));
  EXPECT_THAT(Overwrite("c"), StatusIs(Code::kInvalidArgument, ::testing::HasSubstr(Path("c"))));
  EXPECT_OK(Overwrite("b"));
  *first = nullptr;
  EXPECT_THAT(Overwrite("c"), StatusIs(Code::kInvalidArgument)) << "the second reader";
  *second = nullptr;
  EXPECT_OK(Overwrite("c"));
  EXPECT_OK(Overwrite("c")) << "a writer keeps no other writer out";
}

TEST_P(HeldFilesTest, AnOpenWithoutAHoldKeepsNoWriterOut) {
  Create("a", "one");
  const auto file = files_->Open(Path("a"), {});
  ASSERT_OK(file.status());
  EXPECT_OK(Overwrite("a"));
}

TEST_P(HeldFilesTest, ReadsGoOnAfterTheNameIsGone) {
  Create("a", "one");
  Create("b", "two");
  HeldFiles held(files_, 10);
  held.Hold({Path("a"), Path("b"), Path("missing")});
  EXPECT_EQ(held.count(), 2u);
  ASSERT_OK(files_->Remove(Path("a")));
  for (int i = 0; i < 3; ++i) {
    auto file = held.Open(Path("a"), {});
    ASSERT_OK(file.status());
    EXPECT_EQ(ReadAll(**file), "one");
    EXPECT_THAT((*file)->Size(), testing::IsOkAndHolds(3u));
    EXPECT_THAT((*file)->WriteAt(0, "x"), StatusIs(Code::kNotSupported));
  }
  EXPECT_THAT(held.Open(Path("missing"), {}), StatusIs(Code::kNotFound));
}

TEST_P(HeldFilesTest, HoldsWhatTheLastCallNamed) {
  Create("a", "one");
  Create("b", "two");
  HeldFiles held(files_, 10);
  held.Hold({Path("a")});
  const auto open = held.Open(Path("a"), {});
  ASSERT_OK(open.status());
  held.Hold({Path("b")});
  EXPECT_EQ(held.count(), 1u);
  EXPECT_THAT(Overwrite("a"), StatusIs(Code::kInvalidArgument)) << "an open file still uses it";
  EXPECT_THAT(Overwrite("b"), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(ReadAll(**open), "one");
}

TEST_P(HeldFilesTest, HoldsNoMoreThanItMay) {
  for (const char* name : {"a", "b", "c"}) Create(name, name);
  HeldFiles held(files_, 2);
  held.Hold({Path("a"), Path("b"), Path("c")});
  EXPECT_EQ(held.count(), 2u);
  auto third = held.Open(Path("c"), {});
  ASSERT_OK(third.status()) << "by its name";
  EXPECT_EQ(ReadAll(**third), "c");
  EXPECT_OK(Overwrite("c"));
}

TEST_P(HeldFilesTest, LetsUnusedFilesGoIfTheProcessRunsOutOfDescriptors) {
  for (const char* name : {"a", "b"}) Create(name, name);
  HeldFiles held(files_, 10);
  held.Hold({Path("a"), Path("b")});
  const auto used = held.Open(Path("a"), {});
  ASSERT_OK(used.status());
  CloseIdleFiles();
  EXPECT_EQ(held.count(), 1u);
  EXPECT_THAT(Overwrite("a"), StatusIs(Code::kInvalidArgument));
  EXPECT_OK(Overwrite("b"));
}

// Symptom: readers hold no file any more, in the whole process. Cause: files that the end of an object and another thread
// let go at the same time were counted twice, and the number of all held files fell below zero.
TEST_P(HeldFilesTest, TheEndOfAnObjectBesideACallThatLetsFilesGoCountsEachFileOnce) {
  std::set<std::string> paths;
  for (char name = 'a'; name < 'i'; ++name) {
    Create({name}, "bytes");
    paths.insert(Path({name}));
  }
  std::atomic<bool> is_over = false;
  std::thread beside([&] {
    while (!is_over) CloseIdleFiles();
  });
  for (int i = 0; i < 2000; ++i) {
    HeldFiles held(files_, 8);
    held.Hold(paths);
  }
  is_over = true;
  beside.join();
  HeldFiles held(files_, 8);
  held.Hold(paths);
  EXPECT_EQ(held.count(), 8u);
}

INSTANTIATE_TEST_SUITE_P(, HeldFilesTest, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Posix" : "Memory"; });

}  // namespace
}  // namespace mergedb::env
