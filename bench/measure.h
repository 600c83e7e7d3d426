// The cost of a run to the machine: CPU time, device traffic, disk space, memory.
//
// On a shared machine, CPU time is more reliable than wall-clock time, which depends on other programs. Device
// bytes are the counters of the block device of the directory if it has any; these include the traffic of other
// programs. Otherwise they are the bytes that the kernel charges to this process. `source` names the file that
// they come from.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace mergedb::bench {

double NowSeconds();
inline uint64_t NanosOf(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }
uint64_t NowNanos();

struct Cpu {
  double user_seconds = 0;
  double system_seconds = 0;
  double seconds() const { return user_seconds + system_seconds; }
};
Cpu ProcessCpu();           // all threads, including the harness's sampler
double ThreadCpuSeconds();  // the calling thread

// CPU time of the sampler in nanoseconds, which is subtracted from the results. Only the sampler adds to it.
extern std::atomic<int64_t> harness_cpu_nanos;

struct DeviceBytes {
  uint64_t read = 0;
  uint64_t written = 0;
};
// The counters of a line of a block device's stat file; nullopt if the line is none.
std::optional<DeviceBytes> ParseBlockStat(const std::string& line);

class DeviceCounter {
 public:
  explicit DeviceCounter(const std::string& directory);
  DeviceBytes Now() const;
  const std::string& source() const { return source_; }  // "/sys/block/vda/stat" or "/proc/self/io"
  // False on a file system without a block device, such as tmpfs. Then no counter shows the writes of the page cache.
  bool is_block_device() const { return is_block_device_; }

 private:
  std::string source_;
  bool is_block_device_;
};

// The bytes of the regular files in a directory tree.
struct DirectorySize {
  uint64_t allocated = 0;
  uint64_t apparent = 0;
};
DirectorySize LargestOf(DirectorySize a, DirectorySize b);  // of each of the two sizes
// Files that disappear during the count are left out.
DirectorySize SizeOfDirectory(const std::string& directory);
// Writes the dirty pages of the directory's file system to the device.
void SyncFileSystem(const std::string& directory);

// The peak of resident memory since the last ResetRssPeak, including files that an engine maps.
uint64_t RssPeakBytes();
void ResetRssPeak();
uint64_t RssBytes();

// Waits until all threads except the caller and the harness have used no CPU for a second. Returns the seconds
// of the wait that only detect this; the caller subtracts them.
double WaitUntilIdle();

std::string CpuModel();
std::string KernelVersion();

}  // namespace mergedb::bench
