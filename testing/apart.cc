#include "testing/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/assert.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace mergedb::testing {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void BeTheChild(const std::function<std::string()>& code, bool is_quiet, int out) {
  if (is_quiet) {
    const int nowhere = open("/dev/null", O_WRONLY);
    (void)dup2(nowhere, STDERR_FILENO);
  }
  const std::string answer = code();
#if defined(__SANITIZE_ADDRESS__)
  __lsan_do_leak_check();  // _exit does not
#endif
  std::string_view rest = answer;
  while (!rest.empty()) {
    const ssize_t written = write(out, rest.data(), rest.size());
    if (written <= 0) _exit(2);
    rest.remove_prefix(static_cast<size_t>(written));
  }
  std::fflush(nullptr);
  _exit(0);
}

// Everything up to the end of the pipe; false if the time is over before.
bool ReadAll(int in, Clock::time_point deadline, std::string* bytes) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{.fd = in, .events = POLLIN, .revents = 0};
    if (left <= 0) return false;
    if (poll(&waiting, 1, static_cast<int>(left)) <= 0) continue;
    char buffer[4096];
    const ssize_t got = read(in, buffer, sizeof buffer);
    if (got <= 0) return true;
    bytes->append(buffer, static_cast<size_t>(got));
  }
}

std::string TroubleOf(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return "signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return WEXITSTATUS(wait_status) == 0 ? "" : "exit " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace

Outcome RunApart(const std::function<std::string()>& code, const ApartOptions& options) {
  int ends[2];
  ASSERT(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
  std::fflush(nullptr);  // else the child prints it again
  const pid_t child = fork();
  ASSERT(child >= 0, "no process");
  if (child == 0) BeTheChild(code, options.is_quiet, ends[1]);
  close(ends[1]);

  Outcome outcome;
  const bool is_in_time = ReadAll(ends[0], Clock::now() + std::chrono::seconds(options.seconds), &outcome.answer);
  close(ends[0]);
  if (!is_in_time) kill(child, SIGKILL);
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
  }
  outcome.trouble = is_in_time ? TroubleOf(wait_status) : "no end within " + std::to_string(options.seconds) + " s";
  if (!outcome.trouble.empty()) outcome.answer.clear();
  return outcome;
}

}  // namespace mergedb::testing
