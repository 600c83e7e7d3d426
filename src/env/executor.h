// A fixed number of background threads and one queue, first come, first served.
//
// Work is short (env.h), so one queue is fair enough: a long job schedules itself again and waits behind the others.
// The threads run at nice +10: merging takes what the program leaves over. They take no signals but those that a fault
// of their own raises, so a program's handlers run on the program's threads.
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
  explicit ThreadPool(int thread_count);
  ~ThreadPool() override;

  void Schedule(std::function<void()> work) override;
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override;
  int Parallelism() const override { return static_cast<int>(threads_.size()); }
  bool RunOne() override { return false; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  void Serve();
  void WaitForWork(base::Lock& lock);

  base::Mutex mutex_;
  base::CondVar work_waits_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  std::multimap<Time, std::function<void()>> delayed_ GUARDED_BY(mutex_);  // by when it is due
  bool is_closing_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // constant after construction
};

}  // namespace mergedb::env
