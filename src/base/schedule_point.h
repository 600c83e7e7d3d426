// The points where a test's scheduler (testing/scheduler.h) decides which thread runs next: each lock, wait
// and notification of base/sync.h, and each SCHEDULE_POINT. A SCHEDULE_POINT stands beside an atomic
// operation that other threads can see.
//
//     SCHEDULE_POINT("publish sequence");       // before the step that other threads can see
//     published_.store(last);
//
// A thread under the scheduler has `thread_scheduler` set. All other threads of the process run as usual.
// Only builds with MERGEDB_DCHECK contain the scheduler's hooks. In other builds the macro is empty and base/sync.h
// has no hook: tests/schedule/absent_test.py compiles sources as a release build does and finds no trace.
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

// THREADS: only threads that the scheduler runs make these calls. A call returns when its thread may go on.
class ThreadScheduler {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  virtual ~ThreadScheduler() = default;
  // The next step of the calling thread is visible to other threads.
  virtual void Point(const char* what) = 0;
  virtual void LockMutex(Mutex& mutex) = 0;
  virtual void UnlockMutex(Mutex& mutex) = 0;
  // Unlocks, waits, locks. False if `nanos` passed before a notification.
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
