// A thread that waits: the constructor returns when `act` waits on a condition variable of base/sync.h for the first
// time, or has ended. So a test knows that the thread is in a queue, without a sleep.
//
//     WaitingThread writer([&] { EXPECT_OK(db->Put({}, "key", "value")); });   // a single writer keeps it waiting
//     ASSERT_OK(transaction->Commit());
//     writer.join();
//
// The first wait returns at once, as a condition variable may.
#pragma once

#include <functional>
#include <latch>
#include <thread>
#include <utility>

#include "base/schedule_point.h"
#include "base/sync.h"

namespace mergedb::testing {

class WaitingThread {
 public:
  explicit WaitingThread(std::function<void()> act) {
    thread_ = std::thread([this, act = std::move(act)] {
      FirstWait first_wait(waits_);
      act();
    });
    waits_.wait();
  }
  ~WaitingThread() { join(); }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;

  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  class FirstWait final : public base::ThreadScheduler {
   public:
    explicit FirstWait(std::latch& waits) : waits_(&waits) { base::thread_scheduler = this; }
    ~FirstWait() override { Tell(); }

    void Point(const char*) override {}
    void LockMutex(base::Mutex& mutex) override { mutex.native().lock(); }
    void UnlockMutex(base::Mutex& mutex) override { mutex.native().unlock(); }
    // The mutex stays locked until the thread waits again, now without this object: nobody can wake it too early.
    bool WaitOn(base::CondVar&, base::Mutex&, uint64_t) override {
      Tell();
      return true;
    }
    void Notify(base::CondVar& condition, bool all) override {
      base::thread_scheduler = nullptr;
      all ? condition.NotifyAll() : condition.NotifyOne();
      base::thread_scheduler = this;
    }

   private:
    void Tell() {
      base::thread_scheduler = nullptr;
      if (std::latch* const waits = std::exchange(waits_, nullptr)) waits->count_down();
    }

    std::latch* waits_;  // null: it is told
  };

  std::latch waits_{1};
  std::thread thread_;
};

}  // namespace mergedb::testing
