#include <algorithm>
#include <string>
#include <utility>

#include "base/schedule_point.h"
#include "testing/fault_state.h"

namespace mergedb::testing {
namespace {

class CopiedMapping final : public ReadMapping {
 public:
  explicit CopiedMapping(std::string bytes) : bytes_(std::move(bytes)) {}
  const char* data() const override { return bytes_.data(); }
  size_t size() const override { return bytes_.size(); }

 private:
  const std::string bytes_;
};

}  // namespace

Status FaultFileSystem::OpenFile::ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) {
  CheckAligned(offset, bytes, out);
  *got = 0;
  RETURN_IF_ERROR(CheckOpen(false));
  if (const auto fault = state_->Begin(FileOp::kRead, path_)) return fault->status;
  base::Lock lock(state_->mutex);
  if (inode_->memory) {
    const std::string_view memory = inode_->memory->view();
    if (offset < memory.size()) *got = memory.copy(out, bytes, offset);
  } else {
    *got = inode_->live.Read(offset, bytes, out);
  }
  return {};
}

Status FaultFileSystem::OpenFile::WriteAt(uint64_t offset, std::string_view bytes) {
  CheckAligned(offset, bytes.size(), bytes.data());
  RETURN_IF_ERROR(CheckOpen(true));
  const auto fault = state_->Begin(FileOp::kWrite, path_);
  base::Lock lock(state_->mutex);
  const std::string& halved = state_->options.halves_writes_of;
  if (!fault && !halved.empty() && path_.find(halved) != std::string::npos) {
    const size_t half = bytes.size() / 2;
    RETURN_IF_ERROR(WriteLocked(offset, bytes.substr(0, half)));
    state_->is_half_written = true;
    lock.Unlock();
    SCHEDULE_POINT("half-written");
    lock.Relock();
    state_->is_half_written = false;
    return WriteLocked(offset + half, bytes.substr(half));
  }
  if (!fault) return WriteLocked(offset, bytes);
  if (fault->has_happened) {
    RETURN_IF_ERROR(WriteLocked(offset, bytes));
  } else {
    RETURN_IF_ERROR(WriteLocked(offset, bytes.substr(0, fault->partial_bytes)));
  }
  return fault->status;
}

Status FaultFileSystem::OpenFile::WriteLocked(uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return {};
  ASSERT(inode_->links < 2, "a file with two names is not written");
  ASSERT(inode_->holders == 0, "a file that a reader holds is not written");
  ASSERT(!state_->options.is_append_only || offset == inode_->size(),
         "an append-only file is written from front to back");
  const uint64_t capacity = state_->options.capacity_bytes;
  const uint64_t room = capacity - std::min(capacity, state_->disk.used_bytes);
  const size_t fit = inode_->memory ? bytes.size() : inode_->live.BytesThatFit(offset, bytes.size(), room);
  if (fit > 0) {
    const uint64_t before = Disk::Occupied(*inode_);
    inode_->WriteAt(offset, bytes.substr(0, fit));
    state_->disk.Account(*inode_, before);
  }
  if (fit == bytes.size()) return {};
  return Status::NoSpace(path_ + ": pwrite " + std::to_string(bytes.size()) + " bytes at " + std::to_string(offset) +
                         ": No space left on device");
}

Status FaultFileSystem::OpenFile::Truncate(uint64_t bytes) {
  RETURN_IF_ERROR(CheckOpen(true));
  ASSERT(!state_->options.is_append_only, "an append-only file is not truncated");
  const auto fault = state_->Begin(FileOp::kTruncate, path_);
  if (fault && !fault->has_happened) return fault->status;
  base::Lock lock(state_->mutex);
  ASSERT(inode_->links < 2, "a file with two names is not written");
  const uint64_t before = Disk::Occupied(*inode_);
  inode_->Truncate(bytes);
  state_->disk.Account(*inode_, before);
  return fault ? fault->status : Status();
}

Status FaultFileSystem::OpenFile::Sync() {
  RETURN_IF_ERROR(CheckOpen(false));
  const auto fault = state_->Begin(FileOp::kSync, path_);
  base::Lock lock(state_->mutex);
  inode_->ForgetLossIfRewritten();
  if (inode_->has_lost) ++state_->sync_after_failed_sync;
  if (fault && !fault->has_happened) {
    inode_->LoseUnsynced();
    return fault->status;
  }
  state_->disk.SyncFile(inode_);
  return fault ? fault->status : Status();
}

