#include "db/background/background_scheduler.h"

#include <algorithm>

#include "base/out_of_memory.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kTickNanos = 1'000'000'000;
constexpr uint64_t kWaitNanos = 100'000'000;

}  // namespace

void BackgroundScheduler::Nudge() {
  BackgroundLock lock(mutex_);
  ScheduleLocked();
}

void BackgroundScheduler::NudgeUrgently() {
  env_.executor->ScheduleUrgent([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Nudge();
  });
}

void BackgroundScheduler::NudgeAfter(uint64_t nanos) {
  env_.executor->ScheduleAfter(nanos, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Nudge();
  });
}

// Flushes go in order, so one runs at a time.
void BackgroundScheduler::ScheduleFlushLocked() {
  // WHY this check is first: a nudge may arrive after Stop(). Then the host may be gone.
  if (is_stopping_ || is_flushing_ || !tasks_.WantsFlushLocked()) return;
  // WHY the mark comes last, in all of these methods: an iterator that runs out of memory here goes on. The work waits
  // for the mutex.
  env_.executor->ScheduleUrgent([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->RunFlush();
  });
  is_flushing_ = true;
}

void BackgroundScheduler::RunFlush() noexcept {
  BackgroundLock lock(mutex_);
  if (!is_stopping_) {
    lock.Unlock();
    base::OrStop([this] {
      tasks_.RunFlush();
      tasks_.AfterWork();
    });
    lock.Relock();
  }
  is_flushing_ = false;
  ScheduleLocked();
  changed_.NotifyAll();
}

// Adds a worker if the executor has room for one. A worker that finds a task adds another worker before it begins.
void BackgroundScheduler::ScheduleLocked() {
  ScheduleFlushLocked();
  if (is_stopping_ || workers_ >= env_.executor->Parallelism()) return;
  env_.executor->Schedule([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->RunTask();
  });
  ++workers_;
}

void BackgroundScheduler::RunTask() noexcept {
  BackgroundLock lock(mutex_);
  Task task = is_stopping_ ? nullptr : tasks_.ChooseLocked();
  const bool has_task = task != nullptr;
  if (has_task) {
    ScheduleLocked();
    lock.Unlock();
    base::OrStop([&] {
      task();
      tasks_.AfterWork();
    });
    task = nullptr;  // Destroy the task and its job before `--workers_`: once the count is 0, Stop() may have returned.
    lock.Relock();
  }
  --workers_;
  if (has_task) ScheduleLocked();
  // WHY only after real work: a waiter schedules a worker when it wakes, so an unconditional notify would make the two
  // wake each other forever.
  if (has_task || is_stopping_) changed_.NotifyAll();
}

void BackgroundScheduler::ArmTimerLocked() {
  if (timer_is_armed_ || is_stopping_) return;
  env_.executor->ScheduleAfter(kTickNanos, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnTimer();
  });
  timer_is_armed_ = true;
}

void BackgroundScheduler::OnTimer() {
  BackgroundLock lock(mutex_);
  timer_is_armed_ = false;
  if (is_stopping_) return;
  if (tasks_.TickLocked()) ArmTimerLocked();
  ScheduleLocked();
  changed_.NotifyAll();
}

// WHY a lack of descriptors during a job that ended meanwhile is no failure: its inputs' descriptors are free now. WHY
// a nudge beside the timer: its next tick may come a second after the pause.
void BackgroundScheduler::NoteOutcomeLocked(Work work, uint64_t began_nanos, const Status& status) {
  Retry& retry = RetryOf(work);
  if (status.ok() || (status.IsBusy() && work != Work::kCompactions && began_nanos < job_ended_nanos_)) {
    retry = {};
    return;
  }
  retry.NoteFailure(status, began_nanos, env_.clock->NowNanos());
  if (env_.logger != nullptr) env_.logger->Log("background: " + status.ToString());
  tasks_.NoteErrorLocked(work, status);
  ArmTimerLocked();
  NudgeAfter(retry.pause_nanos);
}

