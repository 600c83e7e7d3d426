#include "testing/simulated_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace mergedb::testing {
namespace {

constexpr useconds_t kPollMicros = 20;

// Returns 'S' for "1234 (name) S ...". The name may contain any character, so the last bracket ends it.
char StateOf(const char* task) {
  const std::string path = std::string("/proc/self/task/") + task + "/stat";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 'X';  // the thread has ended
  char text[256];
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  if (got <= 0) return 'X';
  text[got] = 0;
  const char* const bracket = std::strrchr(text, ')');
  return bracket == nullptr ? 'R' : bracket[2];
}

}  // namespace

SimulatedTime::SimulatedTime() : conductor_([this] { Conduct(); }) {}

SimulatedTime::~SimulatedTime() {
  is_over_ = true;
  conductor_.join();
}

void SimulatedTime::SleepUntil(uint64_t due_nanos) {
  if (due_nanos <= NowNanos()) return;
  base::Mutex mutex;
  base::CondVar woken;
  bool is_due = false;
  RunAt(due_nanos, [&] {
    base::Lock lock(mutex);
    is_due = true;
    // while the lock is held: the sleeper's stack, with `woken`, is gone once the sleeper returns
    woken.NotifyOne();
  });
  base::Lock lock(mutex);
  while (!is_due) woken.Wait(lock);
}

void SimulatedTime::RunAt(uint64_t due_nanos, std::function<void()> act) {
  base::Lock lock(mutex_);
  events_.emplace(due_nanos, std::move(act));
}

// True if no other thread runs (R) or waits for the real disk (D).
bool SimulatedTime::OthersWait(int own_id) {
  DIR* const tasks = opendir("/proc/self/task");
  ASSERT(tasks != nullptr, "simulated time needs /proc");
  bool all_wait = true;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == own_id) continue;
    const char state = StateOf(entry->d_name);
    if (state == 'R' || state == 'D') {
      all_wait = false;
      break;
    }
  }
  closedir(tasks);
  return all_wait;
}

// Checks twice: during the first check, a thread that already counted as waiting may be woken by a running thread that
// then waits itself.
void SimulatedTime::Conduct() {
  prctl(PR_SET_TIMERSLACK, 1);
  const int own_id = static_cast<int>(syscall(SYS_gettid));
  while (!is_over_) {
    if (!OthersWait(own_id) || !OthersWait(own_id)) {
      usleep(kPollMicros);
      continue;
    }
    std::vector<std::function<void()>> due;
    {
      base::Lock lock(mutex_);
      if (!events_.empty()) {
        const uint64_t at = std::max(events_.begin()->first, NowNanos());
        now_nanos_ = at;
        while (!events_.empty() && events_.begin()->first <= at) {
          due.push_back(std::move(events_.begin()->second));
          events_.erase(events_.begin());
        }
      }
    }
    if (due.empty()) usleep(kPollMicros);
    for (const auto& act : due) act();
  }
}

}  // namespace mergedb::testing
