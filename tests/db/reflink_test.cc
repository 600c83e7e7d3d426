// Goal: a program copies the directory of an open database by reflink (`cp` on XFS), the disk fills up, and
// the database goes on: writes return OK or NoSpace. Without File::Unshare the first store to a page of the
// mapped WAL buffer raises SIGBUS, and the WAL fails.
// Method: an XFS file system in a file, mounted by the test. It needs root, loop devices and mkfs.xfs
// (Debian: xfsprogs); the test is skipped elsewhere.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "mergedb/db.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::reflink_test {
namespace {

bool RunsWell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

class Mounted {
 public:
  explicit Mounted(const std::string& directory) : path_(directory + "/mount") {
    const std::string image = directory + "/image";
    is_mounted_ = geteuid() == 0 && RunsWell("truncate -s 320M " + image) && RunsWell("mkfs.xfs -q " + image) &&
                  std::filesystem::create_directory(path_) && RunsWell("mount -o loop " + image + " " + path_);
  }
  ~Mounted() {
    if (is_mounted_) RunsWell("umount " + path_);
  }
  explicit operator bool() const { return is_mounted_; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  bool is_mounted_ = false;
};

// Calls filefrag (e2fsprogs, present in every Debian).
bool SharesBlocks(const std::string& path) { return RunsWell("filefrag -v " + path + " | grep shared"); }

void FillUp(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (size_t bytes : {size_t{1} << 20, size_t{1} << 12}) {
    file.clear();
    const std::string zeros(bytes, '\0');
    while (file.write(zeros.data(), static_cast<std::streamsize>(zeros.size())).flush()) {}
  }
}

std::string KeyOf(int i) { return "key " + std::to_string(i); }

TEST(Reflink, AFullDiskAfterACopyOfTheOpenDirectoryIsNoSpace) {
  testing::TempDirectory directory;
  const Mounted xfs(directory.path());
  if (!xfs) GTEST_SKIP() << "no XFS can be mounted here (root, loop devices, xfsprogs)";
  const std::string path = xfs.path() + "/db";
  Options options;
  options.write_buffer_bytes = size_t{1} << 20;
  auto opened = DB::Open(options, path);
  ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
  auto db = std::move(*opened);
  const std::string value(4000, 'v');
  ASSERT_OK(db->Put({}, KeyOf(0), value));
  if (!RunsWell("cp -r --reflink=always " + path + " " + xfs.path() + "/copy"))
    GTEST_SKIP() << "this XFS makes no copies by reflink";
  ASSERT_TRUE(SharesBlocks(path + "/STAGING"));
  for (int i = 0; i < 600 && SharesBlocks(path + "/STAGING"); ++i) {
    ASSERT_OK(db->Put({}, KeyOf(1), value));  // while there are writes, the WAL checks the file once a second
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSERT_FALSE(SharesBlocks(path + "/STAGING"));
  FillUp(xfs.path() + "/fill");

  // More than one lap of the WAL buffer, so that a write stores to each of its pages.
  int written = 2;
  bool was_full = false;
  for (; written < 4000 && !was_full; ++written) {
    const Status status = db->Put({}, KeyOf(written), value);
    was_full = !status.ok();
    EXPECT_TRUE(status.ok() || status.code() == Code::kNoSpace) << status.ToString();
  }
  EXPECT_TRUE(was_full);
  const int acknowledged = written - 1;
  std::filesystem::remove(xfs.path() + "/fill");
  Status status = db->Put({}, "after", value);
  for (int i = 0; i < 300 && !status.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    status = db->Put({}, "after", value);
  }
  EXPECT_OK(status);
  ASSERT_OK(db->Close());
  db.reset();

  auto reopened = DB::Open(options, path);
  ASSERT_TRUE(reopened.has_value()) << reopened.error().ToString();
  std::string found;
  for (int i = 0; i < acknowledged; ++i) ASSERT_OK((*reopened)->Get({}, KeyOf(i), &found)) << i;
  EXPECT_OK((*reopened)->Get({}, "after", &found));
  ASSERT_OK((*reopened)->Close());
}

}  // namespace
}  // namespace mergedb::reflink_test
