// Goal: a file that a reader holds is not overwritten, as long as it is held and not longer, under every name; the
// reads of a held file need neither its name nor a new descriptor; and a file is mapped only if it is held, and is held
// as long as it is mapped. Method: the same tests on real files and on files in memory.
#include "env/held_files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "env/descriptors.h"
#include "env/file_memory.h"
#include "env/hold.h"
#include "env/posix_file_system.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/write_lock.h"

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

  // From now on no reader can take a lock on the file.
  void RefuseLock(const std::string& name) {
    if (GetParam()) {
      refused_.emplace_back(std::make_unique<testing::WriteLock>(Path(name)));
    } else {
      memory_.SetCanHold(false);
    }
  }
  static std::unique_ptr<ReadMapping> Map(HeldFiles& held, const std::string& path) {
    auto file = held.Open(path, {});
    EXPECT_OK(file.status());
    auto mapping = (*file)->MapForReading(3);
    EXPECT_OK(mapping.status());
    return mapping ? std::move(*mapping) : nullptr;
  }
  static void ExpectBytes(const std::unique_ptr<ReadMapping>& mapping, std::string_view bytes) {
    ASSERT_NE(mapping, nullptr);
    EXPECT_EQ(std::string_view(mapping->data(), mapping->size()), bytes);
  }
  // Reads by calls work.
  static void ExpectNotMapped(HeldFiles& held, const std::string& path, const std::string& why) {
    auto file = held.Open(path, {});
    ASSERT_OK(file.status());
    EXPECT_THAT((*file)->MapForReading(3),
                StatusIs(Code::kNotSupported, ::testing::HasSubstr(path + ": map for reading: " + why)));
    EXPECT_EQ(ReadAll(**file), "one");
  }

  const testing::TempDirectory directory_;
  testing::FaultFileSystem memory_{{.maps_to_read = true}};
  FileSystem* const files_ = GetParam() ? PosixFileSystem() : &memory_;
  const std::string home_ = GetParam() ? directory_.path() + "/home" : "/home";
  std::vector<std::unique_ptr<testing::WriteLock>> refused_;
};

