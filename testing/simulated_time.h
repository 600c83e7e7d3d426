// Simulated time for a program with real threads. Time stands still while a thread runs, and jumps to the next event
// when all threads wait.
//
//     writer      put put put ........ SleepNanos(1 ms) ─────┐
//     flush       ── a write to disk takes until 7.3 ms ─────┤   all wait: now = 1 ms, the writer wakes
//     compaction  ── blocked on a mutex that flush holds ────┘
//
// Only sleeps and the operations of a SlowDisk cost time; computing costs none. Other work of the machine changes only
// the order of threads that wake at the same instant. Threads may block each other in any way: the kernel
// (/proc/self/task) tells whether all of them wait, no hooks are needed. A wait with a real-time limit, as CondVar has,
// counts as a wait and ends when the real time has passed.
// REQUIRES: Linux; no thread of the process is busy all the time.
// THREADS: all methods from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "base/sync.h"
#include "env/executor.h"
#include "mergedb/env.h"

namespace mergedb::testing {

class SimulatedTime final : public Clock {
 public:
  SimulatedTime();
  ~SimulatedTime() override;

  uint64_t NowNanos() override { return now_nanos_.load(); }
  void SleepNanos(uint64_t nanos) override { SleepUntil(NowNanos() + nanos); }
  void SleepUntil(uint64_t due_nanos);
  // Runs `act` at that time, on a thread of this object. REQUIRES: `act` is short and does not wait.
  void RunAt(uint64_t due_nanos, std::function<void()> act);

 private:
  void Conduct();

  std::atomic<uint64_t> now_nanos_{1'000'000'000};
  std::atomic<bool> is_over_{false};
  base::Mutex mutex_;
  std::multimap<uint64_t, std::function<void()>> events_ GUARDED_BY(mutex_);
  std::thread conductor_;
};

// Runs work on the default environment's thread pool, with delays in simulated time. The destructor drops delayed work.
class SimulatedExecutor final : public Executor {
 public:
  SimulatedExecutor(SimulatedTime& time, int low_priority_threads, int urgent_threads)
      : time_(time), pool_(std::make_shared<env::ThreadPool>(low_priority_threads, urgent_threads)) {}

  void Schedule(std::function<void()> work) override { pool_->Schedule(std::move(work)); }
  void ScheduleUrgent(std::function<void()> work) override { pool_->ScheduleUrgent(std::move(work)); }
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override {
    time_.RunAt(time_.NowNanos() + nanos, [weak = std::weak_ptr(pool_), work = std::move(work)] {
      if (const auto pool = weak.lock()) pool->Schedule(work);
    });
  }
  int Parallelism() const override { return pool_->Parallelism(); }
  bool RunOne() override { return false; }

 private:
  SimulatedTime& time_;
  // shared with delayed work, which may become due after the destructor
  const std::shared_ptr<env::ThreadPool> pool_;
};

}  // namespace mergedb::testing
