#include "testing/slow_disk.h"

#include <algorithm>
#include <utility>

namespace mergedb::testing {

class SlowDisk::SlowFile final : public File {
 public:
  SlowFile(SlowDisk* disk, std::unique_ptr<File> file, bool is_direct)
      : disk_(disk), file_(std::move(file)), is_direct_(is_direct) {}

  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
    disk_->Take(bytes, 0);
    return file_->ReadAt(offset, bytes, out, got);
  }
  Status WriteAt(uint64_t offset, std::string_view bytes) override {
    if (is_direct_) {
      disk_->Take(bytes.size(), 0);
    } else {
      unsynced_bytes_ += bytes.size();
    }
    return file_->WriteAt(offset, bytes);
  }
  Status Sync() override {
    disk_->Take(unsynced_bytes_.exchange(0), disk_->options_.sync_nanos);
    return file_->Sync();
  }
  Status Truncate(uint64_t bytes) override { return file_->Truncate(bytes); }
  Result<uint64_t> Size() override { return file_->Size(); }
  Status Close() override { return file_->Close(); }
  void WillRead(uint64_t offset, uint64_t bytes) override { file_->WillRead(offset, bytes); }
  Result<std::unique_ptr<Mapping>> Map(size_t bytes) override { return file_->Map(bytes); }
  Status Allocate(uint64_t offset, uint64_t bytes) override { return file_->Allocate(offset, bytes); }
  Status Deallocate(uint64_t offset, uint64_t bytes) override { return file_->Deallocate(offset, bytes); }

 private:
  SlowDisk* const disk_;
  const std::unique_ptr<File> file_;
  const bool is_direct_;
  std::atomic<uint64_t> unsynced_bytes_{0};
};

Result<std::unique_ptr<File>> SlowDisk::Open(const std::string& path, const FileOptions& options) {
  ASSIGN_OR_RETURN(auto file, files_.Open(path, options));
  return std::unique_ptr<File>(std::make_unique<SlowFile>(this, std::move(file), options.direct));
}

void SlowDisk::Take(uint64_t bytes, uint64_t extra_nanos) {
  const uint64_t nanos = options_.operation_nanos + extra_nanos + bytes * 1'000'000'000 / bytes_per_second_;
  busy_nanos_ += nanos;
  uint64_t done = 0;
  {
    base::Lock lock(mutex_);
    done = free_at_nanos_ = std::max(free_at_nanos_, time_.NowNanos()) + nanos;
  }
  time_.SleepUntil(done);
}

}  // namespace mergedb::testing
