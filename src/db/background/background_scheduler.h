// Runs background work on the executor: flushes as urgent work, one at a time, and tasks at low priority, as many at
// once as the executor has threads. The host chooses the next task; the scheduler does not know what a task does.
//
// Each task is one piece of work of the executor. So a test that runs the tasks by hand chooses the interleaving, and
// small and large compactions make progress together even on one thread.
//
// A failed task is retried after a pause (db/background/retry.h). Callers that wait for its kind of work meanwhile get
// its error: writers that wait for memory, that of a flush. Each kind of work has its own pause: a file that cannot be
// removed delays no compaction.
//
// One mutex guards the decisions of all background work: the host decides and marks in one critical section. A method
// named ...Locked needs this mutex.
//
// THREADS: any. Lock order: mutex() before the mutexes of ManifestCommitter and VersionSet.
// Shared, because the executor may hold work after Stop. INVARIANT: after Stop the scheduler calls no method of the
// host.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "db/background/background_mutex.h"
#include "db/background/retry.h"
#include "mergedb/env.h"
#include "mergedb/status.h"

namespace mergedb::db {

class BackgroundScheduler : public std::enable_shared_from_this<BackgroundScheduler> {
 public:
  // Runs without the mutex; null: there is nothing to do. WHY a function: each runner has tasks of its own.
  using Task = std::function<void()>;
  // A caller that waits for one kind of work needs the kinds before it, too.
  enum class Work : uint8_t { kFlushes, kCommits, kCompactions, kRecycling, kRemovals };

  class Tasks {
   public:
    virtual ~Tasks() = default;
    virtual Task ChooseLocked() REQUIRES_LOCK(background_mutex) = 0;  // the most urgent task, marked as begun
    virtual bool WantsFlushLocked() const REQUIRES_LOCK(background_mutex) = 0;
    virtual void RunFlush() = 0;
    virtual bool HasJobsLocked() const REQUIRES_LOCK(background_mutex) = 0;  // compaction jobs that have not ended
    virtual bool TickLocked()
        REQUIRES_LOCK(background_mutex) = 0;  // called by the timer; true: call again after a second
    virtual void NoteErrorLocked(Work, const Status&) REQUIRES_LOCK(background_mutex) {}
    virtual void AfterWork() {}  // after each task and each flush, without the mutex
  };
  BackgroundScheduler(const Env& env, Tasks& tasks) : env_(env), tasks_(tasks) {}

  BackgroundMutex& mutex() { return mutex_; }

  // There may be new work.
  void Nudge();
  void NudgeUrgently();  // on a thread for urgent work, without the mutex
  void NudgeAfter(uint64_t nanos);
  void ScheduleLocked() REQUIRES_LOCK(background_mutex);
  void ArmTimerLocked() REQUIRES_LOCK(background_mutex);
  void NotifyLocked() REQUIRES_LOCK(background_mutex) { changed_.NotifyAll(); }  // what a caller waits for may hold now

  bool IsStoppingLocked() const REQUIRES_LOCK(background_mutex) { return is_stopping_; }
  bool IsFlushingLocked() const REQUIRES_LOCK(background_mutex) { return is_flushing_; }
  bool MayTryLocked(Work work) const REQUIRES_LOCK(background_mutex) { return RetryOf(work).MayTry(env_.clock); }
  void NoteOutcomeLocked(Work work, uint64_t began_nanos, const Status& status) REQUIRES_LOCK(background_mutex);
  // A compaction job has ended and released its inputs.
  void NoteJobEndLocked(uint64_t began_nanos, const Status& status) REQUIRES_LOCK(background_mutex);
  bool DiskIsFullLocked() const REQUIRES_LOCK(background_mutex);
  // The first error that work waits to retry; OK if there is none.
  Status error() const;

  // Blocks until `is_done` holds; calls it under the mutex. Retries failed work at once; if work that the wait `needs`
  // fails again, returns its status. WHY a function: what a caller waits for is known to the caller alone.
  Status WaitUntil(Work needs, const std::function<bool()>& is_done);
  // Returns true when a compaction job has ended and released its inputs; false if none runs, or after Stop.
  bool WaitForJobEnd();
  // Returns when no work runs; none starts afterwards. With `finish_jobs`, jobs run to their end first.
  void Stop(bool finish_jobs);

 private:
  void ScheduleFlushLocked() REQUIRES_LOCK(background_mutex);
  void RunFlush() noexcept;
  void RunTask() noexcept;
  void OnTimer();
  void WorkOrWait(BackgroundLock& lock, const std::function<bool()>& is_done) REQUIRES_LOCK(background_mutex);
  bool HasFailedLocked(Work work) const REQUIRES_LOCK(background_mutex);
  void RetryWorkBeforeLocked(uint64_t nanos) REQUIRES_LOCK(background_mutex);
  Retry& RetryOf(Work work) REQUIRES_LOCK(background_mutex) { return retries_[static_cast<size_t>(work)]; }
  const Retry& RetryOf(Work work) const REQUIRES_LOCK(background_mutex) { return retries_[static_cast<size_t>(work)]; }

  const Env env_;
  Tasks& tasks_;

  mutable BackgroundMutex mutex_;
  base::CondVar changed_;
  int workers_ GUARDED_BY(background_mutex) = 0;  // tasks scheduled or running
  bool is_flushing_ GUARDED_BY(background_mutex) = false;
  bool is_stopping_ GUARDED_BY(background_mutex) = false;
  bool timer_is_armed_ GUARDED_BY(background_mutex) = false;
  uint64_t job_ended_nanos_ GUARDED_BY(background_mutex) = 0;  // when the last job released its inputs
  uint64_t jobs_ended_ GUARDED_BY(background_mutex) = 0;
  std::array<Retry, 5> retries_ GUARDED_BY(background_mutex);  // one for each kind of work
};

}  // namespace mergedb::db