Result<uint64_t> FaultFileSystem::OpenFile::Size() {
  RETURN_IF_ERROR(CheckOpen(false));
  if (const auto fault = state_->Begin(FileOp::kSizeOf, path_)) return fault->status;
  base::Lock lock(state_->mutex);
  return inode_->size();
}

Status FaultFileSystem::OpenFile::Close() {
  if (!is_open_) return {};
  const auto fault = state_->Begin(FileOp::kClose, path_);
  Release();
  return fault ? fault->status : Status();
}

void FaultFileSystem::OpenFile::Release() {
  is_open_ = false;
  descriptor_.Close();
  base::Lock lock(state_->mutex);
  const uint64_t before = Disk::Occupied(*inode_);
  --inode_->handles;
  if (is_held_) --inode_->holders;
  state_->disk.Account(*inode_, before);
}

Result<std::unique_ptr<Mapping>> FaultFileSystem::OpenFile::Map(size_t bytes) {
  RETURN_IF_ERROR(CheckOpen(true));
  ASSERT(!state_->options.is_append_only, "an append-only file is not mapped");
  if (const auto fault = state_->Begin(FileOp::kMap, path_)) return fault->status;
  base::Lock lock(state_->mutex);
  ASSERT(inode_->links < 2, "a file with two names is not written");
  if (!state_->options.allow_mapping) return Status::NotSupported(path_ + ": map: not on this file system");
  if (bytes == 0 || bytes % kChunkBytes != 0 || inode_->size() != bytes) {
    return Status::InvalidArgument(path_ + ": map: expected " + std::to_string(bytes) + " bytes, found " +
                                   std::to_string(inode_->size()));
  }
  inode_->Map();
  state_->mapped.push_back(inode_);
  return std::unique_ptr<Mapping>(new LiveMapping(state_, inode_));
}

Result<std::unique_ptr<ReadMapping>> FaultFileSystem::OpenFile::MapForReading(size_t bytes) {
  {
    base::Lock lock(state_->mutex);
    if (!state_->options.maps_to_read)
      return Status::NotSupported(path_ + ": map for reading: not on this file system");
  }
  std::string read(bytes, 0);
  size_t got = 0;
  RETURN_IF_ERROR(ReadAt(0, bytes, read.data(), &got));
  if (got < bytes)
    return Status::Corruption(path_ + ": map for reading: the file has " + std::to_string(got) + " bytes");
  return std::unique_ptr<ReadMapping>(std::make_unique<CopiedMapping>(std::move(read)));
}

Status FaultFileSystem::OpenFile::Unshare() {
  RETURN_IF_ERROR(CheckOpen(true));
  const auto fault = state_->Begin(FileOp::kUnshare, path_);
  return fault ? fault->status : Status();
}

Status FaultFileSystem::OpenFile::Allocate(uint64_t offset, uint64_t bytes) {
  RETURN_IF_ERROR(CheckOpen(true));
  if (const auto fault = state_->Begin(FileOp::kAllocate, path_)) return fault->status;
  base::Lock lock(state_->mutex);
  const uint64_t capacity = state_->options.capacity_bytes;
  const uint64_t room = capacity - std::min(capacity, state_->disk.used_bytes);
  const uint64_t before = Disk::Occupied(*inode_);
  const bool fits = inode_->live.Allocate(offset, bytes, room);
  state_->disk.Account(*inode_, before);
  if (fits) return {};
  return Status::NoSpace(path_ + ": fallocate " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                         ": No space left on device");
}

Status FaultFileSystem::OpenFile::Deallocate(uint64_t offset, uint64_t bytes) {
  RETURN_IF_ERROR(CheckOpen(true));
  if (const auto fault = state_->Begin(FileOp::kDeallocate, path_)) return fault->status;
  base::Lock lock(state_->mutex);
  const uint64_t before = Disk::Occupied(*inode_);
  inode_->Deallocate(offset, bytes);
  state_->disk.Account(*inode_, before);
  return {};
}

}  // namespace mergedb::testing