void BackgroundScheduler::NoteJobEndLocked(uint64_t began_nanos, const Status& status) {
  ArmTimerLocked();  // iterators may still pin files that are now obsolete
  NoteOutcomeLocked(Work::kCompactions, began_nanos, status);
  job_ended_nanos_ = env_.clock->NowNanos();
  ++jobs_ended_;
  for (const Work work : {Work::kFlushes, Work::kCommits}) {
    if (RetryOf(work).status.IsBusy()) RetryOf(work) = {};  // the inputs' descriptors are free
  }
  changed_.NotifyAll();
}

bool BackgroundScheduler::DiskIsFullLocked() const {
  return std::ranges::any_of(retries_, [](const Retry& retry) { return retry.status.IsNoSpace(); });
}

Status BackgroundScheduler::error() const {
  BackgroundLock lock(mutex_);
  for (const Retry& retry : retries_) {
    if (!retry.status.ok()) return retry.status;
  }
  return {};
}

// Work that began before a call and failed is retried at once for the call: the cause may be gone.
void BackgroundScheduler::RetryWorkBeforeLocked(uint64_t nanos) {
  for (Retry& retry : retries_) {
    if (retry.began_nanos < nanos) retry = {};
  }
}

// WHY a flush or a commit that lacks descriptors has not failed while a job runs: the job may hold one for each sorted
// run, and closes them when it ends.
bool BackgroundScheduler::HasFailedLocked(Work work) const {
  const Status& status = RetryOf(work).status;
  const bool waits_for_job = status.IsBusy() && work <= Work::kCommits && tasks_.HasJobsLocked();
  return !status.ok() && !waits_for_job;
}

// Lets background work change what `is_done` asks for: runs a piece of it on this thread if the executor has no
// threads, or waits. WHY without the analysis: it does not follow a lock of the caller.
void BackgroundScheduler::WorkOrWait(BackgroundLock& lock, const std::function<bool()>& is_done) NO_LOCK_ANALYSIS {
  ScheduleLocked();
  lock.Unlock();
  const bool ran = env_.executor->RunOne();
  lock.Relock();
  if (!ran && !is_done()) changed_.WaitFor(lock, kWaitNanos);
}

Status BackgroundScheduler::WaitUntil(Work needs, const std::function<bool()>& is_done) {
  const uint64_t start = env_.clock->NowNanos();
  BackgroundLock lock(mutex_);
  while (!is_done()) {
    RetryWorkBeforeLocked(start);
    if (is_stopping_) return Status::ShuttingDown("the database is closing");
    for (const Work work : {Work::kFlushes, Work::kCommits, Work::kCompactions, Work::kRecycling, Work::kRemovals}) {
      if (work <= needs && HasFailedLocked(work)) return RetryOf(work).status;
    }
    WorkOrWait(lock, is_done);
  }
  return {};
}

bool BackgroundScheduler::WaitForJobEnd() {
  BackgroundLock lock(mutex_);
  const uint64_t ended = jobs_ended_;
  const auto is_over = [&]() REQUIRES_LOCK(background_mutex) {
    return is_stopping_ || !tasks_.HasJobsLocked() || jobs_ended_ != ended;
  };
  while (!is_over()) WorkOrWait(lock, is_over);
  return jobs_ended_ != ended;
}

void BackgroundScheduler::Stop(bool finish_jobs) {
  BackgroundLock lock(mutex_);
  const auto jobs_are_over = [&]() REQUIRES_LOCK(background_mutex) { return is_stopping_ || !tasks_.HasJobsLocked(); };
  while (finish_jobs && !jobs_are_over()) WorkOrWait(lock, jobs_are_over);
  is_stopping_ = true;
  changed_.NotifyAll();
  const auto is_idle = [&]() REQUIRES_LOCK(background_mutex) { return workers_ == 0 && !is_flushing_; };
  while (!is_idle()) WorkOrWait(lock, is_idle);
}

}  // namespace mergedb::db
