// Background threads in two lanes: urgent work (draining the log, flushing) and the rest (merging), each first come, first served.
//
//     urgent    two threads at the program's own priority: writers wait for what they do
//     patient   the rest at nice +10: merging takes what the program leaves over
//
// Work is short (env.h), so one queue a lane is fair enough: a long job schedules itself again and waits behind the others.
// WHY two lanes: with merges and flushes in one, a flush gets its share of the cores and no more, memtables fill, and writers
// wait. MEASURED: 1 M puts a second on two cores, one lane of two to four threads: the latest put was 50-430 ms late.
// The threads take no signals but those that a fault of their own raises, so a program's handlers run on the program's threads.
// THREADS: Schedule from any thread, also from within work. The destructor runs what still waits
// (but drops what is not due yet), then joins.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "base/sync.h"
#include "mergedb/env.h"

namespace mergedb::env {

class ThreadPool final : public Executor {
 public:
  // Without urgent threads, urgent work goes to the patient ones. If the process may not have so many threads, there are fewer patient ones;
  // std::bad_alloc if it may not have one of them.
  explicit ThreadPool(int patient_threads, int urgent_threads = 0);
  ~ThreadPool() override;

  void Schedule(std::function<void()> work) override;
  void ScheduleUrgent(std::function<void()> work) override;
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override;
  int Parallelism() const override { return patient_threads_; }
  bool RunOne() override { return false; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Lane {
    base::CondVar work_waits;
    std::deque<std::function<void()>> queue;
  };
  void Serve(Lane* lane);
  void WaitForWork(Lane* lane, base::Lock& lock);
  void Stop();

  int patient_threads_ = 0;  // constant after construction
  base::Mutex mutex_;
  Lane patient_ GUARDED_BY(mutex_);
  Lane urgent_ GUARDED_BY(mutex_);
  std::multimap<Time, std::function<void()>> delayed_ GUARDED_BY(mutex_);  // for the patient, by when it is due
  bool is_closing_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // constant after construction
  bool has_urgent_ = false;           // constant after construction
};

}  // namespace mergedb::env
