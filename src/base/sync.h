// Mutex and condition variable under names that a static checker can annotate (clang's thread safety analysis).
// g++ ignores the annotations; they still say, in the type, who guards what.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define MERGEDB_ANNOTATION(x) __attribute__((x))
#else
#define MERGEDB_ANNOTATION(x)
#endif
#define GUARDED_BY(x) MERGEDB_ANNOTATION(guarded_by(x))
#define REQUIRES_LOCK(...) MERGEDB_ANNOTATION(requires_capability(__VA_ARGS__))

namespace mergedb::base {

class MERGEDB_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() MERGEDB_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() MERGEDB_ANNOTATION(release_capability()) { mutex_.unlock(); }
  bool try_lock() MERGEDB_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }
  std::mutex& native() { return mutex_; }

 private:
  std::mutex mutex_;
};

class MERGEDB_ANNOTATION(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) MERGEDB_ANNOTATION(acquire_capability(mutex)) : lock_(mutex.native()) {}
  ~Lock() MERGEDB_ANNOTATION(release_capability()) = default;
  void Unlock() { lock_.unlock(); }
  void Relock() { lock_.lock(); }
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

class CondVar {
 public:
  void Wait(Lock& lock) { condition_.wait(lock.native()); }
  // False if the time passed first. Only for waits that other events end as well: the clock is the machine's own.
  bool WaitFor(Lock& lock, uint64_t nanos) {
    return condition_.wait_for(lock.native(), std::chrono::nanoseconds(nanos)) == std::cv_status::no_timeout;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace mergedb::base
