// Background threads with two queues: urgent work (the WAL writer, flushes) and low-priority work (compactions and
// the rest). Each queue is first in, first out (docs/decisions/0010-two-lanes.md).
//
//     urgent         threads at the program's own priority: writers wait for their work
//     low-priority   threads at nice +10: compactions take the time that the program leaves over
//
// Work is short (mergedb/env.h), so first in, first out is fair: a long job schedules itself again, behind
// the waiting work. WHY two queues: with one, a flush gets only its share of the cores beside compactions,
// memtables fill, and writers wait. MEASURED: 1 M puts a second on two cores, one queue with two to four
// threads: the slowest put was 50-430 ms late.
// The threads block all signals except SIGPROF and those of their own faults, so a program's handlers run on
// the program's threads.
// THREADS: call Schedule from any thread, also from within work. The destructor runs the waiting work, drops
// delayed work that is not due yet, then joins the threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "base/sync.h"
#include "mergedb/env.h"
#include "mergedb/status.h"

namespace mergedb::env {

class ThreadPool final : public Executor {
 public:
  // Without urgent threads, urgent work goes to the low-priority ones. If the process may not start so many threads,
  // there are fewer, or none: see Start.
  explicit ThreadPool(int low_priority_threads, int urgent_threads = 0);
  ~ThreadPool() override;

  // Starts the threads that are still missing. Busy if work that is scheduled would not run, because there is no thread
  // for it.
  Status Start();

  void Schedule(std::function<void()> work) override;
  void ScheduleUrgent(std::function<void()> work) override;
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override;
  int Parallelism() const override { return low_priority_threads_.load(std::memory_order_relaxed); }
  bool RunOne() override { return false; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum Priority : uint8_t { kLow, kUrgent };
  void Add(Priority priority, std::function<void()> work);
  void Serve(Priority priority);
  void WaitForWork(Priority priority, base::Lock& lock) REQUIRES_LOCK(mutex_);
  void StartOneOf(std::atomic<int>& count, Priority priority) REQUIRES_LOCK(start_mutex_);

  const int low_priority_threads_wanted_;
  const int urgent_threads_wanted_;
  std::atomic<int> low_priority_threads_{0};  // they only grow
  std::atomic<int> urgent_threads_{0};
  base::Mutex start_mutex_;  // before mutex_
  std::vector<std::thread> threads_ GUARDED_BY(start_mutex_);
  base::CondVar work_waits_[2];  // by priority, as work_
  base::Mutex mutex_;
  std::deque<std::function<void()>> work_[2] GUARDED_BY(mutex_);
  std::multimap<Time, std::function<void()>> delayed_ GUARDED_BY(mutex_);  // for work_[kLow], by due time
  bool is_closing_ GUARDED_BY(mutex_) = false;
};

// OK unless `executor` is a ThreadPool that has no thread and cannot start one (ThreadPool::Start).
Status CheckThreads(Executor* executor);
// "cannot start a thread: ...": Busy, with the limits that may be the cause.
Status CannotStartThread(int error);

}  // namespace mergedb::env
