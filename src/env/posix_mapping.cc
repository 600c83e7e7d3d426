#include "env/posix_mapping.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#if __has_include(<linux/fiemap.h>) && __has_include(<linux/fs.h>) && __has_include(<linux/falloc.h>)
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#endif

#include <limits>
#include <vector>

#include "env/posix_status.h"

namespace mergedb::env {
namespace {

// From linux/magic.h, which some libcs do not install.
constexpr uint32_t kMagicExt = 0xEF53;
constexpr uint32_t kMagicXfs = 0x58465342;
constexpr uint32_t kMagicTmpfs = 0x01021994;

// Makes each page writable by a store of the byte that it holds. REQUIRES: no other thread stores to the pages.
void Touch(char* base, size_t bytes, size_t page_bytes) {
  for (size_t offset = 0; offset < bytes; offset += page_bytes) {
    volatile char* byte = base + offset;
    *byte = *byte;
  }
}

void MakeWritable(char* base, size_t bytes, size_t page_bytes) {
#ifdef MADV_POPULATE_WRITE
  if (RetryOnSignal([&] { return madvise(base, bytes, MADV_POPULATE_WRITE); }) == 0) return;
#endif
  Touch(base, bytes, page_bytes);  // Linux before 5.14
}

class PosixMapping final : public Mapping {
 public:
  PosixMapping(char* base, size_t bytes) : base_(base), bytes_(bytes) {}
  ~PosixMapping() override { munmap(base_, 2 * bytes_); }
  char* data() override { return base_; }
  size_t size() const override { return bytes_; }
  // Only the first half: a record that wraps touches a few pages of the second half, once per round of the
  // ring, and write-back visits every place where a page is mapped.
  void Prefault(size_t offset, size_t bytes) override {
    MakeWritable(base_ + offset, bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  }

 private:
  char* const base_;
  const size_t bytes_;
};

class PosixReadMapping final : public ReadMapping {
 public:
  PosixReadMapping(void* base, size_t bytes) : base_(base), bytes_(bytes) {}
  ~PosixReadMapping() override { munmap(base_, bytes_); }
  const char* data() const override { return static_cast<const char*>(base_); }
  size_t size() const override { return bytes_; }

 private:
  void* const base_;
  const size_t bytes_;
};

Result<uint32_t> MagicOf(const MappingRequest& request) {
  struct statfs mount {};
  if (RetryOnSignal([&] { return fstatfs(request.fd, &mount); }) != 0) {
    return PosixStatus(errno, request.path, "fstatfs");
  }
  return static_cast<uint32_t>(mount.f_type);
}

Status CheckFileSystem(const MappingRequest& request) {
  ASSIGN_OR_RETURN(const uint32_t magic, MagicOf(request));
  if (magic == kMagicExt || magic == kMagicTmpfs) return {};
  // WHY not an existing file on XFS: it may share extents with a copy, and the first store to each would then
  // need new space.
  if (magic == kMagicXfs && request.created_by_us) return {};
  return Status::NotSupported(request.path + ": map: not on this file system");
}

Status CheckSize(const MappingRequest& request) {
  struct stat file {};
  if (fstat(request.fd, &file) != 0) return PosixStatus(errno, request.path, "fstat");
  if (static_cast<uint64_t>(file.st_size) == request.bytes) return {};
  return Status::InvalidArgument(request.path + ": map: expected " + std::to_string(request.bytes) + " bytes, found " +
                                 std::to_string(file.st_size));
}

#ifdef FS_IOC_FIEMAP

// True if a kernel, a sandbox or a layer between has no FIEMAP.
bool IsNotThere(int error) { return error == EOPNOTSUPP || error == ENOTTY || error == ENOSYS || error == EPERM; }

// True if any extent of the file belongs to another file as well. Each call asks for kExtents extents, until
// the last. False if the system cannot answer: an error would fail the WAL once a second.
Result<bool> SharesBlocks(const MappingRequest& request) {
  constexpr uint32_t kExtents = 64;
  std::vector<uint64_t> memory((sizeof(fiemap) + kExtents * sizeof(fiemap_extent)) / sizeof(uint64_t));
  auto* const map = reinterpret_cast<fiemap*>(memory.data());
  for (uint64_t offset = 0;;) {
    *map = {};
    map->fm_start = offset;
    map->fm_length = FIEMAP_MAX_OFFSET - offset;
    map->fm_extent_count = kExtents;
    if (RetryOnSignal([&] { return ioctl(request.fd, FS_IOC_FIEMAP, map); }) != 0) {
      if (IsNotThere(errno)) return false;
      return PosixStatus(errno, request.path, "fiemap");
    }
    if (map->fm_mapped_extents == 0) return false;
    for (uint32_t i = 0; i < map->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = map->fm_extents[i];
      if ((extent.fe_flags & FIEMAP_EXTENT_SHARED) != 0) return true;
      if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0) return false;
      offset = extent.fe_logical + extent.fe_length;
    }
  }
}

#endif

// WHY NotSupported: the caller then does without the mapping, which takes less of RLIMIT_AS.
Status NoAddresses(const MappingRequest& request) {
  return Status::NotSupported(request.path + ": map: no room for 2 x " + std::to_string(request.bytes) +
                              " bytes of addresses (RLIMIT_AS)");
}

}  // namespace

Result<std::unique_ptr<Mapping>> MapTwice(const MappingRequest& request) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = request.bytes;
  if (bytes == 0 || bytes > std::numeric_limits<size_t>::max() / 4) {
    return Status::InvalidArgument(request.path + ": map: " + std::to_string(bytes) + " bytes");
  }
  if (bytes % page_bytes != 0) {
    return Status::NotSupported(request.path + ": map: pages have " + std::to_string(page_bytes) + " bytes here");
  }
  RETURN_IF_ERROR(CheckFileSystem(request));
  RETURN_IF_ERROR(CheckSize(request));