TEST_P(HeldFilesTest, AHeldFileIsNotOverwrittenUnderAnyName) {
  Create("a", "one");
  Create("b", "two");
  auto first = OpenHeld(*files_, Path("a"));
  auto second = OpenHeld(*files_, Path("a"));
  ASSERT_OK(first.status());
  ASSERT_OK(second.status());
  EXPECT_TRUE(first->is_held);
  EXPECT_THAT(Overwrite("a"), StatusIs(Code::kInvalidArgument));
  EXPECT_TRUE(IsHeld(*files_, Path("a")));
  EXPECT_FALSE(IsHeld(*files_, Path("b")));
  EXPECT_FALSE(IsHeld(*files_, Path("missing")));
  ASSERT_OK(files_->Rename(Path("a"), Path("c")));
  EXPECT_THAT(Overwrite("c"), StatusIs(Code::kInvalidArgument, ::testing::HasSubstr(Path("c"))));
  EXPECT_OK(Overwrite("b"));
  first->file = nullptr;
  EXPECT_THAT(Overwrite("c"), StatusIs(Code::kInvalidArgument)) << "the second reader";
  second->file = nullptr;
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
  for (const bool is_direct : {false, true, false}) {
    auto file = held.Open(Path("a"), {.direct = is_direct});
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

TEST_P(HeldFilesTest, HoldsNoMoreThanItMayTheNewestFirst) {
  const std::string oldest = "000012.tbl", second = "999999.val", newest = "1000000.tbl";
  for (const std::string& name : {oldest, second, newest}) Create(name, name);
  HeldFiles held(files_, 2);
  held.Hold({Path(oldest), Path(second), Path(newest)});
  EXPECT_EQ(held.count(), 2u);
  auto file = held.Open(Path(oldest), {});
  ASSERT_OK(file.status()) << "by its name";
  EXPECT_EQ(ReadAll(**file), oldest);
  EXPECT_OK(Overwrite(oldest));
  EXPECT_THAT(Overwrite(second), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Overwrite(newest), StatusIs(Code::kInvalidArgument));
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

// Symptom: readers hold no file any more, in the whole process. Cause: files that the end of an object and another
// thread let go at the same time were counted twice, and the number of all held files fell below zero.
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

TEST_P(HeldFilesTest, AFileWhoseLockIsRefusedIsOpenAndNotHeld) {
  Create("a", "one");
  RefuseLock("a");
  auto opened = OpenHeld(*files_, Path("a"));
  ASSERT_OK(opened.status());
  EXPECT_FALSE(opened->is_held);
  EXPECT_EQ(ReadAll(*opened->file), "one");
}

TEST(HeldFiles, AFileSystemWithoutHoldsHoldsNothing) {
  struct Plain final : FileSystem {
    Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) override {
      return memory.Open(path, options);
    }
    Status Remove(const std::string&) override { return {}; }
    Status Rename(const std::string&, const std::string&) override { return {}; }
    Result<std::vector<std::string>> List(const std::string& directory) override { return memory.List(directory); }
    Status CreateDirectory(const std::string& path) override { return memory.CreateDirectory(path); }
    Status RemoveDirectory(const std::string&) override { return {}; }
    Status SyncDirectory(const std::string&) override { return {}; }
    Result<uint64_t> SizeOf(const std::string& path) override { return memory.SizeOf(path); }
    Result<bool> IsDirectory(const std::string& path) override { return memory.IsDirectory(path); }
    Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return memory.Lock(path); }
    testing::FaultFileSystem memory{{.maps_to_read = true}};
  } plain;
  ASSERT_OK(plain.memory.WriteWhole("/a", "one"));
  auto opened = OpenHeld(plain, "/a");
  ASSERT_OK(opened.status());
  EXPECT_FALSE(opened->is_held);
  HeldFiles held(&plain, 10);
  held.Hold({"/a"});
  held.Confirm();
  const auto file = held.Open("/a", {});
  ASSERT_OK(file.status());
  EXPECT_THAT((*file)->MapForReading(3), StatusIs(Code::kNotSupported));
}

TEST_P(HeldFilesTest, MapsAHeldFileAfterTheNamesWereConfirmed) {
  Create("a", "one");
  HeldFiles held(files_, 10);
  held.Hold({Path("a")});
  ExpectNotMapped(held, Path("a"), "it is not known yet whether the name still exists");
  held.Confirm();
  ExpectBytes(Map(held, Path("a")), "one");
  held.Hold({Path("a")});
  ExpectBytes(Map(held, Path("a")), "one");
}

TEST_P(HeldFilesTest, ConfirmsOnlyWhatItHeldThen) {
  for (const char* name : {"a", "b"}) Create(name, "one");
  HeldFiles held(files_, 10);
  held.Hold({Path("a")});
  held.Confirm();
  held.Hold({Path("a"), Path("b")});
  ExpectBytes(Map(held, Path("a")), "one");
  ExpectNotMapped(held, Path("b"), "it is not known yet whether the name still exists");
  held.Hold({Path("b")});
  held.Hold({Path("a"), Path("b")});
  ExpectNotMapped(held, Path("a"), "it is not known yet whether the name still exists");
}

TEST_P(HeldFilesTest, MapsNoFileThatIsOpenedByItsName) {
  for (const char* name : {"a", "b", "c"}) Create(name, "one");
  HeldFiles held(files_, 1);
  held.Hold({Path("a"), Path("b")});
  held.Confirm();
  const std::string why = "the file is not held, so a writer may overwrite it";
  ExpectNotMapped(held, Path("a"), why);  // too many, and the oldest
  ExpectNotMapped(held, Path("c"), why);  // not asked for
}

TEST_P(HeldFilesTest, MapsNoFileWhoseLockWasRefused) {
  Create("a", "one");
  RefuseLock("a");
  HeldFiles held(files_, 10);
  held.Hold({Path("a")});
  held.Confirm();
  EXPECT_EQ(held.count(), 1u) << "reads need no name";
  ExpectNotMapped(held, Path("a"), "the file has no lock");
}

TEST_P(HeldFilesTest, AMappingHoldsItsFileWhateverLetsItGo) {
  enum How { kLetGoIdle, kHoldOthers, kEnd };
  for (const How how : {kLetGoIdle, kHoldOthers, kEnd}) {
    const std::string name = "a" + std::to_string(how);
    Create(name, "one");
    auto held = std::make_unique<HeldFiles>(files_, 10);
    held->Hold({Path(name)});
    held->Confirm();
    auto mapping = Map(*held, Path(name));
    switch (how) {
      case kLetGoIdle: CloseIdleFiles(); break;
      case kHoldOthers: held->Hold({}); break;
      case kEnd: held = nullptr; break;
    }
    ASSERT_OK(files_->Rename(Path(name), Path("spare")));
    EXPECT_TRUE(IsHeld(*files_, Path("spare"))) << how;
    EXPECT_THAT(Overwrite("spare"), StatusIs(Code::kInvalidArgument)) << how;
    ExpectBytes(mapping, "one");
    mapping = nullptr;
    CloseIdleFiles();
    EXPECT_FALSE(IsHeld(*files_, Path("spare"))) << how;
    EXPECT_OK(Overwrite("spare"));
    ASSERT_OK(files_->Remove(Path("spare")));
  }
}

TEST_P(HeldFilesTest, AFileThatWasLetGoIsNotMappedAgain) {
  Create("a", "one");
  HeldFiles held(files_, 10);
  held.Hold({Path("a")});
  held.Confirm();
  ExpectBytes(Map(held, Path("a")), "one");
  CloseIdleFiles();
  EXPECT_EQ(held.count(), 0u);
  EXPECT_OK(Overwrite("a"));
  ExpectNotMapped(held, Path("a"), "the file is not held");
}

// The mapping is a hint: a file that is refused is read by calls, and no budget is used for it.
TEST_P(HeldFilesTest, FileMemoryReadsARefusedFileByCalls) {
  Create("a", "one");
  HeldFiles held(files_, 0);
  held.Hold({Path("a")});
  held.Confirm();
  auto file = held.Open(Path("a"), {});
  ASSERT_OK(file.status());
  for (const bool maps_all : {false, true}) {
    FileMemory memory(100, 100, maps_all);
    const auto mapping = memory.Map(file->get(), "file", 3);
    ASSERT_OK(mapping.status());
    EXPECT_EQ(*mapping, nullptr);
    EXPECT_EQ(memory.mapped().bytes_left(), 100u);
  }
}

INSTANTIATE_TEST_SUITE_P(, HeldFilesTest, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Posix" : "Memory"; });

}  // namespace
}  // namespace mergedb::env
