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
// The first pages are touched by the frames themselves. WHY: a touched page is dirty, so the kernel would write zeros
// for a database that writes little. MEASURED: a first touch costs 0.9 us a page
// (docs/decisions/0049-unwritten-wal.md).
constexpr size_t kUntouchedBytesMax = size_t{1} << 20;
// GiveBack leaves this many bytes for the next frames. WHY more than Allocate makes ahead of the end: a program that
// waits for compactions after each write would have blocks made and given back each time.
constexpr size_t kSpareBytesMax = size_t{16} << 20;  // and at most half of the buffer
// Of one call of GiveBack. A writer may wait for it. MEASURED: ext4 with discard frees 128 MiB in 50 to 80 ms.
constexpr uint64_t kHoleBytesMax = uint64_t{4} << 20;

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
  buffer->memory_ = ZeroedBytes(buffer->size_ + buffer->frame_bytes_max() + kBlockBytes);
  buffer->data_ = buffer->memory_.data();
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
  guard_ = std::make_unique<env::FaultGuard>(data_, 2 * bytes, path, faults_, env::FaultGuard::Use::kWrites);
  allocated_end_ = 0;
  return {};
}

// Each piece is as large as all before it, up to a maximum. A file that had blocks everywhere needs more only after
// GiveBack.
Status WalBuffer::Allocate(uint64_t position) {
  while (allocated_end_ < position) {
    const uint64_t begin = allocated_end_ & (size_ - 1);
    size_t piece = std::min({std::clamp<size_t>(allocated_bytes_, kAllocateBytesMin, kAllocateBytesMax),
                             static_cast<size_t>(size_ - begin), static_cast<size_t>(size_ - allocated_bytes_)});
    if (Status made = file_->Allocate(begin, piece); !made.ok()) {
      const uint64_t least = RoundUp(std::min<uint64_t>(position - allocated_end_, piece), kBlockBytes);
      // A part of the piece may have blocks, which no position counts.
      (void)file_->Deallocate(begin, piece);
      if (!made.IsNoSpace() || least >= piece) return made;
      piece = least;  // an almost full disk
      RETURN_IF_ERROR(file_->Allocate(begin, piece));
    }
    if (allocated_bytes_ >= kUntouchedBytesMax) mapping_->Prefault(begin, piece);
    allocated_bytes_ += piece;
    if (allocated_bytes_ == size_) {
      allocated_end_.store(UINT64_MAX, std::memory_order_release);
      return {};
    }
    allocated_end_.fetch_add(piece, std::memory_order_release);
  }
  return {};
}

// INVARIANT: the positions with blocks, [first, last), contain [begin, end).
bool WalBuffer::GiveBack(uint64_t begin, uint64_t end, bool keeps_spare) {
  if (!is_mapped()) return false;
  const uint64_t needed_begin = RoundDown(begin, kBlockBytes);
  // WHY the whole block of `end`, even if nothing is needed: the next step of the WAL writer writes it to a segment
  // again.
  const uint64_t needed_end = RoundUp(end, kBlockBytes);
  const uint64_t spare = keeps_spare && begin < end ? std::min<uint64_t>(kSpareBytesMax, size_ / 2) : 0;
  if (allocated_bytes_ <= needed_end - needed_begin + spare) return false;
  const uint64_t mask = size_ - 1;
  uint64_t last = allocated_bytes_ == size_ ? needed_begin + size_ : allocated_end();
  uint64_t first = last - allocated_bytes_;
  Status made;
  if (first < needed_begin) {
    const uint64_t bytes = std::min({kHoleBytesMax, needed_begin - first, size_ - (first & mask)});
    made = file_->Deallocate(first & mask, bytes);
    first += bytes;
  } else {
    const uint64_t bytes = std::min({kHoleBytesMax, last - needed_end, ((last - 1) & mask) + 1});
    last -= bytes;
    made = file_->Deallocate(last & mask, bytes);
  }
  // After any other failure the piece counts as given back: some of its blocks may be gone.
  if (made.code() == Code::kNotSupported) return false;
  allocated_bytes_ = last - first;
  allocated_end_.store(last, std::memory_order_release);
  return made.ok();
}

void WalBuffer::CheckSize() {
  if (!is_mapped() || guard_->has_failed()) return;
  const auto bytes = file_->Size();
  if (bytes && *bytes < size_) guard_->Fail(*bytes);
}

void WalBuffer::Mirror(uint64_t position, size_t bytes) {
  const size_t offset = position & (size_ - 1);
  if (is_mapped() || offset + bytes <= size_) return;
  std::memcpy(data_, data_ + size_, offset + bytes - size_);
}

}  // namespace mergedb::wal
