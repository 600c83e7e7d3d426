// Goal: tasks run in the host's order; failed work is retried after a pause that grows, or at once for a caller; a lack
// of descriptors during a compaction job is no failure; Stop waits for all work and ends it.
// Method: a host whose tasks the test supplies, an executor and a clock that the test runs.
#include "db/background/background_scheduler.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

#include "testing/failing_allocation.h"
#include "testing/manual_clock.h"
#include "testing/manual_executor.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using Work = BackgroundScheduler::Work;
using testing::StatusIs;

constexpr uint64_t kSecond = 1'000'000'000;

// A manual executor that notes the delays that it is asked for.
class NotingExecutor final : public Executor {
 public:
  void Schedule(std::function<void()> work) override { executor_.Schedule(std::move(work)); }
  void ScheduleAfter(uint64_t nanos, std::function<void()> work) override {
    delays.push_back(nanos);
    executor_.ScheduleAfter(nanos, std::move(work));
  }
  int Parallelism() const override { return executor_.Parallelism(); }
  bool RunOne() override { return executor_.RunOne(); }
  void RunTimers() { executor_.RunTimers(); }
  void RunAll() { executor_.RunAll(); }
  size_t waiting() const { return executor_.waiting(); }

  std::vector<uint64_t> delays;

 private:
  testing::ManualExecutor executor_;
};

class BackgroundSchedulerTest : public ::testing::Test, protected BackgroundScheduler::Tasks {
 protected:
  BackgroundScheduler::Task ChooseLocked() override {
    if (tasks_.empty()) return nullptr;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }
  bool WantsFlushLocked() const override { return flushes_wanted_ > 0; }
  void RunFlush() override {
    --flushes_wanted_;
    ran_ += "F";
  }
  bool HasJobsLocked() const override { return has_jobs_; }
  bool TickLocked() override {
    ++ticks_;
    return ticks_wanted_ > ticks_;
  }

  void AddTask(const std::string& name) {
    tasks_.push_back([this, name] { ran_ += name; });
  }
  void NoteOutcome(Work work, const Status& status) {
    base::Lock lock(scheduler_->mutex());
    scheduler_->NoteOutcomeLocked(work, clock_.NowNanos(), status);
  }
  bool MayTry(Work work) {
    base::Lock lock(scheduler_->mutex());
    return scheduler_->MayTryLocked(work);
  }
  void EndJob(const Status& status = {}) {
    base::Lock lock(scheduler_->mutex());
    has_jobs_ = false;
    scheduler_->NoteJobEndLocked(clock_.NowNanos(), status);
  }

  testing::ManualClock clock_;
  NotingExecutor executor_;
  std::deque<BackgroundScheduler::Task> tasks_;
  std::string ran_;
  int flushes_wanted_ = 0;
  int ticks_ = 0;
  int ticks_wanted_ = 0;
  bool has_jobs_ = false;
  std::shared_ptr<BackgroundScheduler> scheduler_ =
      std::make_shared<BackgroundScheduler>(Env{.clock = &clock_, .executor = &executor_}, static_cast<Tasks&>(*this));
};

TEST_F(BackgroundSchedulerTest, RunsTasksInTheHostsOrderUntilThereIsNone) {
  for (const char* name : {"a", "b", "c"}) AddTask(name);
  scheduler_->Nudge();
  EXPECT_EQ(ran_, "") << "a task runs on the executor";
  executor_.RunAll();
  EXPECT_EQ(ran_, "abc");
  EXPECT_EQ(executor_.waiting(), 0u);
}

TEST_F(BackgroundSchedulerTest, OneFlushIsScheduledAtATime) {
  flushes_wanted_ = 3;
  scheduler_->Nudge();
  scheduler_->Nudge();
  EXPECT_EQ(executor_.waiting(), 2u) << "a flush and a worker";
  executor_.RunAll();
  EXPECT_EQ(ran_, "FFF");
}

