#include "testing/scheduler.h"

#include <semaphore.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/sync.h"
#include "testing/schedule_text.h"
#include "testing/source_of.h"

#define MERGEDB_CALL_SITE (reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1)

namespace mergedb::testing {
namespace {

constexpr uint64_t kNever = UINT64_MAX;
// A thread that could run but did not for this many points runs next: threads that only wake each other must not stop
// it forever.
constexpr uint64_t kWaitPointsMax = 5'000;
constexpr uint64_t kAdvancesMax = 20'000;  // in a row: the run has only timers

class Semaphore {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  void Post() { sem_post(&semaphore_); }
  void Wait() {
    while (sem_wait(&semaphore_) != 0) {}
  }

 private:
  sem_t semaphore_;
};

struct Thread {
  enum class Blocked : uint8_t { kNo, kOnMutex, kOnCondition, kAsleep, kIdle, kOnJoin, kDone };

  int number = 0;
  std::string name;
  std::function<void()> work;
  Blocked blocked = Blocked::kNo;
  const void* object = nullptr;  // the mutex, condition or queue that the thread waits for
  uint64_t due_nanos = kNever;   // the end of a timed wait or sleep
  bool is_late = false;          // the time of its wait has passed
  uint64_t could_run_at = 0;     // the number of points when the thread last ran or last was blocked
  uint64_t wait_number = 0;      // the order of the threads that wait on a condition
  const char* what = "begin";    // its current point
  uintptr_t site = 0;
  Semaphore go;
};

const char* NameOf(Thread::Blocked blocked) {
  switch (blocked) {
    case Thread::Blocked::kNo: return "can run";
    case Thread::Blocked::kOnMutex: return "blocked on a mutex";
    case Thread::Blocked::kOnCondition: return "waits on a condition";
    case Thread::Blocked::kAsleep: return "sleeps";
    case Thread::Blocked::kIdle: return "has no work";
    case Thread::Blocked::kOnJoin: return "waits for the others to end";
    case Thread::Blocked::kDone: return "ended";
  }
  return "?";
}

}  // namespace

// Only the running thread uses it; before the first thread runs and after the last one, the caller of Run.
class Scheduler::State final : public base::ThreadScheduler, public std::enable_shared_from_this<Scheduler::State> {
 public:
  State(const Options& given, Choose choice, bool tells)
      : options(given), choose(std::move(choice)), tells_story(tells) {}

  // ---- base::ThreadScheduler
  void Point(const char* what) override { PointAt(what, MERGEDB_CALL_SITE); }
  void LockMutex(base::Mutex& mutex) override {
    PointAt("lock", MERGEDB_CALL_SITE);
    Acquire(mutex);
  }
  void UnlockMutex(base::Mutex& mutex) override {
    mutex.native().unlock();
    for (const auto& thread : threads) {
      if (thread->blocked != Thread::Blocked::kOnMutex || thread->object != &mutex) continue;
      thread->blocked = Thread::Blocked::kNo;
    }
  }
  bool WaitOn(base::CondVar& condition, base::Mutex& mutex, uint64_t nanos) override {
    running->what = "wait";
    running->site = MERGEDB_CALL_SITE;
    running->object = &condition;
    running->wait_number = ++waits;
    running->is_late = false;
    running->blocked = Thread::Blocked::kOnCondition;
    if (nanos != kForever) running->due_nanos = now_nanos + nanos;
    UnlockMutex(mutex);
    SwitchBlocked();
    Acquire(mutex);
    return !std::exchange(running->is_late, false);
  }
  void Notify(base::CondVar& condition, bool all) override {
    for (;;) {
      Thread* first = nullptr;
      for (const auto& thread : threads) {
        if (thread->blocked != Thread::Blocked::kOnCondition || thread->object != &condition) continue;
        if (first == nullptr || thread->wait_number < first->wait_number) first = thread.get();
      }
      if (first == nullptr) return;
      Wake(*first);
      if (!all) return;
    }
  }

