// Goal: the free memory is that of the system or, if less, what the limit of the control group leaves. Method: the
// files of Linux as they are with versions 1 and 2 of control groups, in a directory of the test.
#include "env/free_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/temp_directory.h"

namespace mergedb::env {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

class FreeMemoryTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void WriteMeminfo() {
    Write("/proc/meminfo", "MemTotal:       24683648 kB\nMemFree:         8388608 kB\nMemAvailable:   22703104 kB\n");
  }
  uint64_t Mebibytes() { return FreeMemoryBytes(root_.path()) / kMebibyte; }

  testing::TempDirectory root_;
};

TEST_F(FreeMemoryTest, IsThatOfTheSystemWithoutAGroup) {
  WriteMeminfo();
  EXPECT_EQ(Mebibytes(), 8'192u);
}

TEST_F(FreeMemoryTest, IsNoneIfTheSystemDoesNotTell) {
  EXPECT_EQ(Mebibytes(), 0u);
  Write("/proc/meminfo", "MemTotal: 1 kB\nMemFree: much\n");
  EXPECT_EQ(Mebibytes(), 0u);
}

TEST_F(FreeMemoryTest, IsWhatTheLimitOfVersion2Leaves) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "0::/user.slice\n");
  Write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  Write("/sys/fs/cgroup/user.slice/memory.current", "1048576\n");
  EXPECT_EQ(Mebibytes(), 8'192u) << "no limit";
  Write("/sys/fs/cgroup/user.slice/memory.max", "536870912\n");
  EXPECT_EQ(Mebibytes(), 511u);
  Write("/sys/fs/cgroup/user.slice/memory.current", "536870913\n");
  EXPECT_EQ(Mebibytes(), 0u) << "over the limit";
}

TEST_F(FreeMemoryTest, IsWhatTheLimitOfVersion1Leaves) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "9:cpu,cpuacct:/other\n4:memory:/docker/1\n0::/\n");
  Write("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "104857600\n");
  Write("/sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "52428800\n");
  EXPECT_EQ(Mebibytes(), 50u);
}

// The path of the group is one outside of the container.
TEST_F(FreeMemoryTest, WithinAContainerTheLimitIsAtTheTop) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "4:memory:/docker/1\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
  EXPECT_EQ(Mebibytes(), 100u);
}

TEST_F(FreeMemoryTest, TheMostIsAllMemoryOfTheSystemOrTheLimitItself) {
  const auto most = [&] { return MemoryBytesMax(root_.path()) / kMebibyte; };
  EXPECT_EQ(most(), 0u) << "the system does not tell";
  WriteMeminfo();
  EXPECT_EQ(most(), 24'105u);
  Write("/proc/self/cgroup", "4:memory:/docker/1\n0::/user.slice\n");
  Write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(most(), 24'105u);
  Write("/sys/fs/cgroup/user.slice/memory.max", "536870912\n");
  Write("/sys/fs/cgroup/user.slice/memory.current", "536870912\n");
  EXPECT_EQ(most(), 512u);
  Write("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "104857600\n");
  EXPECT_EQ(most(), 100u);
}

}  // namespace
}  // namespace mergedb::env
