// Time limits for a child process of a test: a limit of CPU time, and ten times as much wall-clock time.
//
//     if (fork() == 0) { LimitTime(20); ... }
//     ... waitpid(child, &outcome, 0); if (IsOutOfTime(outcome)) ...
//
// WHY both: with a wall-clock limit alone, a busy machine makes slow processes look hung. With a CPU limit alone, a
// deadlock never ends.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace mergedb::testing {

inline constexpr uint64_t kClockPerCpuLimit = 10;

// Sets the limits of the calling process: CPU time counts from its start, wall-clock time from this call. Never raises
// an existing CPU limit.
// REQUIRES: no other code of the process uses SIGALRM.
inline void LimitTime(uint64_t cpu_seconds) {
  rlimit limit{};
  if (getrlimit(RLIMIT_CPU, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>({cpu_seconds, limit.rlim_cur, limit.rlim_max});
    (void)setrlimit(RLIMIT_CPU, &limit);
  }
  alarm(static_cast<unsigned>(cpu_seconds * kClockPerCpuLimit));
}

// `outcome` is the status that waitpid returned.
inline bool IsOutOfTime(int outcome) {
  return WIFSIGNALED(outcome) && (WTERMSIG(outcome) == SIGXCPU || WTERMSIG(outcome) == SIGALRM);
}

}  // namespace mergedb::testing
