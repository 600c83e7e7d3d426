// Goal: a file that is open for reading gives its descriptor back while no call uses it, and reads on afterwards;
// another file under its name is an error. Method: files in a directory, TakeBack between the calls, and beside reading
// threads.
#include "env/posix_read_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "env/descriptors.h"
#include "env/posix_file_system.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::env {
namespace {

using testing::StatusIs;

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class PosixReadFileTest : public ::testing::Test {
 protected:
  std::string Path(int i) const { return directory_.path() + "/" + std::to_string(i); }
  void Make(int i, const std::string& bytes) {
    ASSERT_OK_AND_ASSIGN(auto file, files_->Open(Path(i), {.access = Access::kCreate}));
    ASSERT_OK(file->WriteAt(0, bytes));
  }
  std::unique_ptr<File> Open(int i) {
    auto file = files_->Open(Path(i), {.access = Access::kRead});
    EXPECT_OK(file.status());
    return file ? std::move(*file) : nullptr;
  }
  static std::string Read(File& file, Status* status) {
    char bytes[16];
    size_t got = 0;
    *status = file.ReadAt(0, sizeof bytes, bytes, &got);
    return {bytes, got};
  }

  const testing::TempDirectory directory_;
  // Only below a held directory descriptors are taken back.
  const std::unique_ptr<FileSystem> bound_ = PosixFileSystem()->Bind(directory_.path()).value();
  FileSystem* const files_ = bound_.get();
};

TEST_F(PosixReadFileTest, ReadsOnAfterItsDescriptorWasTakenBack) {
  Make(1, "one");
  Make(2, "two");
  const auto one = Open(1), two = Open(2);
  const size_t before = OpenDescriptors();
  EXPECT_EQ(TakeBack(2), 2u);
  EXPECT_EQ(OpenDescriptors(), before - 2);
  EXPECT_EQ(TakeBack(2), 0u) << "none is left";
  Status status;
  EXPECT_EQ(Read(*one, &status), "one");
  EXPECT_OK(status);
  EXPECT_EQ(OpenDescriptors(), before - 1) << "only the file that is used";
  EXPECT_EQ(two->Size().value(), 3u);
  EXPECT_EQ(TakeBack(9), 2u);
  EXPECT_OK(one->Close());
}

TEST_F(PosixReadFileTest, TheFileThatWasUsedLatelyStaysOpen) {
  Make(1, "one");
  Make(2, "two");
  const auto one = Open(1), two = Open(2);
  EXPECT_EQ(TakeBack(1), 1u);  // takes the marks of both away, and the first file's descriptor
  const size_t before = OpenDescriptors();
  Status status;
  EXPECT_EQ(Read(*one, &status), "one");  // is marked
  EXPECT_EQ(TakeBack(1), 1u);
  EXPECT_EQ(Read(*one, &status), "one");
  EXPECT_EQ(OpenDescriptors(), before) << "the first file was open still";
}

TEST_F(PosixReadFileTest, AnotherFileUnderItsNameIsAnError) {
  Make(1, "one");
  const auto one = Open(1);
  EXPECT_EQ(TakeBack(1), 1u);
  ASSERT_OK(files_->Rename(Path(1), Path(3)));
  Make(1, "two");
  Status status;
  Read(*one, &status);
  EXPECT_THAT(status, StatusIs(Code::kIOError, ::testing::HasSubstr(Path(1))));
  ASSERT_OK(files_->Rename(Path(3), Path(1)));
  EXPECT_EQ(Read(*one, &status), "one");
  EXPECT_OK(status);
}

TEST_F(PosixReadFileTest, RefusesWrites) {
  Make(1, "one");
  const auto one = Open(1);
  EXPECT_FALSE(one->WriteAt(0, "x").ok());
  EXPECT_FALSE(one->Truncate(0).ok());
  EXPECT_FALSE(one->Map(4096).status().ok());
  EXPECT_OK(one->Sync());
}

TEST_F(PosixReadFileTest, ThreadsReadBesideThreadsThatTakeBack) {
  constexpr int kFiles = 8;
  std::vector<std::unique_ptr<File>> open;
  for (int i = 0; i < kFiles; ++i) {
    Make(i, "file " + std::to_string(i));
    open.push_back(Open(i));
  }
  const size_t before = OpenDescriptors();
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      base::Random random(thread);
      for (int n = 0; n < 3'000; ++n) {
        const size_t i = random.Uniform(kFiles);
        Status status;
        ASSERT_EQ(Read(*open[i], &status), "file " + std::to_string(i));
        ASSERT_OK(status);
      }
    });
  }
  threads.emplace_back([] {
    for (int n = 0; n < 3'000; ++n) TakeBack(2);
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(OpenDescriptors(), before) << "no descriptor is lost";
  TakeBack(kFiles);
  EXPECT_EQ(OpenDescriptors(), before - kFiles);
}

}  // namespace
}  // namespace mergedb::env
