// Symptom: model_model_test failed once with "no end within 60 s". Cause: the time limit of its children was
// wall-clock time, so a child that was stopped, or waited for a processor, counted as hanging
// (docs/decisions/0025-what-hangs.md).
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "testing/apart.h"

namespace mergedb::testing {
namespace {

TEST(StoppedChild, IsNoHang) {
  const Outcome outcome = RunApart(
      [] {
        const pid_t self = getpid();
        if (fork() == 0) {  // continues the stopped process after the limit
          usleep(1'500'000);
          kill(self, SIGCONT);
          _exit(0);
        }
        raise(SIGSTOP);
        return std::string("done");
      },
      {.seconds = 1});
  EXPECT_EQ(outcome.answer, "done");
  EXPECT_EQ(outcome.trouble, "");
}

TEST(BusyChild, IsAHang) {
  const Outcome outcome = RunApart(
      [] {
        for (std::atomic<bool> is_over{false}; !is_over;) {}
        return std::string("done");
      },
      {.seconds = 1});
  EXPECT_EQ(outcome.trouble, "no end within 1 s of CPU");
}

}  // namespace
}  // namespace mergedb::testing
