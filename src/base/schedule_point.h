// Where a test's scheduler takes over from the kernel's (testing/scheduler.h): at every lock, wait and notification of
// base/sync.h, and at each SCHEDULE_POINT, which stands beside an atomic that publishes something to other threads.
//
//     SCHEDULE_POINT("publish sequence");       // before the step that other threads can see
//     published_.store(last);
//
// A thread of the scheduler has `thread_scheduler` set; all other threads, also in the same process, run as ever.
// Only builds with MERGEDB_DCHECK have any of it. In a release build the macro is empty and base/sync.h holds no hook:
// tests/schedule/absent_test.py compiles sources as a release build does and finds no trace.
#pragma once

#ifndef MERGEDB_DCHECK

#define SCHEDULE_POINT(what) \
  do {                       \
  } while (0)

#else

#include <cstdint>

namespace mergedb::base {

class CondVar;
class Mutex;

// THREADS: each call comes from a thread that the scheduler runs, and returns when that thread may go on.
class ThreadScheduler {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  virtual ~ThreadScheduler() = default;
  // The next step of this thread is visible to others.
  virtual void Point(const char* what) = 0;
  virtual void LockMutex(Mutex& mutex) = 0;
  virtual void UnlockMutex(Mutex& mutex) = 0;
  // Unlocks, waits, locks. False if `nanos` passed first.
  virtual bool WaitOn(CondVar& condition, Mutex& mutex, uint64_t nanos) = 0;
  virtual void Notify(CondVar& condition, bool all) = 0;
};

inline constinit thread_local ThreadScheduler* thread_scheduler = nullptr;

[[gnu::always_inline]] inline void AtSchedulePoint(const char* what) {
  if (thread_scheduler != nullptr) [[unlikely]]
    thread_scheduler->Point(what);
}

}  // namespace mergedb::base

#define SCHEDULE_POINT(what) ::mergedb::base::AtSchedulePoint(what)

#endif
