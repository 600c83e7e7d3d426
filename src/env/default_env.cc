// The default environment, and the out-of-line destructors of the interfaces in it (one home for each vtable).
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/assert.h"
#include "base/fork_safe.h"
#include "base/sync.h"
#include "env/clock.h"
#include "env/descriptors.h"
#include "env/executor.h"
#include "env/posix_file_system.h"
#include "env/posix_status.h"
#include "mergedb/env.h"

namespace mergedb {

Mapping::~Mapping() = default;
void Mapping::Prefault(size_t, size_t) {}
ReadMapping::~ReadMapping() = default;
File::~File() = default;
Result<std::unique_ptr<ReadMapping>> File::MapForReading(size_t) {
  return Status::NotSupported("this file system maps no files for reading");
}
Status File::Unshare() { return {}; }
// WHY in pieces of this size: larger writes leave large folios in the page cache, and the kernel scans such a folio as
// a whole when a page of it is dirtied (MEASURED: 4.2 us against 0.5-1.1).
Status File::Allocate(uint64_t offset, uint64_t bytes) {
  alignas(kDirectIoAlign) static constexpr char kZeros[kDirectIoAlign] = {};
  for (uint64_t done = 0; done < bytes; done += kDirectIoAlign) {
    RETURN_IF_ERROR(WriteAt(offset + done, {kZeros, kDirectIoAlign}));
  }
  return {};
}
Status File::Deallocate(uint64_t, uint64_t) {
  return Status::NotSupported("this file system cannot give back a part of a file");
}
FileLock::~FileLock() = default;
FileSystem::~FileSystem() = default;
Status FileSystem::Link(const std::string& source, const std::string&) {
  return Status::NotSupported(source + ": this file system has no hard links");
}
Result<std::unique_ptr<FileSystem>> FileSystem::Bind(const std::string&) { return std::unique_ptr<FileSystem>(); }
Clock::~Clock() = default;
Executor::~Executor() = default;
Logger::~Logger() = default;

namespace {

constexpr int kUrgentThreads = 2;  // the WAL writer and a flush

bool ReadUrandom(void* out, size_t bytes) {
  const int fd = env::OpenMakingRoom([] { return open("/dev/urandom", O_RDONLY | O_CLOEXEC); });
  if (fd < 0) return false;
  const ssize_t count = env::RetryOnSignal([&] { return read(fd, out, bytes); });
  close(fd);
  return count == static_cast<ssize_t>(bytes);
}

// WHY an assertion: both sources fail only in a broken sandbox, and a salt that can be guessed would silently
// break the promise about stale bytes.
uint64_t KernelEntropy() {
  uint64_t value = 0;
  const ssize_t count = env::RetryOnSignal([&] { return getrandom(&value, sizeof value, 0); });
  const bool is_filled = count == sizeof value || ReadUrandom(&value, sizeof value);
  ASSERT(is_filled, "the kernel returned no random bytes");
  return value;
}

// The threads that all databases of this process share. WHY the pool can change: the child of a fork has no
// thread of its parent, so work of a database that the child opens would never run. The child makes a pool of
// its own and leaves the parent's pool alone.
class SharedPool {
 public:
  static SharedPool& Get() { return base::ForkSafe<SharedPool>::Get(); }

  // WHY at least three: while a step waits for the disk, another one can use its core. MEASURED: db_bench
  // fillrandom of 1 KB values on two cores: 7.9 us per put with two threads, 5.3 us with four.
  Executor* Pool() {
    static const int cores = static_cast<int>(std::thread::hardware_concurrency());
    base::Lock lock(mutex_);
    if (pool_ == nullptr) pool_ = new env::ThreadPool(std::max(3, cores), kUrgentThreads);
    return pool_;
  }

 private:
  friend class base::ForkSafe<SharedPool>;
  void ForgetParentLocked() REQUIRES_LOCK(mutex_) { pool_ = nullptr; }

  base::Mutex mutex_;
  Executor* pool_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace

Env DefaultEnv() {
  return {.file_system = env::PosixFileSystem(),
          .clock = env::SteadyClock(),
          .executor = SharedPool::Get().Pool(),
          .logger = nullptr,
          .entropy = KernelEntropy};
}

}  // namespace mergedb
