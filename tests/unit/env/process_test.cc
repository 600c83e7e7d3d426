// Goal: a process that runs is told from one that has ended, also if it was not waited for and if its id has another
// owner now. Method: this process and a child.
#include "env/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mergedb::env {
namespace {

TEST(Process, ThisOneRuns) {
  const ProcessIdentity self = ThisProcess();
  EXPECT_EQ(self.pid, static_cast<uint64_t>(getpid()));
  EXPECT_GT(self.start_ticks, 0u);
  EXPECT_EQ(self.boot_id.size(), 36u);
  EXPECT_EQ(LivenessOf(self), Liveness::kRuns);
}

TEST(Process, AnOtherIdentityHasEndedOrIsUnknown) {
  ProcessIdentity other = ThisProcess();
  ++other.start_ticks;
  EXPECT_EQ(LivenessOf(other), Liveness::kEnded) << "the id was used again";
  other = ThisProcess();
  other.boot_id[0] ^= 1;
  EXPECT_EQ(LivenessOf(other), Liveness::kEnded) << "before the last boot";
  other = ThisProcess();
  other.pid_namespace ^= 1;
  EXPECT_EQ(LivenessOf(other), Liveness::kUnknown) << "in another container";
  EXPECT_EQ(LivenessOf({}), Liveness::kUnknown);
}

TEST(Process, AKilledChildHasEnded) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(pipes[1]);
    (void)!read(pipes[0], &byte, 1);  // until the parent is gone
    _exit(0);
  }
  ProcessIdentity identity = ThisProcess();
  identity.pid = static_cast<uint64_t>(child);
  // The child began later than this process, or within the same tick.
  Liveness liveness = Liveness::kEnded;
  for (int ticks = 0; ticks < 1'000'000 && liveness != Liveness::kRuns; ++ticks, ++identity.start_ticks)
    liveness = LivenessOf(identity);
  ASSERT_EQ(liveness, Liveness::kRuns);
  --identity.start_ticks;
  kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(LivenessOf(identity), Liveness::kEnded) << "a zombie";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(LivenessOf(identity), Liveness::kEnded);
  close(pipes[0]);
  close(pipes[1]);
}

TEST(Process, TheTimeSinceBootGrows) {
  const uint64_t first = BootNanos();
  EXPECT_GT(first, 0u);
  EXPECT_GE(BootNanos(), first);
}

}  // namespace
}  // namespace mergedb::env
