// What a run costs the machine: processor time, device traffic, disk space, memory.
//
// CPU is the figure to trust on a shared machine; wall time varies with the neighbours. Device bytes come from the
// block layer where the directory's device has counters (they then include the neighbours' traffic), else from what
// the kernel charges to this process; `source` says which.
#pragma once

#include <atomic>
#include <cstdint>
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
Cpu ProcessCpu();           // all threads, the harness's own samples included
double ThreadCpuSeconds();  // the calling thread

// CPU that the harness spent on looking, in nanoseconds: to be taken off. Only the sampler adds to it.
extern std::atomic<int64_t> harness_cpu_nanos;

struct DeviceBytes {
  uint64_t read = 0;
  uint64_t written = 0;
};
class DeviceCounter {
 public:
  explicit DeviceCounter(const std::string& directory);
  DeviceBytes Now() const;
  const std::string& source() const { return source_; }  // "/sys/block/vda/stat" or "/proc/self/io"

 private:
  std::string source_;
};

// Allocated bytes of the regular files in the directory tree; files that vanish on the way count as nothing.
uint64_t DirectoryBytes(const std::string& directory);
// Write what the page cache holds for this directory's file system to the device.
void SyncFileSystem(const std::string& directory);

// The most memory this process held since the last ResetRssPeak; files mapped by an engine included.
uint64_t RssPeakBytes();
void ResetRssPeak();

// Wait until the process, but for the calling thread and the harness, has used no CPU for a second. Returns the
// seconds at the end that were only waiting, to be taken off.
double WaitUntilIdle();

std::string CpuModel();
std::string KernelVersion();

}  // namespace mergedb::bench
