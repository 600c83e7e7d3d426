// Runs real threads, one at a time; the test chooses which. The same choices give the same run.
//
//     Scheduler::Outcome outcome = Scheduler::Run({}, choose, [&](Scheduler& scheduler) {
//       auto db = DB::Open(...env of scheduler.executor() and scheduler.clock()...);   // no choices yet
//       scheduler.Spawn("writer", [&] { ... });
//       scheduler.Spawn("reader", [&] { ... if (is_wrong) scheduler.Fail("what is wrong"); });
//       scheduler.JoinAll();                        // choices happen during this call
//     });
//
// Every lock, wait and notification of base/sync.h and every SCHEDULE_POINT of the product calls the scheduler, which
// asks `choose` for the next thread. The first choice is the default: the running thread continues. If it cannot, the
// first runnable thread of a list runs. If another choice passes over a thread, that thread goes to the end of the
// list. So it stays where it is while other threads can run, and a few choices have a large effect ("delay-bounded
// scheduling").
//
// Locking uses try_lock: if it fails, the thread is blocked in the model until the mutex is unlocked. Simulated time
// stands still, except for one tick at each read of the clock. If no thread can run, time jumps to the next end of a
// sleep, timed wait or timer. If there is none, the run ends with a deadlock, and the outcome tells where each thread
// is. Background work runs on worker threads of the scheduler. A thread that was passed over for thousands of points
// runs next, so that threads that only wake each other do not stop it forever.
//
// If a run ends with a deadlock or never ends, its threads stay blocked for the rest of the process.
// THREADS: the caller of Run, and the threads of the scheduler. Tests: tests/unit/testing/scheduler_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mergedb/env.h"

namespace mergedb::testing {

class Scheduler {
 public:
  // The choice to let time jump to the next end of a sleep, timed wait or timer. Offered last, if `explores_time`.
  static constexpr int kClock = -1;

  struct Options {
    int low_priority_workers = 2;
    int urgent_workers = 2;
    uint64_t tick_nanos = 1'000;  // added at each read of the clock
    bool explores_time = false;
    uint64_t points_max = 400'000;  // a run with more points counts as endless
  };
  // A point at which two or more choices exist.
  struct Decision {
    uint64_t number;               // in this run, from 0
    std::span<const int> threads;  // the default comes first
    bool is_forced;                // the running thread cannot continue
    bool is_new_task;              // a worker begins a piece of work, so a strategy may give it a new priority
    int running;
    const char* what;  // the point of the running thread
  };
  using Choose = std::function<size_t(const Decision&)>;  // returns an index into `threads`
  struct Deviation {                                      // a choice that is not the default
    uint64_t decision;
    int thread;
    bool operator==(const Deviation&) const = default;
  };
  struct Outcome {
    std::string failure;  // empty: the run did not fail
    uint64_t decisions = 0;
    std::vector<Deviation> deviations;
    std::string story;  // one line for each deviation, if requested
  };

  // Runs `body` as the thread "main", number 0. Runs do not nest.
  static Outcome Run(const Options& options, const Choose& choose, const std::function<void(Scheduler&)>& body,
                     bool tells_story = false);

  // ---- REQUIRES: a thread of the scheduler calls
  // Numbers follow those of the workers. The thread starts in JoinAll.
  void Spawn(std::string name, std::function<void()> work);
  // Runs the spawned threads, with choices, until all of them have ended.
  void JoinAll();
  // Records the first failure. The run continues.
  void Fail(const std::string& what);
  bool has_failed() const;

  // While work is held, ordinary ("low-priority") work waits and urgent work runs.
  void HoldLowPriorityWork(bool is_held);

  Executor* executor();
  Clock* clock();

 private:
  class State;
  class Work;
  class Time;
  explicit Scheduler(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
  const std::unique_ptr<Work> work_;
  const std::unique_ptr<Time> time_;
};

}  // namespace mergedb::testing
