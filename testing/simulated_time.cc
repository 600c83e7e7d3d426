#include "testing/simulated_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace mergedb::testing {
namespace {

constexpr useconds_t kPollMicros = 20;
constexpr useconds_t kPollMicrosMax = 640;

// Returns 'S' for "1234 (name) S ...". The name may contain any character, so the last bracket ends it. Returns 'X' if
// the thread has ended.
char StateIn(int stat_file) {
  char text[256];
  const ssize_t got = pread(stat_file, text, sizeof text - 1, 0);
  if (got <= 0) return 'X';
  text[got] = 0;
  const char* const bracket = std::strrchr(text, ')');
  return bracket == nullptr ? 'R' : bracket[2];
}

// The other threads of the process. It keeps their files in /proc open, because opening them takes longer than reading.
class OtherThreads {
 public:
  explicit OtherThreads(int own_id) : own_id_(own_id) {}
  ~OtherThreads() { CloseAll(); }
  OtherThreads(const OtherThreads&) = delete;
  OtherThreads& operator=(const OtherThreads&) = delete;

  // True if none runs (R) or waits for the real disk (D).
  bool AllWait() {
    struct stat tasks;
    ASSERT(stat(kTasks, &tasks) == 0, "simulated time needs /proc");
    if (tasks.st_nlink != links_) List(tasks.st_nlink);
    for (const int file : files_) {
      const char state = StateIn(file);
      if (state == 'X') links_ = 0;  // another thread may have begun: list them again
      if (state == 'R' || state == 'D' || state == 'X') return false;
    }
    return true;
  }

 private:
  static constexpr char kTasks[] = "/proc/self/task";

  // The directory has a link for each thread.
  void List(nlink_t links) {
    CloseAll();
    links_ = links;
    DIR* const tasks = opendir(kTasks);
    ASSERT(tasks != nullptr, "simulated time needs /proc");
    while (const dirent* entry = readdir(tasks)) {
      if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == own_id_) continue;
      const std::string path = std::string(kTasks) + "/" + entry->d_name + "/stat";
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file >= 0) files_.push_back(file);
    }
    closedir(tasks);
  }
  void CloseAll() {
    for (const int file : files_) close(file);
    files_.clear();
  }

  const int own_id_;
  nlink_t links_ = 0;  // of the directory when it was listed; 0: list it again
  std::vector<int> files_;
};

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

// Checks twice: during the first check, a thread that already counted as waiting may be woken by a running thread that
// then waits itself. While other threads run, the pauses between checks double: the checks together take less CPU time
// than the threads, and at most double the real time.
void SimulatedTime::Conduct() {
  prctl(PR_SET_TIMERSLACK, 1);
  OtherThreads others(static_cast<int>(syscall(SYS_gettid)));
  useconds_t poll_micros = kPollMicros;
  while (!is_over_) {
    if (!others.AllWait() || !others.AllWait()) {
      usleep(poll_micros);
      poll_micros = std::min(2 * poll_micros, kPollMicrosMax);
      continue;
    }
    poll_micros = kPollMicros;
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
