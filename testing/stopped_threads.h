// Stops threads at random moments, anywhere in their code, while the other threads run: a signal whose handler sleeps.
// The operating system also stops threads, but hardly ever within the few nanoseconds that matter.
//
//     StoppedThreads stopper({.seed = 7});
//     std::thread reader([&] { const StoppedThreads::Member member(stopper); ... });
//
// A member is not stopped again before its handler is at its end. So it makes progress, also as the last one that is
// left.
// A member must hold no lock that the test itself needs. With the thread sanitizer, a handler runs only at the
// member's next call of the C library, so threads stop at fewer places.
// THREADS: members join and leave on their own threads. One object at a time, because signals belong to the process.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/random.h"

namespace mergedb::testing {

class StoppedThreads {
 public:
  struct Options {
    uint64_t seed = 1;
    uint64_t between_us_max = 200;
    uint64_t stop_us_max = 3000;
  };
  explicit StoppedThreads(const Options& options) : options_(options) {
    struct sigaction action {};
    action.sa_handler = &StoppedThreads::Sleep;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, &before_);
    thread_ = std::thread([this] { Run(); });
  }
  ~StoppedThreads() {
    is_over_ = true;
    thread_.join();
    sigaction(SIGUSR2, &before_, nullptr);
  }
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  class Member {
   public:
    explicit Member(StoppedThreads& owner) : owner_(owner) {
      member_ = this;
      const std::lock_guard lock(owner_.mutex_);
      owner_.members_.push_back(this);
    }
    ~Member() {
      {
        const std::lock_guard lock(owner_.mutex_);
        std::erase(owner_.members_, this);
      }
      member_ = nullptr;
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    friend class StoppedThreads;

    StoppedThreads& owner_;
    const pthread_t thread_ = pthread_self();
    std::atomic<bool> is_stopped_{false};  // from the signal on until its handler is at its end
  };

  uint64_t stops() const { return stops_; }

 private:
  static void Pause(uint64_t us) {
    const timespec rest{.tv_sec = 0, .tv_nsec = static_cast<long>(us * 1000)};
    (void)nanosleep(&rest, nullptr);
  }
  static void Sleep(int) {
    const int saved = errno;
    Pause(stop_us_.load(std::memory_order_relaxed));
    if (member_ != nullptr) member_->is_stopped_ = false;
    errno = saved;
  }
  void Run() {
    base::Random random(options_.seed);
    while (!is_over_) {
      Pause(1 + random.Uniform(options_.between_us_max));
      const std::lock_guard lock(mutex_);
      if (members_.empty()) continue;
      Member& member = *members_[random.Uniform(members_.size())];
      if (member.is_stopped_.exchange(true)) continue;
      stop_us_ = 1 + random.Uniform(options_.stop_us_max);
      if (pthread_kill(member.thread_, SIGUSR2) == 0) {
        ++stops_;
      } else {
        member.is_stopped_ = false;
      }
    }
  }

  static inline std::atomic<uint64_t> stop_us_{0};
  static inline constinit thread_local Member* member_ = nullptr;  // of this thread

  const Options options_;
  struct sigaction before_ {};
  std::mutex mutex_;
  std::vector<Member*> members_;
  std::atomic<uint64_t> stops_{0};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace mergedb::testing