  // ---- threads
  Thread& Add(std::string name, std::function<void()> work) {
    auto thread = std::make_unique<Thread>();
    thread->number = static_cast<int>(threads.size());
    thread->name = std::move(name);
    thread->work = std::move(work);
    threads.push_back(std::move(thread));
    order.push_back(threads.back().get());
    std::thread([self = shared_from_this(), mine = threads.back().get()] { self->Enter(*mine); }).detach();
    return *threads.back();
  }
  void Enter(Thread& thread) {
    thread.go.Wait();
    base::thread_scheduler = this;
    thread.work();
    thread.work = nullptr;
    base::thread_scheduler = nullptr;
    thread.blocked = Thread::Blocked::kDone;
    if (thread.number == 0) return is_over.Post();
    if (--alive == 0 && threads[0]->blocked == Thread::Blocked::kOnJoin) threads[0]->blocked = Thread::Blocked::kNo;
    if (Thread* next = Next(true); next != nullptr) Resume(*next);
  }

  // ---- background work
  void Enqueue(bool is_urgent, std::function<void()> work) {
    const size_t lane = is_urgent && options.urgent_workers > 0 ? 0 : 1;
    queues[lane].push_back(std::move(work));
    if (lane == 1 && holds_patient) return;
    WakeWorker(lane);
  }
  void WakeWorker(size_t lane) {
    for (const auto& thread : threads) {
      if (thread->blocked != Thread::Blocked::kIdle || thread->object != &queues[lane]) continue;
      thread->blocked = Thread::Blocked::kNo;
      return;
    }
  }
  void Serve(size_t lane) {
    auto& queue = queues[lane];
    for (;;) {
      while (queue.empty() || (lane == 1 && holds_patient && !is_closing)) {
        if (is_closing) return;
        running->what = "idle";
        running->blocked = Thread::Blocked::kIdle;
        running->object = &queue;
        SwitchBlocked();
      }
      auto work = std::move(queue.front());
      queue.pop_front();
      is_new_task = true;
      PointAt("task", 0);
      is_new_task = false;
      work();
    }
  }
  // Finishes the queued work without choices, and drops delayed work.
  void Close() {
    is_exploring = false;
    timers.clear();
    is_closing = true;
    for (const auto& thread : threads) {
      if (thread->blocked == Thread::Blocked::kIdle) thread->blocked = Thread::Blocked::kNo;
    }
    alive = static_cast<size_t>(options.patient_workers + options.urgent_workers);
    Join();
    timers.clear();
    for (auto& queue : queues) queue.clear();
  }
  // Runs the other threads without choices until none of them can run.
  void Settle() {
    running->what = "begin";
    for (;;) {
      const auto next = std::ranges::find_if(
          order, [&](const Thread* each) { return each != running && each->blocked == Thread::Blocked::kNo; });
      if (next == order.end()) return;
      SwitchTo(**next);
    }
  }
  void Join() {
    while (alive > 0) {
      running->what = "join";
      running->blocked = Thread::Blocked::kOnJoin;
      SwitchBlocked();
    }
  }

  // ---- time
  void Sleep(uint64_t nanos) {
    running->what = "sleep";
    running->blocked = Thread::Blocked::kAsleep;
    running->due_nanos = now_nanos + nanos;
    SwitchBlocked();
  }
  uint64_t Look() {
    now_nanos += options.tick_nanos;
    return now_nanos;
  }
  uint64_t NextDue() const {
    uint64_t due = timers.empty() ? kNever : timers.begin()->first;
    for (const auto& thread : threads) {
      if (thread->blocked != Thread::Blocked::kNo) due = std::min(due, thread->due_nanos);
    }
    return due;
  }
  void WakeDue() {
    for (const auto& thread : threads) {
      if (thread->due_nanos > now_nanos) continue;
      thread->is_late = true;
      Wake(*thread);
    }
    while (!timers.empty() && timers.begin()->first <= now_nanos) {
      auto work = std::move(timers.begin()->second);
      timers.erase(timers.begin());
      Enqueue(false, std::move(work));
    }
  }
  bool AdvanceTime() {
    const uint64_t due = NextDue();
    if (due == kNever) return false;
    now_nanos = std::max(now_nanos, due);
    WakeDue();
    return true;
  }

