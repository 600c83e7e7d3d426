// Runs background work when the test says so, on the test's own thread, in an order that a seed decides.
//
//     ManualExecutor executor({.seed = 7});     // or {}: first come, first served
//     ... db->Put(...)                          // schedules; nothing runs
//     executor.RunOne();                        // one step of one job
//     executor.RunAll();                        // until the queue is empty
//
// The seed chooses among the queued work, so the same seed gives the same interleaving of jobs. The engine calls
// RunOne before it blocks (env.h), so a test that never calls RunOne still ends. Work may call Schedule and RunOne.
// The destructor drops queued work.
// THREADS: all methods from any thread; work runs without the lock.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "base/random.h"
#include "base/sync.h"
#include "mergedb/env.h"

namespace mergedb::testing {

class ManualExecutor final : public Executor {
 public:
  struct Options {
    std::optional<uint64_t> seed = {};  // nullopt: first come, first served
    int parallelism = 1;                // the result of Parallelism()
  };
  ManualExecutor() : ManualExecutor(Options{}) {}
  explicit ManualExecutor(const Options& options);

  void Schedule(std::function<void()> work) override;
  // The work waits for RunTimers; `nanos` is ignored.
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override;
  // Makes all delayed work due.
  void RunTimers();
  int Parallelism() const override { return options_.parallelism; }
  bool RunOne() override;

  // Runs until the queue is empty and returns the number of steps. Aborts after `steps_max` steps: work that
  // reschedules itself forever is a bug.
  size_t RunAll(size_t steps_max = 10'000'000);
  size_t waiting() const;

 private:
  const Options options_;
  mutable base::Mutex mutex_;
  base::Random random_ GUARDED_BY(mutex_);
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  std::deque<std::function<void()>> delayed_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::testing