  void* reserved = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) {
    return errno == ENOMEM ? NoAddresses(request) : PosixStatus(errno, request.path, "reserve memory to map");
  }
  auto* base = static_cast<char*>(reserved);
  for (char* half : {base, base + bytes}) {
    if (mmap(half, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, request.fd, 0) == MAP_FAILED) {
      const int error = errno;
      munmap(base, 2 * bytes);
      if (error == ENOMEM) return NoAddresses(request);
      return PosixStatus(error, request.path, "map");
    }
  }
  auto mapping = std::make_unique<PosixMapping>(base, bytes);
  if (madvise(base, 2 * bytes, MADV_DONTFORK) != 0) return PosixStatus(errno, request.path, "madvise dontfork");
  // WHY no read-ahead: it would fill the page cache with large folios, which the kernel scans as a whole when a
  // page of them is dirtied again. A hint; an error costs only time.
  (void)madvise(base, 2 * bytes, MADV_RANDOM);
  return std::unique_ptr<Mapping>(std::move(mapping));
}

// WHY only XFS: of the file systems that MapTwice accepts, only XFS shares blocks.
Status UnshareBlocks(const MappingRequest& request) {
#ifdef FS_IOC_FIEMAP
  ASSIGN_OR_RETURN(const uint32_t magic, MagicOf(request));
  if (magic != kMagicXfs) return {};
  ASSIGN_OR_RETURN(const bool shares, SharesBlocks(request));
  if (!shares) return {};
  struct stat file {};
  if (fstat(request.fd, &file) != 0) return PosixStatus(errno, request.path, "fstat");
  if (RetryOnSignal([&] { return fallocate(request.fd, FALLOC_FL_UNSHARE_RANGE, 0, file.st_size); }) == 0) return {};
  return PosixStatus(errno, request.path, "unshare blocks that a copy of the file (cp, reflink) has as well");
#else
  (void)request;
  return {};
#endif
}

void ExpectSingleReads(const ReadMapping& mapping) {
  (void)madvise(const_cast<char*>(mapping.data()), mapping.size(), MADV_RANDOM);
}

Result<std::unique_ptr<ReadMapping>> MapForReading(const MappingRequest& request) {
  if (sizeof(void*) < 8) return Status::NotSupported(request.path + ": map for reading: addresses have 32 bits");
  if (request.bytes == 0) return Status::InvalidArgument(request.path + ": map for reading: 0 bytes");
  struct stat file {};
  if (fstat(request.fd, &file) != 0) return PosixStatus(errno, request.path, "fstat");
  if (static_cast<uint64_t>(file.st_size) < request.bytes) {
    return Status::Corruption(request.path + ": map for reading: expected " + std::to_string(request.bytes) +
                              " bytes, found " + std::to_string(file.st_size));
  }
  void* const base = mmap(nullptr, request.bytes, PROT_READ, MAP_SHARED, request.fd, 0);
  if (base == MAP_FAILED) return PosixStatus(errno, request.path, "map for reading");
  try {
    return std::unique_ptr<ReadMapping>(std::make_unique<PosixReadMapping>(base, request.bytes));
  } catch (...) {  // out of memory
    munmap(base, request.bytes);
    throw;
  }
}

}  // namespace mergedb::env