  // ---- the choice of the next thread
  void PointAt(const char* what, uintptr_t site) {
    running->what = what;
    running->site = site;
    if (is_exploring) SwitchOrStay(false);
  }
  void SwitchBlocked() { SwitchOrStay(true); }
  void SwitchOrStay(bool is_forced) {
    Thread* const me = running;
    if (Thread* next = Next(is_forced); next != nullptr) return SwitchTo(*next);
    me->go.Wait();  // the run is given up: this thread waits forever
  }
  void SwitchTo(Thread& next) {
    Thread* const me = running;
    if (&next == me) return;
    Resume(next);
    me->go.Wait();
  }
  void Resume(Thread& next) {
    running = &next;
    next.go.Post();
  }
  static void Wake(Thread& thread) {
    thread.blocked = Thread::Blocked::kNo;
    thread.due_nanos = kNever;
  }
  void Acquire(base::Mutex& mutex) {
    while (!mutex.native().try_lock()) {
      running->blocked = Thread::Blocked::kOnMutex;
      running->object = &mutex;
      SwitchBlocked();
    }
  }

  // Returns null if the run is given up.
  Thread* Next(bool is_forced) {
    if (++points > options.points_max) return GiveUp("the run never ends");
    if (NextDue() <= now_nanos) WakeDue();
    for (uint64_t advances = 0;; ++advances) {
      std::vector<int>& enabled = enabled_scratch;
      enabled.clear();
      if (!is_forced) enabled.push_back(running->number);
      for (const Thread* thread : order) {
        if (thread->blocked != Thread::Blocked::kNo || (!is_forced && thread == running)) continue;
        enabled.push_back(thread->number);
      }
      if (Thread* const starved = Starved(); starved != nullptr) return starved;
      if (enabled.empty()) {
        if (advances > kAdvancesMax) return GiveUp("nothing but timers goes on");
        if (!AdvanceTime()) return GiveUp("deadlock");
        continue;
      }
      if (is_exploring && options.explores_time && NextDue() != kNever) enabled.push_back(kClock);
      const size_t choice = is_exploring && enabled.size() > 1 ? Decide(is_forced) : 0;
      if (enabled[choice] != kClock) return threads[static_cast<size_t>(enabled[choice])].get();
      AdvanceTime();
    }
  }

  Thread* Starved() {
    running->could_run_at = points;
    for (Thread* thread : order) {
      if (thread->blocked != Thread::Blocked::kNo) {
        thread->could_run_at = points;
      } else if (points - thread->could_run_at > kWaitPointsMax) {
        return thread;
      }
    }
    return nullptr;
  }

  size_t Decide(bool is_forced) {
    const uint64_t number = outcome.decisions++;
    const std::span<const int> enabled = enabled_scratch;
    const size_t choice = choose({.number = number,
                                  .threads = enabled,
                                  .is_forced = is_forced,
                                  .is_new_task = is_new_task && !is_forced,
                                  .running = running->number,
                                  .what = running->what});
    ASSERT(choice < enabled.size(), "a choice is one of those offered");
    if (choice == 0) return 0;
    outcome.deviations.push_back({number, enabled[choice]});
    if (tells_story) Tell(number, enabled[choice], is_forced);
    // The threads that were passed over go to the end of the list.
    for (size_t i = 0; i < choice && enabled[choice] != kClock; ++i) {
      Thread* const passed = threads[static_cast<size_t>(enabled[i])].get();
      std::erase(order, passed);
      order.push_back(passed);
    }
    return choice;
  }

  std::string Place(const Thread& thread) const {
    std::string text = thread.name + " at " + thread.what;
    if (thread.site != 0) text += " (" + SourceOf(thread.site) + ")";
    return text;
  }
  void Tell(uint64_t number, int thread, bool is_forced) {
    outcome.story += "  " + std::to_string(number) + ": " + (is_forced ? "after " : "") + Place(*running) + " -> " +
                     (thread == kClock ? "time passes" : Place(*threads[static_cast<size_t>(thread)])) + "\n";
  }
  // Ends the run; its threads stay as they are.
  Thread* GiveUp(const std::string& why) {
    std::string text = why + ":\n";
    for (const auto& thread : threads) text += "  " + Place(*thread) + ": " + NameOf(thread->blocked) + "\n";
    if (outcome.failure.empty()) outcome.failure = text;
    is_given_up = true;
    is_over.Post();
    return nullptr;
  }