TEST_F(BackgroundSchedulerTest, TicksOnceASecondAsLongAsTheHostWants) {
  ticks_wanted_ = 3;
  {
    base::Lock lock(scheduler_->mutex());
    scheduler_->ArmTimerLocked();
    scheduler_->ArmTimerLocked();
  }
  for (int i = 0; i < 10; ++i) {
    executor_.RunTimers();
    executor_.RunAll();
  }
  EXPECT_EQ(ticks_, 3);
}

TEST_F(BackgroundSchedulerTest, ThePauseAfterAFailureDoublesUpTo5Seconds) {
  for (const uint64_t pause : {kSecond / 10, kSecond / 5, 2 * kSecond / 5, 4 * kSecond / 5, 8 * kSecond / 5,
                               16 * kSecond / 5, 5 * kSecond, 5 * kSecond}) {
    NoteOutcome(Work::kCommits, Status::IOError("disk"));
    clock_.Advance(pause - 1);
    EXPECT_FALSE(MayTry(Work::kCommits)) << pause;
    clock_.Advance(1);
    EXPECT_TRUE(MayTry(Work::kCommits)) << pause;
  }
  NoteOutcome(Work::kCommits, {});
  NoteOutcome(Work::kCommits, Status::IOError("disk"));
  clock_.Advance(kSecond / 10);
  EXPECT_TRUE(MayTry(Work::kCommits)) << "a success begins anew";
}

// The tick of a second that is on its way does not stand for the end of the pause.
TEST_F(BackgroundSchedulerTest, WorkIsScheduledAtTheEndOfThePause) {
  {
    base::Lock lock(scheduler_->mutex());
    scheduler_->ArmTimerLocked();
  }
  NoteOutcome(Work::kFlushes, Status::IOError("disk"));
  NoteOutcome(Work::kFlushes, Status::IOError("disk"));
  EXPECT_EQ(executor_.delays, (std::vector<uint64_t>{kSecond, kSecond / 10, kSecond / 5}));
  AddTask("a");
  executor_.RunTimers();
  executor_.RunAll();
  EXPECT_EQ(ran_, "a");
}

TEST_F(BackgroundSchedulerTest, EachKindOfWorkHasItsOwnPauseAndTheFirstErrorIsReported) {
  EXPECT_OK(scheduler_->error());
  NoteOutcome(Work::kRemovals, Status::NoSpace("full"));
  EXPECT_TRUE(MayTry(Work::kCompactions));
  EXPECT_THAT(scheduler_->error(), StatusIs(Code::kNoSpace));
  NoteOutcome(Work::kFlushes, Status::IOError("disk"));
  EXPECT_THAT(scheduler_->error(), StatusIs(Code::kIOError));
  base::Lock lock(scheduler_->mutex());
  EXPECT_TRUE(scheduler_->DiskIsFullLocked());
}

// The caller's wait retries what failed before it, and returns only a failure of work that it needs.
TEST_F(BackgroundSchedulerTest, AWaitRetriesAtOnceAndReturnsTheNextFailureOfWhatItNeeds) {
  NoteOutcome(Work::kFlushes, Status::IOError("before the wait"));
  clock_.Advance(1);
  bool is_done = false;
  tasks_.push_back([&] {
    EXPECT_TRUE(MayTry(Work::kFlushes));
    NoteOutcome(Work::kCompactions, Status::IOError("not needed"));
  });
  tasks_.push_back([&] { is_done = true; });
  EXPECT_OK(scheduler_->WaitUntil(Work::kCommits, [&] { return is_done; }));

  tasks_.push_back([&] { NoteOutcome(Work::kCommits, Status::IOError("needed")); });
  EXPECT_THAT(scheduler_->WaitUntil(Work::kCommits, [] { return false; }), StatusIs(Code::kIOError));
}

TEST_F(BackgroundSchedulerTest, ALackOfDescriptorsDuringAJobIsNoFailureUntilTheJobEnds) {
  has_jobs_ = true;
  bool is_done = false;
  tasks_.push_back([&] { NoteOutcome(Work::kFlushes, Status::Busy("descriptors")); });
  tasks_.push_back([&] {
    clock_.Advance(1);
    EXPECT_FALSE(MayTry(Work::kFlushes));
    EndJob();
    EXPECT_TRUE(MayTry(Work::kFlushes)) << "at once: the job's descriptors are free";
    is_done = true;
  });
  EXPECT_OK(scheduler_->WaitUntil(Work::kFlushes, [&] { return is_done; }));

  // Without a job it is a failure.
  tasks_.push_back([&] { NoteOutcome(Work::kFlushes, Status::Busy("descriptors")); });
  EXPECT_THAT(scheduler_->WaitUntil(Work::kFlushes, [] { return false; }), StatusIs(Code::kBusy));
}

