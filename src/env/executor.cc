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
    if (low_priority_threads_wanted_ > 0 && low_priority_threads_ == 0)
      StartOneOf(low_priority_threads_, &low_priority_);
    while (urgent_threads_ < urgent_threads_wanted_) StartOneOf(urgent_threads_, &high_priority_);
    while (low_priority_threads_ < low_priority_threads_wanted_) StartOneOf(low_priority_threads_, &low_priority_);
  } catch (const std::system_error& failure) { error = failure.code().value(); }
  const bool has_thread = low_priority_threads_wanted_ > 0 ? low_priority_threads_ > 0 : urgent_threads_ > 0;
  return has_thread ? Status() : CannotStartThread(error);
}

void ThreadPool::StartOneOf(std::atomic<int>& count, WorkQueue* queue) {
  threads_.emplace_back([this, queue] {
    if (queue == &low_priority_) LowerPriority();
    Serve(queue);
  });
  ++count;
}

ThreadPool::~ThreadPool() {
  {
    base::Lock lock(mutex_);
    is_closing_ = true;
  }
  low_priority_.work_waits.NotifyAll();
  high_priority_.work_waits.NotifyAll();
  base::Lock lock(start_mutex_);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Schedule(std::function<void()> work) {
  {
    base::Lock lock(mutex_);
    low_priority_.queue.push_back(std::move(work));
  }
  low_priority_.work_waits.NotifyOne();
}

void ThreadPool::ScheduleUrgent(std::function<void()> work) {
  if (urgent_threads_ == 0 && low_priority_threads_wanted_ > 0) return Schedule(std::move(work));
  {
    base::Lock lock(mutex_);
    high_priority_.queue.push_back(std::move(work));
  }
  high_priority_.work_waits.NotifyOne();
}

void ThreadPool::ScheduleAfter(uint64_t nanos, std::function<void()> work) {
  {
    base::Lock lock(mutex_);
    delayed_.emplace(std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanos), std::move(work));
  }
  low_priority_.work_waits.NotifyOne();  // a thread must learn how long it may sleep
}

// Waits until `queue` has work or the pool closes. Delayed work that is due moves to low_priority_.
void ThreadPool::WaitForWork(WorkQueue* queue, base::Lock& lock) {
  for (;;) {
    const Time now = std::chrono::steady_clock::now();
    while (queue == &low_priority_ && !delayed_.empty() && delayed_.begin()->first <= now) {
      queue->queue.push_back(std::move(delayed_.begin()->second));
      delayed_.erase(delayed_.begin());
    }
    if (!queue->queue.empty() || is_closing_) return;
    if (queue == &high_priority_ || delayed_.empty()) {
      queue->work_waits.Wait(lock);
    } else {
      const auto wait = std::chrono::nanoseconds(delayed_.begin()->first - now);
      (void)queue->work_waits.WaitFor(lock, static_cast<uint64_t>(wait.count()));
    }
  }
}

void ThreadPool::Serve(WorkQueue* queue) {
  TakeNoSignals();
  base::Lock lock(mutex_);
  for (;;) {
    WaitForWork(queue, lock);
    if (queue->queue.empty()) return;
    std::function<void()> work = std::move(queue->queue.front());
    queue->queue.pop_front();
    lock.Unlock();
    work();
    work = nullptr;  // destroys what it captured without the lock
    lock.Relock();
  }
}

}  // namespace mergedb::env