  const Options options;
  const Choose choose;
  const bool tells_story;
  Outcome outcome;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Thread*> order;  // the first runnable thread of this list runs when the running thread blocks
  Thread* running = nullptr;
  size_t alive = 0;                             // the number of threads that Join waits for
  std::deque<std::function<void()>> queues[2];  // [0] urgent, [1] ordinary
  std::multimap<uint64_t, std::function<void()>> timers;
  uint64_t now_nanos = 1'000'000'000;
  uint64_t points = 0;
  uint64_t waits = 0;
  bool is_exploring = false;
  bool is_closing = false;
  bool holds_patient = false;
  bool is_new_task = false;
  bool is_given_up = false;
  std::vector<int> enabled_scratch;
  Semaphore is_over;
};

// ---- the environment of a run ------------------------------------------------------------------

class Scheduler::Work final : public Executor {
 public:
  explicit Work(State& state) : state_(state) {}
  void Schedule(std::function<void()> work) override { state_.Enqueue(false, std::move(work)); }
  void ScheduleUrgent(std::function<void()> work) override { state_.Enqueue(true, std::move(work)); }
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override {
    state_.timers.emplace(state_.now_nanos + nanos, std::move(work));
  }
  int Parallelism() const override { return state_.options.patient_workers; }
  bool RunOne() override { return false; }

 private:
  State& state_;
};

class Scheduler::Time final : public Clock {
 public:
  explicit Time(State& state) : state_(state) {}
  uint64_t NowNanos() override { return state_.Look(); }
  void SleepNanos(uint64_t nanos) override { state_.Sleep(nanos); }

 private:
  State& state_;
};

Scheduler::Scheduler(std::shared_ptr<State> state)
    : state_(std::move(state)), work_(std::make_unique<Work>(*state_)), time_(std::make_unique<Time>(*state_)) {}

Executor* Scheduler::executor() { return work_.get(); }
Clock* Scheduler::clock() { return time_.get(); }

void Scheduler::Spawn(std::string name, std::function<void()> work) {
  state_->Add(std::move(name), std::move(work)).blocked = Thread::Blocked::kOnJoin;  // until JoinAll
}

void Scheduler::JoinAll() {
  State& state = *state_;
  for (const auto& thread : state.threads) {
    // only threads that were spawned since the last JoinAll
    if (thread->blocked != Thread::Blocked::kOnJoin) continue;
    thread->blocked = Thread::Blocked::kNo;
    ++state.alive;
  }
  state.is_exploring = true;
  state.Join();
  state.is_exploring = false;
}

void Scheduler::HoldPatientWork(bool is_held) {
  state_->holds_patient = is_held;
  for (size_t i = 0; !is_held && i < state_->queues[1].size(); ++i) state_->WakeWorker(1);
}

void Scheduler::Fail(const std::string& what) {
  if (state_->outcome.failure.empty()) state_->outcome.failure = what;
}

bool Scheduler::has_failed() const { return !state_->outcome.failure.empty(); }

namespace {

// A failed assertion of the product ends the process. The handler prints the schedule first.
const std::vector<Scheduler::Deviation>* deviations_now = nullptr;

void TellSchedule(int) {
  if (deviations_now != nullptr) {
    std::fprintf(stderr, "the schedule so far: %s\n", PrintSchedule(*deviations_now).c_str());
  }
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

}  // namespace

Scheduler::Outcome Scheduler::Run(const Options& options, const Choose& choose,
                                  const std::function<void(Scheduler&)>& body, bool tells_story) {
  const auto state = std::make_shared<State>(options, choose, tells_story);
  auto* const scheduler = new Scheduler(state);  // leaks if the run is given up, because its threads still use it
  Thread& main = state->Add("main", [scheduler, &body] {
    scheduler->state_->Settle();  // runs until the workers have started
    body(*scheduler);
    scheduler->state_->Close();
  });
  for (int i = 0; i < options.urgent_workers; ++i) {
    state->Add("urgent" + std::to_string(i + 1), [state = state.get()] { state->Serve(0); });
  }
  for (int i = 0; i < options.patient_workers; ++i) {
    state->Add("patient" + std::to_string(i + 1), [state = state.get()] { state->Serve(1); });
  }
  deviations_now = &state->outcome.deviations;
  const auto before = std::signal(SIGABRT, TellSchedule);
  state->Resume(main);
  state->is_over.Wait();
  std::signal(SIGABRT, before);
  deviations_now = nullptr;
  if (!state->is_given_up) delete scheduler;
  return state->outcome;
}

}  // namespace mergedb::testing