TEST_F(BackgroundSchedulerTest, WorkThatBeganBeforeAJobEndedMayTryAgainAtOnce) {
  const uint64_t began = clock_.NowNanos();
  clock_.Advance(1);
  EndJob();
  base::Lock lock(scheduler_->mutex());
  scheduler_->NoteOutcomeLocked(Work::kCommits, began, Status::Busy("descriptors"));
  EXPECT_TRUE(scheduler_->MayTryLocked(Work::kCommits));
  scheduler_->NoteOutcomeLocked(Work::kCompactions, began, Status::Busy("descriptors"));
  EXPECT_FALSE(scheduler_->MayTryLocked(Work::kCompactions)) << "the next job needs as many descriptors";
}

TEST_F(BackgroundSchedulerTest, WaitForJobEndWaitsForOneJob) {
  EXPECT_FALSE(scheduler_->WaitForJobEnd()) << "no job runs";
  has_jobs_ = true;
  clock_.Advance(1);
  AddTask("a");
  tasks_.push_back([&] { EndJob(Status::IOError("disk")); });
  AddTask("b");
  EXPECT_TRUE(scheduler_->WaitForJobEnd());
  EXPECT_EQ(ran_, "a");
}

TEST_F(BackgroundSchedulerTest, WaitForJobEndTellsTwoJobsThatEndAtTheSameTimeApart) {
  EndJob();
  has_jobs_ = true;
  tasks_.push_back([&] { EndJob(); });
  EXPECT_TRUE(scheduler_->WaitForJobEnd());
}

TEST_F(BackgroundSchedulerTest, StopFinishesJobsIfAskedAndThenDropsAllWork) {
  has_jobs_ = true;
  AddTask("a");
  tasks_.push_back([&] { EndJob(); });
  for (int i = 0; i < 10; ++i) AddTask("b");
  scheduler_->Stop(true);
  EXPECT_EQ(ran_, "a");
  flushes_wanted_ = 1;
  scheduler_->Nudge();
  scheduler_->NudgeUrgently();
  executor_.RunTimers();
  executor_.RunAll();
  EXPECT_EQ(ran_, "a");
  EXPECT_EQ(ticks_, 0);
  EXPECT_THAT(scheduler_->WaitUntil(Work::kFlushes, [] { return false; }), StatusIs(Code::kShuttingDown));
}

// An iterator that asks for a compaction goes on after std::bad_alloc.
TEST_F(BackgroundSchedulerTest, AfterALackOfMemoryWorkCanBeScheduledAgain) {
  for (int64_t n = 1;; ++n) {
    flushes_wanted_ = 1;
    ran_.clear();
    AddTask("a");
    try {
      testing::FailAllocation(n);
      scheduler_->Nudge();
    } catch (const std::bad_alloc&) {}
    const bool has_failed = testing::StopFailing();
    scheduler_->Nudge();
    executor_.RunAll();
    ASSERT_EQ(ran_.size(), 2u) << "a flush and a task, not only " << ran_ << ", after failed allocation " << n;
    ticks_ = 0;
    ticks_wanted_ = 1;
    try {
      base::Lock lock(scheduler_->mutex());
      testing::FailAllocation(n);
      scheduler_->ArmTimerLocked();
    } catch (const std::bad_alloc&) {}
    const bool timer_has_failed = testing::StopFailing();
    {
      base::Lock lock(scheduler_->mutex());
      scheduler_->ArmTimerLocked();
    }
    executor_.RunTimers();
    executor_.RunAll();
    ASSERT_EQ(ticks_, 1) << "after failed allocation " << n;
    if (!has_failed && !timer_has_failed) return;
  }
}

}  // namespace
}  // namespace mergedb::db
