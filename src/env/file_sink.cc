#include "env/file_sink.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace mergedb::env {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;
static_assert(kWriteBytes <= kPooledBytes && kWriteBytes % kDirectIoAlign == 0);

}  // namespace

Result<SinkFile> SinkFile::Open(FileSystem* file_system, const std::string& path, const Options& options) {
  SinkFile target;
  const Access access = options.is_reuse ? Access::kReuse : Access::kCreate;
  ASSIGN_OR_RETURN(target.file, file_system->Open(path, {.access = access, .direct = options.is_direct}));
  target.is_append_only = file_system->is_append_only();
  target.times = options.times;
  if (options.is_reuse) { ASSIGN_OR_RETURN(target.recycled_bytes, target.file->Size()); }
  return target;
}

FileSink::FileSink(SinkFile target)
    : file_(std::move(target.file)),
      recycled_bytes_(target.recycled_bytes),
      is_append_only_(target.is_append_only),
      times_(target.times),
      buffer_(kWriteBytes) {}

Status FileSink::WriteBuffer() {
  const uint64_t start = times_ == nullptr ? 0 : times_->clock->NowNanos();
  RETURN_IF_ERROR(file_->WriteAt(written_, {buffer_.data(), used_}));
  if (times_ != nullptr) times_->nanos.fetch_add(times_->clock->NowNanos() - start, std::memory_order_relaxed);
  written_ += used_;
  used_ = 0;
  return {};
}

Status FileSink::Append(std::string_view bytes) {
  while (true) {
    const size_t taken = std::min(bytes.size(), kWriteBytes - used_);
    std::memcpy(buffer_.data() + used_, bytes.data(), taken);
    used_ += taken;
    if (used_ < kWriteBytes) return {};
    RETURN_IF_ERROR(WriteBuffer());
    bytes.remove_prefix(taken);
  }
}

Status FileSink::PadTo(uint64_t end) {
  static constexpr char kZeros[kDirectIoAlign] = {};
  ASSERT(end >= offset(), "padding goes forward");
  while (offset() < end) {
    RETURN_IF_ERROR(Append({kZeros, static_cast<size_t>(std::min<uint64_t>(sizeof kZeros, end - offset()))}));
  }
  return {};
}

Status FileSink::Finish() {
  ASSERT(used_ % kDirectIoAlign == 0, "direct writes are aligned");
  if (used_ > 0) RETURN_IF_ERROR(WriteBuffer());
  buffer_ = AlignedBuffer();
  if (is_append_only_) return file_->Sync();
  return recycled_bytes_ > written_ ? file_->Truncate(written_) : Status();
}

}  // namespace mergedb::env
