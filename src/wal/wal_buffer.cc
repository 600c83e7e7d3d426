#include "wal/wal_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "format/file_name.h"
#include "wal/frame.h"

namespace mergedb::wal {

namespace {

constexpr size_t kAllocateBytesMin = size_t{64} << 10;
constexpr size_t kAllocateBytesMax = size_t{4} << 20;
// GiveBack leaves this many bytes for the next frames. WHY more than Allocate makes ahead of the end: a program that waits
// for compactions after each write would have blocks made and given back each time.
constexpr size_t kSpareBytesMax = size_t{16} << 20;  // and at most half of the buffer

constexpr bool IsPowerOfTwo(size_t bytes) { return (bytes & (bytes - 1)) == 0 && bytes >= kBlockBytes; }

}  // namespace

Result<std::unique_ptr<WalBuffer>> WalBuffer::Create(FileSystem* file_system, const std::string& directory,
                                                     const Sizes& sizes, bool use_mapping) {
  ASSERT(IsPowerOfTwo(sizes.mapped) && IsPowerOfTwo(sizes.in_memory), "the size of the WAL buffer is a power of two");
  auto buffer = std::unique_ptr<WalBuffer>(new WalBuffer);
  const std::string path = format::JoinPath(directory, format::PrintFileName(format::FileKind::kStaging));
  if (Status removed = file_system->Remove(path); !removed.ok() && !removed.IsNotFound()) return removed;
  if (use_mapping) {
    Status mapped = buffer->MapFile(file_system, directory, path, sizes.mapped);
    if (mapped.ok()) return buffer;
    buffer->file_.reset();
    (void)file_system->Remove(path);
    if (mapped.code() != Code::kNotSupported) return mapped;
  }
  buffer->size_ = sizes.in_memory;
  buffer->memory_ = AllocateAligned(buffer->size_ + buffer->frame_bytes_max() + kBlockBytes);
  buffer->data_ = buffer->memory_.get();
  return buffer;
}

Status WalBuffer::MapFile(FileSystem* file_system, const std::string& directory, const std::string& path,
                          size_t bytes) {
  ASSIGN_OR_RETURN(file_, file_system->Open(path, {.access = Access::kCreate}));
  RETURN_IF_ERROR(file_->Truncate(bytes));
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(file_system->SyncDirectory(directory));
  ASSIGN_OR_RETURN(mapping_, file_->Map(bytes));
  size_ = bytes;
  data_ = mapping_->data();
  allocated_end_ = 0;
  return {};
}

// Each piece is as large as all before it, up to a maximum. A file that had blocks everywhere never needs more.
Status WalBuffer::Allocate(uint64_t position) {
  while (allocated_end_ < position) {
    const uint64_t begin = allocated_end_ & (size_ - 1);
    const size_t piece = std::min({std::clamp<size_t>(allocated_bytes_, kAllocateBytesMin, kAllocateBytesMax),
                                   static_cast<size_t>(size_ - begin), static_cast<size_t>(size_ - allocated_bytes_)});
    RETURN_IF_ERROR(file_->Allocate(begin, piece));
    mapping_->Prefault(begin, piece);
    allocated_bytes_ += piece;
    if (allocated_bytes_ == size_) {
      allocated_end_.store(UINT64_MAX, std::memory_order_release);
      return {};
    }
    allocated_end_.fetch_add(piece, std::memory_order_release);
  }
  return {};
}

void WalBuffer::GiveBack(uint64_t begin, uint64_t end) {
  const uint64_t needed_begin = RoundDown(begin, kBlockBytes);
  const uint64_t needed_end = begin == end ? needed_begin : RoundUp(end, kBlockBytes);
  const uint64_t needed = needed_end - needed_begin;
  if (!is_mapped() || allocated_bytes_ <= needed) return;
  if (needed > 0 && allocated_bytes_ - needed <= std::min<uint64_t>(kSpareBytesMax, size_ / 2)) return;
  const uint64_t to_lap_end = size_ - (needed_end & (size_ - 1));
  const uint64_t bytes = size_ - needed;
  const bool first = MakeHole(needed_end, std::min(bytes, to_lap_end));
  const bool second = bytes > to_lap_end && MakeHole(0, bytes - to_lap_end);
  // If neither is a hole, the blocks are all there. If one is, Allocate may meet blocks that are still there.
  if (!first && !second) return;
  allocated_bytes_ = needed;
  allocated_end_.store(needed_end, std::memory_order_release);
}

bool WalBuffer::MakeHole(uint64_t position, uint64_t bytes) {
  return file_->Deallocate(position & (size_ - 1), bytes).ok();
}

void WalBuffer::Mirror(uint64_t position, size_t bytes) {
  const size_t offset = position & (size_ - 1);
  if (is_mapped() || offset + bytes <= size_) return;
  std::memcpy(data_, data_ + size_, offset + bytes - size_);
}

}  // namespace mergedb::wal
