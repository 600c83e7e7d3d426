// How long a process of a test may take before it counts as hung: so many seconds of its own CPU, and ten times as many by the clock.
//
//     if (fork() == 0) { LimitTime(20); ... }
//     ... waitpid(child, &outcome, 0); if (IsOutOfTime(outcome)) ...
//
// WHY both: by the clock alone a busy machine makes hangs of what only waits for its turn; by the CPU alone a deadlock never ends.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace mergedb::testing {

inline constexpr uint64_t kClockPerCpuLimit = 10;

// The calling process's limits from its start on; none above what it has already. REQUIRES: nobody else uses its SIGALRM.
inline void LimitTime(uint64_t cpu_seconds) {
  rlimit limit{};
  if (getrlimit(RLIMIT_CPU, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>({cpu_seconds, limit.rlim_cur, limit.rlim_max});
    (void)setrlimit(RLIMIT_CPU, &limit);
  }
  alarm(static_cast<unsigned>(cpu_seconds * kClockPerCpuLimit));
}

// Of what waitpid gave.
inline bool IsOutOfTime(int outcome) {
  return WIFSIGNALED(outcome) && (WTERMSIG(outcome) == SIGXCPU || WTERMSIG(outcome) == SIGALRM);
}

}  // namespace mergedb::testing
