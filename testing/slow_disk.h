// A file system whose operations take simulated time, in front of another file system. Its disk has one queue: first
// come, first served.
//
//     direct WriteAt, ReadAt      wait for the queue, then `operation_nanos` and the bytes at `bytes_per_second`
//     other WriteAt               free; the next Sync pays for the bytes
//     Sync, SyncDirectory         like a write, and `sync_nanos` more
//
// All other operations are free, and so are accesses to mapped memory.
// THREADS: all methods from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "base/sync.h"
#include "mergedb/env.h"
#include "testing/simulated_time.h"

namespace mergedb::testing {

class SlowDisk final : public FileSystem {
 public:
  struct Options {
    uint64_t bytes_per_second = uint64_t{200} << 20;
    uint64_t operation_nanos = 100'000;
    uint64_t sync_nanos = 1'000'000;
  };
  SlowDisk(SimulatedTime& time, FileSystem& files, const Options& options)
      : time_(time), files_(files), options_(options) {}

  Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) override;
  Status Remove(const std::string& path) override { return files_.Remove(path); }
  Status Rename(const std::string& source, const std::string& target) override { return files_.Rename(source, target); }
  Result<std::vector<std::string>> List(const std::string& directory) override { return files_.List(directory); }
  Status CreateDirectory(const std::string& path) override { return files_.CreateDirectory(path); }
  Status RemoveDirectory(const std::string& path) override { return files_.RemoveDirectory(path); }
  Status SyncDirectory(const std::string& directory) override {
    Take(0, options_.sync_nanos);
    return files_.SyncDirectory(directory);
  }
  Result<uint64_t> SizeOf(const std::string& path) override { return files_.SizeOf(path); }
  Result<bool> IsDirectory(const std::string& path) override { return files_.IsDirectory(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return files_.Lock(path); }

  // The disk does nothing for `nanos` after the operations that are queued now.
  void HangFor(uint64_t nanos) {
    base::Lock lock(mutex_);
    free_at_nanos_ = std::max(free_at_nanos_, time_.NowNanos()) + nanos;
  }
  // Applies to operations from now on.
  void SetSpeed(uint64_t bytes_per_second) { bytes_per_second_ = bytes_per_second; }
  uint64_t busy_nanos() const { return busy_nanos_; }  // the time that all operations have taken so far

 private:
  class SlowFile;
  // Waits for the queue, then for the operation itself.
  void Take(uint64_t bytes, uint64_t extra_nanos);

  SimulatedTime& time_;
  FileSystem& files_;
  const Options options_;
  std::atomic<uint64_t> bytes_per_second_{options_.bytes_per_second};
  std::atomic<uint64_t> busy_nanos_{0};
  base::Mutex mutex_;
  uint64_t free_at_nanos_ GUARDED_BY(mutex_) = 0;
};

}  // namespace mergedb::testing
