// A thread that samples a running benchmark a few times a second: operations, bytes on disk, sorted runs,
// device bytes, bytes that compactions still have to rewrite, memory. The caller subtracts the thread's CPU time
// from the process's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/engines/engine.h"
#include "bench/measure.h"

namespace mergedb::bench {

struct Sample {
  double seconds = 0;
  int64_t ops = 0;
  uint64_t disk_bytes = 0;
  int64_t runs = 0;
  uint64_t device_bytes_written = 0;
  int64_t pending_compaction_bytes = -1;
  uint64_t rss_bytes = 0;
};

class Sampler {
 public:
  // REQUIRES: all arguments outlive the sampler.
  Sampler(Engine* engine, const std::string& path, const DeviceCounter* device, std::function<int64_t()> ops);
  ~Sampler() { Stop(); }

  void Stop();  // takes a last sample
  // REQUIRES: Stop() has returned.
  const std::vector<Sample>& samples() const { return samples_; }
  int64_t write_memory_bytes_peak() const { return write_memory_bytes_peak_; }
  DirectorySize size_peak() const { return size_peak_; }
  double cpu_seconds() const { return cpu_seconds_; }

 private:
  void Run();
  void TakeSample();

  Engine* const engine_;
  const std::string& path_;
  const DeviceCounter* const device_;
  const std::function<int64_t()> ops_;
  const double start_seconds_ = NowSeconds();
  const uint64_t device_written_at_start_;

  // Used by the sampling thread only, until Stop.
  std::vector<Sample> samples_;
  int64_t write_memory_bytes_peak_ = -1;
  DirectorySize size_peak_;
  double cpu_seconds_ = 0;

  std::mutex mutex_;
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace mergedb::bench
