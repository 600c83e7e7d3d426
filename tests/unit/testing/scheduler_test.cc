// Goal: the scheduler finds the errors of small programs, reports no error in correct ones, and replays the
// errors that it finds.
#include "testing/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/sync.h"
#include "testing/explore.h"
#include "testing/schedule_text.h"

namespace mergedb::testing {
namespace {

#ifdef MERGEDB_DCHECK

using base::CondVar;
using base::Lock;
using base::Mutex;

std::string ScheduleIn(const std::string& finding) {
  const std::string begin = "MERGEDB_SCHEDULE='";
  const size_t at = finding.find(begin);
  if (at == std::string::npos) return "";
  const size_t name_end = finding.find(' ', at), end = finding.find('\'', at + begin.size());
  return name_end < end ? finding.substr(name_end + 1, end - name_end - 1) : "";
}

// Two threads read, then write. Each releases the lock between the read and the write.
void LoseUpdate(Scheduler& scheduler) {
  Mutex mutex;
  int count = 0;
  for (const char* name : {"one", "two"}) {
    scheduler.Spawn(name, [&] {
      int seen;
      {
        Lock lock(mutex);
        seen = count;
      }
      Lock lock(mutex);
      count = seen + 1;
    });
  }
  scheduler.JoinAll();
  if (count != 2) scheduler.Fail("an update was lost");
}

TEST(Scheduler, FindsALostUpdateWithOneDeviation) {
  const Explored explored = Explore({.name = "LostUpdate", .deviations_max = 1}, LoseUpdate);
  EXPECT_NE(explored.finding.find("an update was lost"), std::string::npos) << explored.finding;
  EXPECT_LE(explored.runs, 10u);
}

TEST(Scheduler, RunsAPrintedScheduleAgain) {
  const Explored explored = Explore({.name = "LostUpdate", .deviations_max = 1}, LoseUpdate);
  const auto deviations = ParseSchedule(ScheduleIn(explored.finding));
  ASSERT_EQ(deviations.size(), 1u) << explored.finding;
  EXPECT_EQ(ParseSchedule(PrintSchedule(deviations)), deviations);
  for (int i = 0; i < 3; ++i) {
    const auto outcome = Scheduler::Run(
        {},
        [&](const Scheduler::Decision& decision) -> size_t {
          if (decision.number != deviations[0].decision) return 0;
          const auto place = std::find(decision.threads.begin(), decision.threads.end(), deviations[0].thread);
          return static_cast<size_t>(place - decision.threads.begin());
        },
        LoseUpdate);
    EXPECT_EQ(outcome.failure, "an update was lost");
    EXPECT_EQ(outcome.deviations, deviations);
  }
}

TEST(Scheduler, FindsNothingWhereNothingIsWrong) {
  const Exploration all{.name = "Correct", .deviations_max = 3, .random_runs = 100};
  const Explored explored = Explore(all, [](Scheduler& scheduler) {
    Mutex mutex;
    CondVar changed;
    int count = 0;
    for (const char* name : {"one", "two", "three"}) {
      scheduler.Spawn(name, [&] {
        Lock lock(mutex);
        ++count;
        changed.NotifyAll();
        while (count < 3) changed.Wait(lock);
      });
    }
    scheduler.JoinAll();
    if (count != 3) scheduler.Fail("not all came");
  });
  EXPECT_EQ(explored.finding, "");
  EXPECT_TRUE(explored.is_complete);
  EXPECT_GT(explored.runs, 100u);
}

TEST(Scheduler, FindsADeadlockAndSaysWhereEachThreadIs) {
  const Explored explored = Explore({.name = "Deadlock"}, [](Scheduler& scheduler) {
    // Not on the stack: the threads stay blocked on them.
    struct Mutexes {
      Mutex left, right;
    };
    auto* const both = new Mutexes;
    static auto& kept = *new std::vector<Mutexes*>;  // reachable for the leak checker
    kept.push_back(both);
    scheduler.Spawn("one", [both] {
      Lock first(both->left);
      Lock second(both->right);
    });
    scheduler.Spawn("two", [both] {
      Lock first(both->right);
      Lock second(both->left);
    });
    scheduler.JoinAll();
  });
  EXPECT_NE(explored.finding.find("deadlock"), std::string::npos) << explored.finding;
  EXPECT_NE(explored.finding.find("one at lock (tests/unit/testing/scheduler_test.cc:"), std::string::npos)
      << explored.finding;
  EXPECT_NE(explored.finding.find("two at lock"), std::string::npos) << explored.finding;
}

// A thread that checks the condition without the lock, and then waits, may miss the only notification.
TEST(Scheduler, FindsALostNotification) {
  const Explored explored = Explore({.name = "LostNotification"}, [](Scheduler& scheduler) {
    struct Shared {
      Mutex mutex;
      CondVar changed;
      std::atomic<bool> is_done{false};
    };
    auto* const shared = new Shared;
    static auto& kept = *new std::vector<Shared*>;
    kept.push_back(shared);
    scheduler.Spawn("waiter", [shared] {
      if (shared->is_done) return;
      Lock lock(shared->mutex);
      shared->changed.Wait(lock);
    });
    scheduler.Spawn("notifier", [shared] {
      shared->is_done = true;
      Lock lock(shared->mutex);
      shared->changed.NotifyOne();
    });
    scheduler.JoinAll();
  });
  EXPECT_NE(explored.finding.find("waits on a condition"), std::string::npos) << explored.finding;
}

TEST(Scheduler, TimeLeapsWhenNobodyCanRun) {
  const Exploration all{.name = "Time", .scheduler = {.explores_time = true}, .deviations_max = 1};
  const Explored explored = Explore(all, [](Scheduler& scheduler) {
    Mutex mutex;
    CondVar changed;
    bool is_notified = false;
    int timers = 0;
    const uint64_t begin = scheduler.clock()->NowNanos();
    scheduler.executor()->ScheduleAfter(3'000'000, [&] { ++timers; });
    scheduler.Spawn("waiter", [&] {
      Lock lock(mutex);
      while (!is_notified) (void)changed.WaitFor(lock, 1'000'000);
    });
    scheduler.Spawn("sleeper", [&] {
      scheduler.clock()->SleepNanos(5'000'000);
      Lock lock(mutex);
      is_notified = true;
      changed.NotifyAll();
    });
    scheduler.JoinAll();
    if (timers != 1) scheduler.Fail("the timer did not run");
    if (scheduler.clock()->NowNanos() - begin < 5'000'000) scheduler.Fail("the sleep was short");
  });
  EXPECT_EQ(explored.finding, "");
}

TEST(Scheduler, WorkersRunBackgroundWorkInAnyOrder) {
  std::atomic<int> reversed{0};
  const Explored explored = Explore({.name = "Work", .deviations_max = 2}, [&](Scheduler& scheduler) {
    Mutex mutex;
    std::string order;
    scheduler.Spawn("client", [&] {
      for (const char name : {'a', 'b'}) {
        scheduler.executor()->Schedule([&, name] {
          Lock lock(mutex);
          order += name;
        });
      }
      for (;;) {
        {
          Lock lock(mutex);
          if (order.size() == 2) return;
        }
        scheduler.clock()->SleepNanos(1000);
      }
    });
    scheduler.JoinAll();
    reversed += order == "ba";
  });
  EXPECT_EQ(explored.finding, "");
  EXPECT_GT(reversed, 0);
}

// The write must come between two reads. The named point makes this schedule possible.
TEST(Scheduler, StopsAThreadAtANamedPoint) {
  const Explored explored = Explore({.name = "Point", .deviations_max = 2}, [](Scheduler& scheduler) {
    std::atomic<int> value{0};
    scheduler.Spawn("writer", [&] { value = 1; });
    scheduler.Spawn("reader", [&] {
      const int before = value;
      SCHEDULE_POINT("between two looks");
      if (value != before) scheduler.Fail("the value changed");
    });
    scheduler.JoinAll();
  });
  EXPECT_NE(explored.finding.find("reader at between two looks"), std::string::npos) << explored.finding;
}

#endif

}  // namespace
}  // namespace mergedb::testing
