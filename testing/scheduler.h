// Real threads, one of which runs at a time: a test chooses which. The same choices give the same run.
//
//     Scheduler::Outcome outcome = Scheduler::Run({}, choose, [&](Scheduler& scheduler) {
//       auto db = DB::Open(...env of scheduler.executor() and scheduler.clock()...);   // nothing is chosen yet
//       scheduler.Spawn("writer", [&] { ... });
//       scheduler.Spawn("reader", [&] { ... if (is_wrong) scheduler.Fail("what is wrong"); });
//       scheduler.JoinAll();                        // from here to its return: choices
//     });
//
// Every lock, wait and notification of base/sync.h and every SCHEDULE_POINT of the product calls the scheduler. There
// it asks `choose` which thread goes on. The first choice is always the default: the running thread goes on; where it
// cannot, the first runnable thread of a list does. A thread that another choice passes over goes to the end of the
// list, so it stays where it is for as long as others can run. Few other choices therefore reach far ("delay-bounded
// scheduling").
//
// A mutex is tried; a thread that fails blocks in the model until the mutex is unlocked. The model's time stands still
// but for a tick at each look at the clock. When no thread can run, time leaps to the next sleep, timed wait or timer.
// Without any of them the threads block each other for ever: the outcome says where each one is. Background work runs
// on workers of the scheduler: threads like all others. A thread that was passed over for thousands of points goes on,
// so that threads that only wake each other do not keep it waiting for ever.
//
// A run that fails by a deadlock, or that never ends, leaves its threads behind, blocked for the rest of the process.
// THREADS: the scheduler's own. Tested by tests/unit/testing/scheduler_test.cc.
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
  // Chosen in place of a thread: time leaps to the next sleep, timed wait or timer. Offered last, if `explores_time`.
  static constexpr int kClock = -1;

  struct Options {
    int patient_workers = 2;
    int urgent_workers = 2;
    uint64_t tick_nanos = 1'000;  // time that passes with each look at the clock
    bool explores_time = false;
    uint64_t points_max = 400'000;  // a run with more never ends
  };
  // Two or more threads could go on.
  struct Decision {
    uint64_t number;               // of this run, from 0
    std::span<const int> threads;  // the default first
    bool is_forced;                // the thread that ran cannot go on
    bool is_new_task;              // a worker begins a piece of work: it may be given another priority
    int running;
    const char* what;  // the point that the running thread is at
  };
  using Choose = std::function<size_t(const Decision&)>;  // an index into `threads`
  struct Deviation {                                      // a choice that is not the default
    uint64_t decision;
    int thread;
    bool operator==(const Deviation&) const = default;
  };
  struct Outcome {
    std::string failure;  // empty: none
    uint64_t decisions = 0;
    std::vector<Deviation> deviations;
    std::string story;  // a line for each deviation, if it was asked for
  };

  // Runs `body` as the thread "main", number 0. Not nested.
  static Outcome Run(const Options& options, const Choose& choose, const std::function<void(Scheduler&)>& body,
                     bool tells_story = false);

  // ---- of the scheduler's threads
  // Numbers follow those of the workers. The thread begins in JoinAll.
  void Spawn(std::string name, std::function<void()> work);
  // The spawned threads run, and choices are made, until all of them have ended.
  void JoinAll();
  // The first failure counts. The run goes on.
  void Fail(const std::string& what);
  bool has_failed() const;

  // While it is held, patient work waits and urgent work goes on.
  void HoldPatientWork(bool is_held);

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
