// Every system call fails once, below the file system interface: the database uses real files, with this
// program's own pread, pwrite, open, ... in front of the C library's. Errors must become a status that is not
// OK; short transfers and signals must not be visible; acknowledged writes are there afterwards, and the
// database continues.
// Method: a small workload runs once to count the calls of each name; then once for every n, with the n-th
// call failing.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"

namespace {

enum class Call : int {
  kOpen,
  kPread,
  kPwrite,
  kFdatasync,
  kFsync,
  kFtruncate,
  kClose,
  kFstat,
  kStat,
  kFstatat,
  kUnlinkat,
  kRenameat,
  kFdopendir,
  kReaddir,
  kMkdirat,
  kMmap,
  kMadvise,
  kFcntl,
  kFstatfs,
  kCount,
};
constexpr const char* kCallNames[] = {"open",    "pread", "pwrite",  "fdatasync", "fsync",    "ftruncate", "close",
                                      "fstat",   "stat",  "fstatat", "unlinkat",  "renameat", "fdopendir", "readdir",
                                      "mkdirat", "mmap",  "madvise", "fcntl",     "fstatfs"};

struct Plan {
  std::atomic<bool> is_armed{false};
  std::atomic<int> call{-1};
  std::atomic<int64_t> left{0};  // calls until the one that fails
  std::atomic<int> error{0};     // 0: a short transfer
  std::atomic<int> times{1};     // how many in a row
  std::atomic<uint64_t> counts[static_cast<int>(Call::kCount)];
  std::atomic<uint64_t> hits{0};
};
Plan g_plan;

// Whether this call must fail; the error is in errno.
bool Fails(Call call) {
  if (!g_plan.is_armed) return false;
  ++g_plan.counts[static_cast<int>(call)];
  if (g_plan.call != static_cast<int>(call)) return false;
  const int64_t left = --g_plan.left;
  if (left >= 0 && left != 0) return false;
  if (-left >= g_plan.times) return false;
  ++g_plan.hits;
  errno = g_plan.error;
  return true;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define REAL(name) static const auto real = Real<decltype(::name)>(#name)

extern "C" {
int open(const char* path, int flags, ...) {
  REAL(open);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return Fails(Call::kOpen) ? -1 : real(path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  REAL(openat);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return Fails(Call::kOpen) ? -1 : real(directory, path, flags, mode);
}
ssize_t pread(int fd, void* out, size_t bytes, off_t offset) {
  REAL(pread);
  if (!Fails(Call::kPread)) return real(fd, out, bytes, offset);
  return g_plan.error != 0 ? -1 : real(fd, out, bytes > 4096 ? 4096 : bytes, offset);
}
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  REAL(pwrite);
  if (!Fails(Call::kPwrite)) return real(fd, data, bytes, offset);
  return g_plan.error != 0 ? -1 : real(fd, data, bytes > 4096 ? 4096 : 0, offset);
}
int fdatasync(int fd) {
  REAL(fdatasync);
  return Fails(Call::kFdatasync) ? -1 : real(fd);
}
int fsync(int fd) {
  REAL(fsync);
  return Fails(Call::kFsync) ? -1 : real(fd);
}
int ftruncate(int fd, off_t bytes) noexcept {
  REAL(ftruncate);
  return Fails(Call::kFtruncate) ? -1 : real(fd, bytes);
}
int close(int fd) {
  REAL(close);
  const int returned = real(fd);
  return Fails(Call::kClose) ? -1 : returned;  // Linux has closed it even if close fails
}
int fstat(int fd, struct stat* out) noexcept {
  REAL(fstat);
  return Fails(Call::kFstat) ? -1 : real(fd, out);
}
int stat(const char* path, struct stat* out) noexcept {
  REAL(stat);
  return Fails(Call::kStat) ? -1 : real(path, out);
}
int fstatat(int directory, const char* path, struct stat* out, int flags) noexcept {
  REAL(fstatat);
  return Fails(Call::kFstatat) ? -1 : real(directory, path, out, flags);
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  REAL(unlinkat);
  return Fails(Call::kUnlinkat) ? -1 : real(directory, path, flags);
}
int renameat(int from, const char* source, int to, const char* target) noexcept {
  REAL(renameat);
  return Fails(Call::kRenameat) ? -1 : real(from, source, to, target);
}
DIR* fdopendir(int fd) {
  REAL(fdopendir);
  return Fails(Call::kFdopendir) ? nullptr : real(fd);
}
struct dirent* readdir(DIR* stream) {
  REAL(readdir);
  return Fails(Call::kReaddir) ? nullptr : real(stream);
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  REAL(mkdirat);
  return Fails(Call::kMkdirat) ? -1 : real(directory, path, mode);
}
void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  REAL(mmap);
  // A mapping without a file is memory: docs/decisions/0017-out-of-memory.md.
  return fd >= 0 && Fails(Call::kMmap) ? MAP_FAILED : real(address, bytes, protection, flags, fd, offset);
}
int madvise(void* address, size_t bytes, int advice) noexcept {
  REAL(madvise);
  return (advice == MADV_DONTFORK || advice == MADV_POPULATE_WRITE) && Fails(Call::kMadvise)
             ? -1
             : real(address, bytes, advice);
}
int fcntl(int fd, int command, ...) {
  REAL(fcntl);
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return Fails(Call::kFcntl) ? -1 : real(fd, command, argument);
}
int fstatfs(int fd, struct statfs* out) noexcept {
  REAL(fstatfs);
  return Fails(Call::kFstatfs) ? -1 : real(fd, out);
}
}

namespace mergedb::testing {
namespace {

using Pairs = std::map<std::string, std::string>;

struct Failure {
  Call call = Call::kCount;  // no failure
  int64_t nth = 0;
  int error = 0;
  int times = 1;
};

class SystemCalls : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string pattern = std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/mergedb_calls_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Options SmallOptions() const {
    Options options;
    options.memory_bytes = 512 << 10;
    options.write_buffer_bytes = 64 << 10;
    options.use_mapped_wal_buffer = GetParam();
    return options;
  }
  std::string path() const { return root_ + "/db"; }

  void Arm(const Failure& failure) {
    for (auto& count : g_plan.counts) count = 0;
    g_plan.call = static_cast<int>(failure.call);
    g_plan.left = failure.nth;
    g_plan.error = failure.error;
    g_plan.times = failure.times;
    g_plan.hits = 0;
    g_plan.is_armed = true;
  }

  void Note(const Status& status) {
    EXPECT_TRUE(status.ok() || (g_plan.hits > 0 && (status.IsIOError() || status.IsNoSpace() || status.IsBusy() ||
                                                    status.IsNotSupported())))
        << status.ToString();
  }
  std::unique_ptr<DB> Open() {
    auto db = DB::Open(SmallOptions(), path());
    Note(db.status());
    for (int tries = 0; !db && tries < 3; ++tries) db = DB::Open(SmallOptions(), path());  // the fault passes
    EXPECT_OK(db.status());
    return db ? std::move(*db) : nullptr;
  }
  void WriteSome(DB& db, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string key = "key" + std::to_string(number_ % 20);
      const std::string value = std::to_string(number_) + std::string(static_cast<size_t>(number_ * 97 % 4000), 'v');
      const Status status =
          db.Put({.durability = number_ % 10 == 0 ? Durability::kSynced : Durability::kProcessCrash}, key, value);
      Note(status);
      if (status.ok()) {
        sure_[key] = value;
        maybe_.erase(key);
      } else if (status.outcome_unknown()) {
        maybe_[key] = value;
      }
      ++number_;
    }
  }
  void CheckAll(DB& db, bool is_reopened) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = "key" + std::to_string(i);
      std::string value;
      Status status = db.Get({}, key, &value);
      Note(status.IsNotFound() ? Status() : status);
      if (!status.ok() && !status.IsNotFound()) status = db.Get({}, key, &value);
      const auto sure = sure_.find(key);
      const bool is_right = sure == sure_.end() ? status.IsNotFound() : status.ok() && value == sure->second;
      const auto maybe = maybe_.find(key);
      const bool may_be = is_reopened && maybe != maybe_.end() && value == maybe->second;
      EXPECT_TRUE(is_right || may_be) << key << ": " << status.ToString() << " " << value.substr(0, 8);
      if (may_be && !is_right) sure_[key] = value;
    }
    if (is_reopened) maybe_.clear();
  }

