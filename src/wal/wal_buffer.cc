#include "wal/wal_buffer.h"

#include <cstring>

#include "base/assert.h"
#include "format/file_name.h"
#include "wal/frame.h"

namespace mergedb::wal {

namespace {

Status WriteZeros(File* file, size_t bytes) {
  const AlignedBytes zeros = AllocateAligned(kBlockBytes);
  for (size_t offset = 0; offset < bytes; offset += kBlockBytes) {
    RETURN_IF_ERROR(file->WriteAt(offset, {zeros.get(), kBlockBytes}));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<WalBuffer>> WalBuffer::Create(FileSystem* file_system, const std::string& directory,
                                                     size_t bytes, size_t overhang_bytes, bool use_mapping) {
  ASSERT((bytes & (bytes - 1)) == 0 && bytes >= kBlockBytes, "the size of the WAL buffer is a power of two");
  auto buffer = std::unique_ptr<WalBuffer>(new WalBuffer);
  buffer->size_ = bytes;
  const std::string path = format::JoinPath(directory, format::PrintFileName(format::FileKind::kStaging));
  if (Status removed = file_system->Remove(path); !removed.ok() && !removed.IsNotFound()) return removed;
  if (use_mapping) {
    Status mapped = buffer->MapFile(file_system, directory, path);
    if (mapped.ok()) return buffer;
    buffer->file_.reset();
    (void)file_system->Remove(path);
    if (mapped.code() != Code::kNotSupported) return mapped;
  }
  buffer->memory_ = AllocateAligned(bytes + overhang_bytes);
  buffer->data_ = buffer->memory_.get();
  return buffer;
}

Status WalBuffer::MapFile(FileSystem* file_system, const std::string& directory, const std::string& path) {
  ASSIGN_OR_RETURN(file_, file_system->Open(path, {.access = Access::kCreate}));
  RETURN_IF_ERROR(WriteZeros(file_.get(), size_));
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(file_system->SyncDirectory(directory));
  ASSIGN_OR_RETURN(mapping_, file_->Map(size_));
  data_ = mapping_->data();
  return {};
}

void WalBuffer::Mirror(uint64_t position, size_t bytes) {
  const size_t offset = position & (size_ - 1);
  if (is_mapped() || offset + bytes <= size_) return;
  std::memcpy(data_, data_ + size_, offset + bytes - size_);
}

}  // namespace mergedb::wal
