// Internal to fault_file_system: the state that the file system, its files, locks and mappings share. Not for tests.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/sync.h"
#include "testing/fault_file_system.h"

namespace mergedb::testing {

struct FaultFileSystem::State {
  struct ArmedFault {
    Fault fault;
    uint64_t calls = 0;
  };

  // Numbers the operation, calls the hook, and returns the fault if the operation must fail.
  std::optional<Fault> Begin(FileOp op, const std::string& path, const std::string& second_path = "");
  std::optional<Fault> MatchFault(FileOp op, const std::string& path, const std::string& second_path)
      REQUIRES_LOCK(mutex);
  void CaptureMappings() REQUIRES_LOCK(mutex);
  // Returns false if no descriptor is free even after idle files were closed.
  bool TakeDescriptor();

  mutable base::Mutex mutex;
  Options options GUARDED_BY(mutex);
  Disk disk GUARDED_BY(mutex);
  std::set<const Inode*> locked GUARDED_BY(mutex);
  std::vector<std::weak_ptr<Inode>> mapped GUARDED_BY(mutex);
  OpHook hook GUARDED_BY(mutex);
  bool is_half_written GUARDED_BY(mutex) = false;
  bool can_hold GUARDED_BY(mutex) = true;
  std::vector<ArmedFault> faults GUARDED_BY(mutex);
  uint64_t faults_hit GUARDED_BY(mutex) = 0;
  uint64_t sync_after_failed_sync GUARDED_BY(mutex) = 0;
  uint64_t descriptors GUARDED_BY(mutex) = 0;
  uint64_t descriptors_max GUARDED_BY(mutex) = std::numeric_limits<uint64_t>::max();
};

// Holds one file descriptor of the process for the life of the object; false if none was free.
class FaultFileSystem::Descriptor {
 public:
  explicit Descriptor(std::shared_ptr<State> state) : state_(state->TakeDescriptor() ? std::move(state) : nullptr) {}
  Descriptor(Descriptor&&) = default;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { Close(); }
  void Close() {
    if (state_ == nullptr) return;
    base::Lock lock(state_->mutex);
    --state_->descriptors;
    lock.Unlock();
    state_ = nullptr;
  }
  explicit operator bool() const { return state_ != nullptr; }

 private:
  std::shared_ptr<State> state_;
};

class FaultFileSystem::LiveMapping final : public Mapping {
 public:
  LiveMapping(std::shared_ptr<State> state, std::shared_ptr<Inode> inode)
      : state_(std::move(state)), inode_(std::move(inode)), memory_(inode_->memory) {}
  ~LiveMapping() override {
    base::Lock lock(state_->mutex);
    const uint64_t before = Disk::Occupied(*inode_);
    inode_->Unmap();
    state_->disk.Account(*inode_, before);
  }
  char* data() override { return memory_->data(); }
  size_t size() const override { return memory_->view().size(); }

 private:
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Inode> inode_;
  const std::shared_ptr<MirroredMemory> memory_;
};

class FaultFileSystem::HeldLock final : public FileLock {
 public:
  HeldLock(std::shared_ptr<State> state, std::shared_ptr<Inode> inode, Descriptor descriptor)
      : state_(std::move(state)), inode_(std::move(inode)), descriptor_(std::move(descriptor)) {}
  ~HeldLock() override {
    base::Lock lock(state_->mutex);
    state_->locked.erase(inode_.get());
  }

 private:
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Inode> inode_;
  const Descriptor descriptor_;
};

class FaultFileSystem::OpenFile final : public File {
 public:
  // REQUIRES: the caller holds the lock and has counted the handle.
  OpenFile(std::shared_ptr<State> state, std::shared_ptr<Inode> inode, Descriptor descriptor, std::string path,
           const FileOptions& options)
      : state_(std::move(state)),
        inode_(std::move(inode)),
        descriptor_(std::move(descriptor)),
        path_(std::move(path)),
        options_(options) {}
  ~OpenFile() override {
    if (is_open_) Release();
  }
  // Until the file is closed no Open with kReuse succeeds. REQUIRES: the caller holds the lock.
  void Hold() {
    is_held_ = true;
    ++inode_->holders;
  }

  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override;
  Status WriteAt(uint64_t offset, std::string_view bytes) override;
  Status Truncate(uint64_t bytes) override;
  Status Sync() override;
  Result<uint64_t> Size() override;
  Status Close() override;
  void WillRead(uint64_t, uint64_t) override {}
  Result<std::unique_ptr<Mapping>> Map(size_t bytes) override;
  Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes) override;
  Status Unshare() override;
  Status Allocate(uint64_t offset, uint64_t bytes) override;
  Status Deallocate(uint64_t offset, uint64_t bytes) override;

 private:
  void CheckAligned(uint64_t offset, size_t bytes, const char* memory) const {
    if (!options_.direct) return;
    const uint64_t all = offset | bytes | reinterpret_cast<uintptr_t>(memory);
    ASSERT(all % kDirectIoAlign == 0, "direct I/O is not aligned");
  }
  Status CheckOpen(bool for_writing) const {
    if (!is_open_) return Status::IOError(path_ + ": Bad file descriptor: closed");
    const bool is_allowed = !for_writing || options_.access != Access::kRead;
    return is_allowed ? Status() : Status::IOError(path_ + ": Bad file descriptor: read-only");
  }
  // Writes the part that the capacity allows.
  Status WriteLocked(uint64_t offset, std::string_view bytes);
  void Release();

  const std::shared_ptr<State> state_;
  const std::shared_ptr<Inode> inode_;
  Descriptor descriptor_;
  const std::string path_;
  const FileOptions options_;
  bool is_open_ = true;
  bool is_held_ = false;
};

}  // namespace mergedb::testing
