// The world as it is, and the out-of-line destructors of the interfaces to it (one home for each vtable).
#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/assert.h"
#include "base/sync.h"
#include "env/clock.h"
#include "env/executor.h"
#include "env/posix_file_system.h"
#include "env/posix_status.h"
#include "mergedb/env.h"

namespace mergedb {

Mapping::~Mapping() = default;
ReadMapping::~ReadMapping() = default;
File::~File() = default;
Result<std::unique_ptr<ReadMapping>> File::MapForReading(size_t) {
  return Status::NotSupported("this file system maps no files for reading");
}
Status File::Unshare() { return {}; }
FileLock::~FileLock() = default;
FileSystem::~FileSystem() = default;
Status FileSystem::Link(const std::string& source, const std::string&) {
  return Status::NotSupported(source + ": this file system gives no second names");
}
Clock::~Clock() = default;
Executor::~Executor() = default;
Logger::~Logger() = default;

namespace {

constexpr int kUrgentThreads = 2;  // a drain and a flush

bool ReadUrandom(void* out, size_t bytes) {
  const int fd = env::RetryOnSignal([] { return open("/dev/urandom", O_RDONLY | O_CLOEXEC); });
  if (fd < 0) return false;
  const ssize_t count = env::RetryOnSignal([&] { return read(fd, out, bytes); });
  close(fd);
  return count == static_cast<ssize_t>(bytes);
}

// Both sources fail only in a broken sandbox; a guessable salt would break the promise about stale bytes silently.
uint64_t KernelEntropy() {
  uint64_t value = 0;
  const ssize_t count = env::RetryOnSignal([&] { return getrandom(&value, sizeof value, 0); });
  const bool is_filled = count == sizeof value || ReadUrandom(&value, sizeof value);
  ASSERT(is_filled, "the kernel gives no random bytes");
  return value;
}

// The threads that all databases of this process share. WHY the pool can change: the child of a fork has none of its parent's
// threads, and a database that it opens would wait for ever; it gets a pool of its own, and the parent's is left alone.
class SharedPool {
 public:
  static SharedPool& Get() {
    static SharedPool* const shared = [] {
      static auto* made =
          new SharedPool;  // never destroyed: at exit another static's destructor may still use a database
      pthread_atfork([] { made->mutex_.lock(); }, [] { made->mutex_.unlock(); },
                     [] {
                       made->pool_ = nullptr;
                       made->mutex_.unlock();
                     });
      return made;
    }();
    return *shared;
  }

  // WHY three at least: a step that waits for the disk leaves its core to another. MEASURED: db_bench fillrandom of 1 KB values on
  // two cores takes 7.9 us a put with two threads, 5.3 with four.
  Executor* Pool() {
    static const int cores = static_cast<int>(std::thread::hardware_concurrency());
    base::Lock lock(mutex_);
    if (pool_ == nullptr) pool_ = new env::ThreadPool(std::max(3, cores), kUrgentThreads);
    return pool_;
  }

 private:
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
