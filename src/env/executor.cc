#include "env/executor.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <system_error>
#include <utility>

namespace mergedb::env {
namespace {

constexpr int kNice = 10;

void TakeNoSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own_fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF}) {
    sigdelset(&signals, own_fault);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// On Linux each thread has its own priority. With SCHED_BATCH a waking thread does not preempt another one. A
// refusal is harmless: the threads then compete with the program. WHY not for urgent threads: a WAL writer
// that waits until a writer's time slice ends makes the writer wait.
void LowerPriority() {
#ifdef SCHED_BATCH
  const sched_param none{};
  (void)sched_setscheduler(0, SCHED_BATCH, &none);
#endif
#ifdef SYS_gettid
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
#endif
}

}  // namespace

Status CannotStartThread(int error) {
  return Status::Busy(
      "cannot start a thread: " + std::generic_category().message(error) +
      "; the process or its user has too many threads (RLIMIT_NPROC, pids.max) or too little memory for "
      "a stack (RLIMIT_AS)");
}

Status CheckThreads(Executor* executor) {
  auto* const pool = dynamic_cast<ThreadPool*>(executor);
  return pool == nullptr ? Status() : pool->Start();
}

ThreadPool::ThreadPool(int low_priority_threads, int urgent_threads)
    : low_priority_threads_wanted_(low_priority_threads), urgent_threads_wanted_(urgent_threads) {
  (void)Start();  // a later call tells
}

// WHY one low-priority thread first: it alone can do all work. Then urgent threads, since writers wait for them.
Status ThreadPool::Start() {
  base::Lock lock(start_mutex_);
  threads_.reserve(static_cast<size_t>(low_priority_threads_wanted_ + urgent_threads_wanted_));
  int error = 0;
  try {
    if (low_priority_threads_wanted_ > 0 && low_priority_threads_ == 0) StartOneOf(low_priority_threads_, kLow);
    while (urgent_threads_ < urgent_threads_wanted_) StartOneOf(urgent_threads_, kUrgent);
    while (low_priority_threads_ < low_priority_threads_wanted_) StartOneOf(low_priority_threads_, kLow);
  } catch (const std::system_error& failure) { error = failure.code().value(); }
  const bool has_thread = low_priority_threads_wanted_ > 0 ? low_priority_threads_ > 0 : urgent_threads_ > 0;
  return has_thread ? Status() : CannotStartThread(error);
}

void ThreadPool::StartOneOf(std::atomic<int>& count, Priority priority) {
  threads_.emplace_back([this, priority] {
    if (priority == kLow) LowerPriority();
    Serve(priority);
  });
  ++count;
}

ThreadPool::~ThreadPool() {
  {
    base::Lock lock(mutex_);
    is_closing_ = true;
  }
  for (base::CondVar& work_waits : work_waits_) work_waits.NotifyAll();
  base::Lock lock(start_mutex_);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Add(Priority priority, std::function<void()> work) {
  {
    base::Lock lock(mutex_);
    work_[priority].push_back(std::move(work));
  }
  work_waits_[priority].NotifyOne();
}

void ThreadPool::Schedule(std::function<void()> work) { Add(kLow, std::move(work)); }

void ThreadPool::ScheduleUrgent(std::function<void()> work) {
  const bool has_urgent_threads = urgent_threads_ > 0 || low_priority_threads_wanted_ == 0;
  Add(has_urgent_threads ? kUrgent : kLow, std::move(work));
}

void ThreadPool::ScheduleAfter(uint64_t nanos, std::function<void()> work) {
  {
    base::Lock lock(mutex_);
    delayed_.emplace(std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanos), std::move(work));
  }
  work_waits_[kLow].NotifyOne();  // a thread must learn how long it may sleep
}

// Waits until there is work of this priority, or the pool closes. Delayed work that is due becomes work of low
// priority.
void ThreadPool::WaitForWork(Priority priority, base::Lock& lock) {
  auto& queue = work_[priority];
  for (;;) {
    const Time now = std::chrono::steady_clock::now();
    while (priority == kLow && !delayed_.empty() && delayed_.begin()->first <= now) {
      queue.push_back(std::move(delayed_.begin()->second));
      delayed_.erase(delayed_.begin());
    }
    if (!queue.empty() || is_closing_) return;
    if (priority == kUrgent || delayed_.empty()) {
      work_waits_[priority].Wait(lock);
    } else {
      const auto wait = std::chrono::nanoseconds(delayed_.begin()->first - now);
      (void)work_waits_[priority].WaitFor(lock, static_cast<uint64_t>(wait.count()));
    }
  }
}

void ThreadPool::Serve(Priority priority) {
  TakeNoSignals();
  base::Lock lock(mutex_);
  auto& queue = work_[priority];
  for (;;) {
    WaitForWork(priority, lock);
    if (queue.empty()) return;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    lock.Unlock();
    work();
    work = nullptr;  // destroys what it captured without the lock
    lock.Relock();
  }
}

}  // namespace mergedb::env
