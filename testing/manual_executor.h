// Background work that runs when the test says so, on the test's own thread, in an order that a seed decides.
//
//     ManualExecutor executor({.seed = 7});     // or {}: first come, first served
//     ... db->Put(...)                          // schedules; nothing runs
//     executor.RunOne();                        // one step of one job
//     executor.RunAll();                        // until nothing waits
//
// The seed picks among what waits, so the same seed gives the same interleaving of jobs. The engine calls RunOne before
// it blocks (env.h), hence a test that never does still ends. Work may Schedule and may call RunOne itself.
// Work that still waits when the executor dies is dropped.
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
    std::optional<uint64_t> seed = {};  // none: first come, first served
    int parallelism = 1;                // what Parallelism() claims
  };
  ManualExecutor() : ManualExecutor(Options{}) {}
  explicit ManualExecutor(const Options& options);

  void Schedule(std::function<void()> work) override;
  // Waits for RunTimers, whatever the time asked for: a test says when the hour has come.
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override;
  // All delayed work is due now.
  void RunTimers();
  int Parallelism() const override { return options_.parallelism; }
  bool RunOne() override;

  // Runs until nothing waits; aborts after `steps_max` steps, since work that reschedules itself for ever is a bug.
  // Returns how many steps it took.
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
