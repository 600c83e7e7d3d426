// A mutex and a condition variable with annotations for clang's thread safety analysis. g++ ignores the annotations;
// `./dev check` has clang prove them (scripts/thread_safety.py).
// In builds with MERGEDB_DCHECK, a test's scheduler can decide which thread runs (base/schedule_point.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/schedule_point.h"

#if defined(__clang__)
#define MERGEDB_ANNOTATION(x) __attribute__((x))
#else
#define MERGEDB_ANNOTATION(x)
#endif
#define GUARDED_BY(x) MERGEDB_ANNOTATION(guarded_by(x))
// For a function that clang's analysis cannot follow. A comment says why.
#define NO_LOCK_ANALYSIS MERGEDB_ANNOTATION(no_thread_safety_analysis)
#define REQUIRES_LOCK(...) MERGEDB_ANNOTATION(requires_capability(__VA_ARGS__))

// WHY always_inline: the scheduler knows a call by its return address, so these functions must be part of
// their callers.
#ifdef MERGEDB_DCHECK
#define MERGEDB_IF_SCHEDULED(act)                                                             \
  if (ThreadScheduler* const scheduler = thread_scheduler; scheduler != nullptr) [[unlikely]] \
  return scheduler->act
#define MERGEDB_SYNC_INLINE [[gnu::always_inline]]
#else
#define MERGEDB_IF_SCHEDULED(act) (void)0
#define MERGEDB_SYNC_INLINE
#endif

namespace mergedb::base {

class MERGEDB_ANNOTATION(capability("mutex")) Mutex {
 public:
  MERGEDB_SYNC_INLINE void lock() MERGEDB_ANNOTATION(acquire_capability()) {
    MERGEDB_IF_SCHEDULED(LockMutex(*this));
    mutex_.lock();
  }
  MERGEDB_SYNC_INLINE void unlock() MERGEDB_ANNOTATION(release_capability()) {
    MERGEDB_IF_SCHEDULED(UnlockMutex(*this));
    mutex_.unlock();
  }
  bool try_lock() MERGEDB_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }
  std::mutex& native() { return mutex_; }

 private:
  std::mutex mutex_;
};

class MERGEDB_ANNOTATION(scoped_lockable) Lock {
 public:
  MERGEDB_SYNC_INLINE explicit Lock(Mutex& mutex) MERGEDB_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  MERGEDB_SYNC_INLINE ~Lock() MERGEDB_ANNOTATION(release_capability()) {
    if (is_held_) mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  MERGEDB_SYNC_INLINE void Unlock() MERGEDB_ANNOTATION(release_capability()) {
    is_held_ = false;
    mutex_.unlock();
  }
  MERGEDB_SYNC_INLINE void Relock() MERGEDB_ANNOTATION(acquire_capability()) {
    mutex_.lock();
    is_held_ = true;
  }
  Mutex& mutex() { return mutex_; }

 private:
  Mutex& mutex_;
  bool is_held_ = true;
};

// Releases a mutex that the caller holds, until the end of the scope.
class MERGEDB_ANNOTATION(scoped_lockable) Unlocked {
 public:
  MERGEDB_SYNC_INLINE explicit Unlocked(Mutex& mutex) MERGEDB_ANNOTATION(release_capability(mutex)) : mutex_(mutex) {
    mutex_.unlock();
  }
  MERGEDB_SYNC_INLINE ~Unlocked() MERGEDB_ANNOTATION(release_capability()) { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  MERGEDB_SYNC_INLINE void Wait(Lock& lock) {
    MERGEDB_IF_SCHEDULED(WaitOn(*this, lock.mutex(), ThreadScheduler::kForever)), void();
    Held held(lock);
    condition_.wait(held.native);
  }
  // False if the time passed first. Use it only for waits that other events end too, and for pauses of a bounded
  // number, because it uses the machine's clock.
  MERGEDB_SYNC_INLINE bool WaitFor(Lock& lock, uint64_t nanos) {
    MERGEDB_IF_SCHEDULED(WaitOn(*this, lock.mutex(), nanos));
    Held held(lock);
    return condition_.wait_for(held.native, std::chrono::nanoseconds(nanos)) == std::cv_status::no_timeout;
  }
  MERGEDB_SYNC_INLINE void NotifyOne() {
    MERGEDB_IF_SCHEDULED(Notify(*this, false));
    condition_.notify_one();
  }
  MERGEDB_SYNC_INLINE void NotifyAll() {
    MERGEDB_IF_SCHEDULED(Notify(*this, true));
    condition_.notify_all();
  }

 private:
  // The lock in the form that std::condition_variable takes. The Lock keeps its ownership.
  struct Held {
    explicit Held(Lock& lock) : native(lock.mutex().native(), std::adopt_lock) {}
    ~Held() { native.release(); }
    std::unique_lock<std::mutex> native;
  };

  std::condition_variable condition_;
};

}  // namespace mergedb::base

#undef MERGEDB_IF_SCHEDULED
#undef MERGEDB_SYNC_INLINE
