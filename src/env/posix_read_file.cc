#include "env/posix_read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "env/descriptors.h"
#include "env/posix_mapping.h"
#include "env/posix_status.h"

namespace mergedb::env {

bool FitsOffsets(uint64_t offset, uint64_t bytes) {
  constexpr uint64_t kOffsetMax = std::numeric_limits<int64_t>::max();
  return offset <= kOffsetMax && bytes <= kOffsetMax - offset;
}

bool IsAligned(uint64_t offset, uint64_t bytes, const char* memory) {
  return ((offset | bytes | reinterpret_cast<uintptr_t>(memory)) & (kDirectIoAlign - 1)) == 0;
}

Status PosixDescriptor::ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) const {
  DCHECK(!is_direct || IsAligned(offset, bytes, out), "direct read is not aligned");
  *got = 0;
  if (!FitsOffsets(offset, bytes)) return PosixStatus(EINVAL, path, "pread", bytes, offset);
  while (*got < bytes) {
    const ssize_t count =
        RetryOnSignal([&] { return pread(fd, out + *got, bytes - *got, static_cast<off_t>(offset + *got)); });
    if (count < 0) return PosixStatus(errno, path, "pread", bytes, offset);
    if (count == 0) break;
    *got += static_cast<size_t>(count);
    // A direct read that stops within a block has reached the end of the file. A further read from there
    // would be refused.
    if (is_direct && *got % kDirectIoAlign != 0) break;
  }
  return {};
}

Status PosixDescriptor::Sync() const {
  if (RetryOnSignal([&] { return fdatasync(fd); }) == 0) return {};
  return PosixStatus(errno, path, "fdatasync");
}

Result<uint64_t> PosixDescriptor::Size() const {
  struct stat file {};
  if (fstat(fd, &file) != 0) return PosixStatus(errno, path, "fstat");
  return static_cast<uint64_t>(file.st_size);
}

void PosixDescriptor::WillRead(uint64_t offset, uint64_t bytes) const {
  if (is_direct || !FitsOffsets(offset, bytes)) return;
  // WHY in pieces: Linux reads no more for one call than the readahead of the device, often 128 KiB.
  constexpr uint64_t kPieceBytes = 128 << 10;
  for (uint64_t at = offset; at < offset + bytes; at += kPieceBytes) {
    const uint64_t piece = std::min(kPieceBytes, offset + bytes - at);
    posix_fadvise(fd, static_cast<off_t>(at), static_cast<off_t>(piece), POSIX_FADV_WILLNEED);
  }
}

namespace {

class PosixReadFile final : public File {
 public:
  PosixReadFile(std::string path, int fd, const struct stat& opened, const FileOptions& options,
                std::function<int()> reopen)
      : path_(std::move(path)),
        is_direct_(options.direct),
        device_(opened.st_dev),
        inode_(opened.st_ino),
        descriptor_(fd, [this, open = std::move(reopen)] { return Reopen(open); }) {}

  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
    *got = 0;
    return With([&](const PosixDescriptor& file) { return file.ReadAt(offset, bytes, out, got); });
  }
  Status WriteAt(uint64_t offset, std::string_view bytes) override {
    return PosixStatus(FitsOffsets(offset, bytes.size()) ? EBADF : EFBIG, path_, "pwrite", bytes.size(), offset);
  }
  Status Truncate(uint64_t bytes) override {
    return PosixStatus(EBADF, path_, "ftruncate to " + std::to_string(bytes) + " bytes");
  }
  Status Sync() override {
    return With([](const PosixDescriptor& file) { return file.Sync(); });
  }
  Result<uint64_t> Size() override {
    return With([](const PosixDescriptor& file) { return file.Size(); });
  }
  Status Close() override {
    descriptor_.Close();
    return {};
  }
  void WillRead(uint64_t offset, uint64_t bytes) override {
    const LentDescriptor::Use use(descriptor_);
    if (use.fd() >= 0) Descriptor(use).WillRead(offset, bytes);
  }
  Result<std::unique_ptr<Mapping>> Map(size_t bytes) override {
    return With([&](const PosixDescriptor& file) { return MapTwice({.fd = file.fd, .path = path_, .bytes = bytes}); });
  }
  Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes) override {
    return With([&](const PosixDescriptor& file) {
      return env::MapForReading({.fd = file.fd, .path = path_, .bytes = bytes});
    });
  }

 private:
  // Calls `act` with the descriptor, which the file holds meanwhile.
  template <class Act>
  std::invoke_result_t<Act, const PosixDescriptor&> With(Act act) {
    const LentDescriptor::Use use(descriptor_);
    if (use.fd() < 0) return PosixStatus(use.error(), path_, "open");
    return act(Descriptor(use));
  }
  PosixDescriptor Descriptor(const LentDescriptor::Use& use) const {
    return {.fd = use.fd(), .path = path_, .is_direct = is_direct_};
  }

  int Reopen(const std::function<int()>& open) const {
    const int fd = open();
    if (fd < 0) return fd;
    struct stat opened {};
    if (fstat(fd, &opened) == 0 && opened.st_dev == device_ && opened.st_ino == inode_) return fd;
    close(fd);
    errno = ESTALE;
    return -1;
  }

  const std::string path_;
  const bool is_direct_;
  const dev_t device_;
  const ino_t inode_;
  LentDescriptor descriptor_;
};

}  // namespace

Result<std::unique_ptr<File>> NewPosixReadFile(std::string path, int fd, const FileOptions& options,
                                               std::function<int()> reopen) {
  struct stat opened {};
  if (fstat(fd, &opened) != 0) {
    const int error = errno;
    close(fd);
    return PosixStatus(error, path, "fstat");
  }
  try {
    return std::unique_ptr<File>(
        std::make_unique<PosixReadFile>(std::move(path), fd, opened, options, std::move(reopen)));
  } catch (...) {  // out of memory
    close(fd);
    throw;
  }
}

}  // namespace mergedb::env
