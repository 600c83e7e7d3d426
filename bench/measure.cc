#include "bench/measure.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace mergedb::bench {
namespace {

uint64_t Nanos(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

double Seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + time.tv_usec * 1e-6; }

// The value of a "name: value" line of the file.
uint64_t NumberAfter(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10);
  }
  return 0;
}

// The stat file of the whole disk of a directory; empty if its file system has none.
std::string DiskStatFile(const std::string& directory) {
  struct stat about;
  if (stat(directory.c_str(), &about) != 0) return {};
  const std::filesystem::path link =
      "/sys/dev/block/" + std::to_string(major(about.st_dev)) + ":" + std::to_string(minor(about.st_dev));
  std::error_code error;
  std::filesystem::path device = std::filesystem::canonical(link, error);
  if (error) return {};
  if (std::filesystem::exists(device / "partition", error)) device = device.parent_path();
  const std::string stat_file = "/sys/block/" + device.filename().string() + "/stat";
  return std::filesystem::exists(stat_file, error) ? stat_file : std::string();
}

}  // namespace

std::atomic<int64_t> harness_cpu_nanos{0};

uint64_t NowNanos() { return Nanos(CLOCK_MONOTONIC); }
double NowSeconds() { return static_cast<double>(NowNanos()) * 1e-9; }
double ThreadCpuSeconds() { return static_cast<double>(Nanos(CLOCK_THREAD_CPUTIME_ID)) * 1e-9; }

Cpu ProcessCpu() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return {.user_seconds = Seconds(usage.ru_utime), .system_seconds = Seconds(usage.ru_stime)};
}

std::optional<DeviceBytes> ParseBlockStat(const std::string& line) {
  std::istringstream words(line);
  uint64_t fields[7] = {};  // reads, merged, sectors read, ms, writes, merged, sectors written
  for (uint64_t& field : fields) {
    if (!(words >> field)) return std::nullopt;
  }
  constexpr uint64_t kSectorBytes = 512;  // for every device
  return DeviceBytes{.read = fields[2] * kSectorBytes, .written = fields[6] * kSectorBytes};
}

DeviceCounter::DeviceCounter(const std::string& directory)
    : source_(DiskStatFile(directory)), is_block_device_(!source_.empty()) {
  if (!is_block_device_) source_ = "/proc/self/io";
}

DeviceBytes DeviceCounter::Now() const {
  if (!is_block_device_) {
    return {.read = NumberAfter("/proc/self/io", "read_bytes: "),
            .written = NumberAfter("/proc/self/io", "write_bytes: ")};
  }
  std::ifstream file(source_);
  std::string line;
  std::getline(file, line);
  return ParseBlockStat(line).value_or(DeviceBytes{});
}

DirectorySize LargestOf(DirectorySize a, DirectorySize b) {
  return {.allocated = std::max(a.allocated, b.allocated), .apparent = std::max(a.apparent, b.apparent)};
}

DirectorySize SizeOfDirectory(const std::string& directory) {
  DirectorySize size;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    struct stat about;
    if (lstat(it->path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    size.allocated += static_cast<uint64_t>(about.st_blocks) * 512;
    size.apparent += static_cast<uint64_t>(about.st_size);
  }
  return size;
}

void SyncFileSystem(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return;
  syncfs(fd);
  close(fd);
}

uint64_t RssPeakBytes() { return NumberAfter("/proc/self/status", "VmHWM:") * 1024; }
uint64_t RssBytes() { return NumberAfter("/proc/self/status", "VmRSS:") * 1024; }
void ResetRssPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

double WaitUntilIdle() {
  constexpr double kWindow = 0.05, kIdle = 1.0, kBusyShare = 0.05;
  const auto others = [] {
    return ProcessCpu().seconds() - ThreadCpuSeconds() - static_cast<double>(harness_cpu_nanos.load()) * 1e-9;
  };
  double busy_until = NowSeconds();
  double spent = others();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::duration<double>(kWindow));
    const double now = NowSeconds(), spent_now = others();
    if (spent_now - spent > kWindow * kBusyShare) busy_until = now;
    spent = spent_now;
    if (now - busy_until >= kIdle) return now - busy_until;
  }
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string KernelVersion() {
  utsname about;
  return uname(&about) == 0 ? std::string(about.sysname) + " " + about.release : "unknown";
}

}  // namespace mergedb::bench
