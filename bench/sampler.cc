#include "bench/sampler.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace mergedb::bench {
namespace {

constexpr auto kLook = std::chrono::milliseconds(25);  // for memory: cheap to read, changes fast
constexpr int kLooksASample = 10;

}  // namespace

Sampler::Sampler(Engine* engine, const std::string& path, const DeviceCounter* device, std::function<int64_t()> ops)
    : engine_(engine),
      path_(path),
      device_(device),
      ops_(std::move(ops)),
      device_written_at_start_(device->Now().written) {
  thread_ = std::thread([this] { Run(); });
}

void Sampler::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopping_.notify_one();
  thread_.join();
}

void Sampler::Run() {
  std::unique_lock lock(mutex_);
  for (int look = 1; !stopping_.wait_for(lock, kLook, [this] { return is_stopping_; }); ++look) {
    write_memory_bytes_peak_ = std::max(write_memory_bytes_peak_, engine_->WriteMemoryBytes());
    if (look % kLooksASample == 0) TakeSample();
    const double cpu_seconds = ThreadCpuSeconds();
    harness_cpu_nanos += static_cast<int64_t>((cpu_seconds - cpu_seconds_) * 1e9);
    cpu_seconds_ = cpu_seconds;
  }
  TakeSample();
  cpu_seconds_ = ThreadCpuSeconds();
}

void Sampler::TakeSample() {
  const DirectorySize size = SizeOfDirectory(path_);
  samples_.push_back({.seconds = NowSeconds() - start_seconds_,
                      .ops = ops_(),
                      .disk_bytes = size.allocated,
                      .runs = engine_->RunCount(),
                      .device_bytes_written = device_->Now().written - device_written_at_start_,
                      .pending_compaction_bytes = engine_->PendingCompactionBytes(),
                      .rss_bytes = RssBytes()});
  size_peak_ = LargestOf(size_peak_, size);
  if (isatty(STDERR_FILENO)) {
    std::fprintf(stderr, "... finished %lld ops%30s\r", static_cast<long long>(samples_.back().ops), "");
  }
}

}  // namespace mergedb::bench
