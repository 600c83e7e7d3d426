#include "env/executor.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
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

// On Linux a priority belongs to a thread. Refused is no harm: the work is only less polite.
void LowerPriority() {
#ifdef SYS_gettid
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
#endif
}

}  // namespace

ThreadPool::ThreadPool(int thread_count) {
  threads_.reserve(static_cast<size_t>(thread_count));
  for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { Serve(); });
}

ThreadPool::~ThreadPool() {
  {
    base::Lock lock(mutex_);
    is_closing_ = true;
  }
  work_waits_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Schedule(std::function<void()> work) {
  {
    base::Lock lock(mutex_);
    queue_.push_back(std::move(work));
  }
  work_waits_.NotifyOne();
}

void ThreadPool::ScheduleAfter(uint64_t nanos, std::function<void()> work) {
  {
    base::Lock lock(mutex_);
    delayed_.emplace(std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanos), std::move(work));
  }
  work_waits_.NotifyOne();  // a thread must learn how long it may sleep
}

// Until the queue has work, or the pool closes. What has become due joins the queue.
void ThreadPool::WaitForWork(base::Lock& lock) {
  for (;;) {
    const Time now = std::chrono::steady_clock::now();
    while (!delayed_.empty() && delayed_.begin()->first <= now) {
      queue_.push_back(std::move(delayed_.begin()->second));
      delayed_.erase(delayed_.begin());
    }
    if (!queue_.empty() || is_closing_) return;
    if (delayed_.empty()) {
      work_waits_.Wait(lock);
    } else {
      const auto wait = std::chrono::nanoseconds(delayed_.begin()->first - now);
      (void)work_waits_.WaitFor(lock, static_cast<uint64_t>(wait.count()));
    }
  }
}

void ThreadPool::Serve() {
  TakeNoSignals();
  LowerPriority();
  base::Lock lock(mutex_);
  for (;;) {
    WaitForWork(lock);
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.Unlock();
    work();
    work = nullptr;  // what it captured dies here, not under the lock
    lock.Relock();
  }
}

}  // namespace mergedb::env