  void Live(const Failure& failure) {
    std::filesystem::remove_all(path());
    sure_.clear();
    maybe_.clear();
    number_ = 0;
    Arm(failure);
    for (int life = 0; life < 2; ++life) {
      auto db = Open();
      if (db == nullptr) break;
      CheckAll(*db, true);
      WriteSome(*db, 60);
      Note(db->Flush());
      WriteSome(*db, 20);
      Note(db->CompactRange(nullptr, nullptr));
      CheckAll(*db, false);
      if (life == 0) Note(db->Close());
    }
    const bool was_hit = g_plan.hits > 0;
    Arm({});
    {
      auto db = Open();
      if (db != nullptr) {
        CheckAll(*db, true);
        EXPECT_OK(db->Put({.durability = Durability::kSynced}, "key1", "again"));
        EXPECT_OK(db->CheckIntegrity());
      }
    }
    g_plan.hits = was_hit;
    g_plan.is_armed = false;
  }

  std::string root_;
  Pairs sure_, maybe_;
  int number_ = 0;
};

TEST_P(SystemCalls, FailWithoutHarm) {
  Live({});
  ASSERT_FALSE(HasFailure());
  Arm({});
  std::map<int, int64_t> counts;
  {
    std::filesystem::remove_all(path());
    auto db = Open();
    WriteSome(*db, 60);
    EXPECT_OK(db->CompactRange(nullptr, nullptr));
    db = nullptr;
    db = Open();
    for (int i = 0; i < static_cast<int>(Call::kCount); ++i) counts[i] = static_cast<int64_t>(g_plan.counts[i]);
  }
  const int64_t each_max = IsFullSize() ? 400 : 25;
  uint64_t lives = 0, hits = 0;
  for (const auto& [call, count] : counts) {
    const Call which = static_cast<Call>(call);
    std::vector<Failure> kinds = {
        {which, 0, EIO, 1}, {which, 0, ENOSPC, 1}, {which, 0, EMFILE, 1}, {which, 0, EACCES, 1}};
    const bool retries_signals =
        which == Call::kOpen || which == Call::kPread || which == Call::kPwrite || which == Call::kFdatasync;
    if (retries_signals) kinds.push_back({which, 0, EINTR, 3});
    if (which == Call::kPread || which == Call::kPwrite) kinds.push_back({which, 0, 0, 2});
    const int64_t stride = std::max<int64_t>(1, count / each_max);
    for (int64_t n = 1; n <= count; n += stride) {
      Failure failure = kinds[static_cast<size_t>(n / stride) % kinds.size()];
      failure.nth = n;
      SCOPED_TRACE(std::string(kCallNames[call]) + " number " + std::to_string(n) + " of about " +
                   std::to_string(count) + ": " + (failure.error == 0 ? "short" : std::strerror(failure.error)));
      Live(failure);
      ++lives;
      hits += g_plan.hits > 0;
      if (HasFailure()) return;
    }
  }
  std::printf("%llu lives, %llu with a failed call\n", static_cast<unsigned long long>(lives),
              static_cast<unsigned long long>(hits));
}

INSTANTIATE_TEST_SUITE_P(Staging, SystemCalls, ::testing::Bool());

}  // namespace
}  // namespace mergedb::testing
