// Time that is simulated for a program of real threads: it stands still while any of them runs, and leaps to the next event when
// all of them wait.
//
//     writer    put put put ........ SleepNanos(1 ms) ─────┐
//     flush     ── a disk's write takes until 7.3 ms ──────┤   all wait: now = 1 ms, the writer wakes
//     merge     ── blocked on a mutex that flush holds ────┘
//
// So what costs time is what is said to: sleeps and the operations of a SlowDisk. Computing costs none, and the machine's other
// work changes no result but by the order of threads that wake at the same instant. Threads may block each other in any way:
// that all wait is read from the kernel (/proc/self/task), not from hooks. A wait with a time-out of the real clock, as CondVar's,
// counts as a wait; it ends when the machine's time has passed.
// REQUIRES: Linux; no thread of the process that is busy all the time.
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
  // Run `act` at that time, on a thread of this object's: it must be short and wait for nothing.
  void RunAt(uint64_t due_nanos, std::function<void()> act);

 private:
  void Conduct();
  static bool OthersWait(int own_id);

  std::atomic<uint64_t> now_nanos_{1'000'000'000};
  std::atomic<bool> is_over_{false};
  base::Mutex mutex_;
  std::multimap<uint64_t, std::function<void()>> events_ GUARDED_BY(mutex_);
  std::thread conductor_;
};

// The threads of the default environment, with delays in simulated time. What is still delayed when it goes does not come.
class SimulatedExecutor final : public Executor {
 public:
  SimulatedExecutor(SimulatedTime& time, int patient_threads, int urgent_threads)
      : time_(time), pool_(std::make_shared<env::ThreadPool>(patient_threads, urgent_threads)) {}

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
  const std::shared_ptr<env::ThreadPool> pool_;  // shared with what is delayed, whose time may outlive this
};

}  // namespace mergedb::testing
