// Goal: each scheduled task runs once, at low priority, on the number of threads that was asked for. A log
// message is one line.
#include "env/executor.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>

#include "env/clock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::env {
namespace {

TEST(ThreadPool, RunsEverythingBeforeItDies) {
  std::atomic<int> runs = 0;
  {
    ThreadPool pool(2);
    for (int i = 0; i < 100; ++i) {
      pool.Schedule([&, i] {
        ++runs;
        if (i % 10 == 0) pool.Schedule([&] { ++runs; });
      });
    }
    EXPECT_FALSE(pool.RunOne()) << "there are threads for that";
  }
  EXPECT_EQ(runs, 110);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
size_t MappedBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Symptom: Open in a process that may start no more threads ended in std::terminate.
TEST(ThreadPool, DoesWithFewerThreadsOrSaysSo) {
  bool has_said_so = false, has_had_fewer = false;
  for (const size_t more_bytes : {size_t{1} << 20, size_t{200} << 20}) {
    const pid_t child = fork();
    if (child == 0) {
      pthread_attr_t large_stacks;  // larger than the stacks that the C library keeps for reuse
      if (pthread_attr_init(&large_stacks) != 0 || pthread_attr_setstacksize(&large_stacks, size_t{32} << 20) != 0 ||
          pthread_setattr_default_np(&large_stacks) != 0) {
        _exit(5);
      }
      const rlimit limit{.rlim_cur = MappedBytes() + more_bytes, .rlim_max = RLIM_INFINITY};
      if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
      std::atomic<int> runs = 0;
      int threads = 0;
      {
        ThreadPool pool(20, 1);
        threads = pool.Parallelism();
        for (int i = 0; i < 10; ++i) pool.Schedule([&runs] { ++runs; });
        if (threads == 0) {
          const Status refused = pool.Start();
          const bool says_so = refused.IsBusy() && refused.message().starts_with("cannot start a thread: ");
          const rlimit none{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
          if (!says_so || setrlimit(RLIMIT_AS, &none) != 0) _exit(6);
          if (!pool.Start().ok() || pool.Parallelism() != 20) _exit(7);
        }
      }
      _exit(runs != 10 || threads >= 20 ? 4 : threads > 0 ? 1 : 2);
    }
    int outcome = -1;
    waitpid(child, &outcome, 0);
    ASSERT_TRUE(WIFEXITED(outcome)) << "signal " << WTERMSIG(outcome);
    EXPECT_TRUE(WEXITSTATUS(outcome) == 1 || WEXITSTATUS(outcome) == 2) << WEXITSTATUS(outcome);
    has_had_fewer |= WEXITSTATUS(outcome) == 1;
    has_said_so |= WEXITSTATUS(outcome) == 2;
  }
  EXPECT_TRUE(has_said_so && has_had_fewer);
}
#endif

TEST(ThreadPool, RunsAsManyAtOnceAsItClaims) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  for (int i = 0; i < pool.Parallelism(); ++i) {
    pool.Schedule([&] {
      std::unique_lock lock(mutex);
      ++inside;
      changed.notify_all();
      changed.wait(lock, [&] { return inside == 3; });  // true only if all three run at once
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return inside == 3; });
}

TEST(ThreadPool, GivesWayToTheProgram) {
  std::atomic<int> nice = -100;
  {
    ThreadPool pool(1);
    pool.Schedule([&] { nice = getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); });
  }
  EXPECT_GE(nice, 10);
}

TEST(SteadyClock, MovesForwardBySleeping) {
  Clock& clock = *SteadyClock();
  const uint64_t before = clock.NowNanos();
  clock.SleepNanos(10'000);
  EXPECT_GE(clock.NowNanos(), before + 10'000);
}

}  // namespace
}  // namespace mergedb::env
