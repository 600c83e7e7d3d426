// Goal: scheduled work runs once, at low priority, on as many threads as claimed; lines of a log stay lines.
#include "env/executor.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>

#include "env/clock.h"
#include "env/logger.h"
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
      pool.Schedule([&] {
        if (++runs % 10 == 0) pool.Schedule([&] { ++runs; });
      });
    }
    EXPECT_FALSE(pool.RunOne()) << "there are threads for that";
  }
  EXPECT_GE(runs, 110);
}

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
      changed.wait(lock, [&] { return inside == 3; });  // only if all are here at once
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

TEST(FileLogger, WritesOneLineAMessage) {
  const mergedb::testing::TempDirectory directory;
  for (const char* message : {"first", "second\nhalf"}) {
    ASSERT_OK_AND_ASSIGN(const auto logger, NewFileLogger(directory / "LOG"));
    logger->Log(message);
  }
  std::ifstream file(directory / "LOG");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(line.substr(line.size() - 6), " first");
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(line.substr(line.size() - 12), " second half");
  EXPECT_FALSE(std::getline(file, line));
}

}  // namespace
}  // namespace mergedb::env
