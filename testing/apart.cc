#include "testing/apart.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/assert.h"
#include "testing/time_limit.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace mergedb::testing {
namespace {

[[noreturn]] void BeTheChild(const std::function<std::string()>& code, const ApartOptions& options, int out) {
  LimitTime(options.seconds);
  if (options.is_quiet) {
    const int nowhere = open("/dev/null", O_WRONLY);
    (void)dup2(nowhere, STDERR_FILENO);
  }
  const std::string answer = code();
#if defined(__SANITIZE_ADDRESS__)
  __lsan_do_leak_check();  // _exit does not check for leaks
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

// Reads the child's answer, up to the end of the pipe.
std::string ReadAll(int in) {
  std::string bytes;
  char buffer[4096];
  for (ssize_t got; (got = read(in, buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) bytes.append(buffer, static_cast<size_t>(got));
  }
  return bytes;
}

std::string TroubleOf(int wait_status, const ApartOptions& options) {
  if (IsOutOfTime(wait_status)) return "no end within " + std::to_string(options.seconds) + " s of CPU";
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
  std::fflush(nullptr);  // otherwise the child prints the buffered output a second time
  const pid_t child = fork();
  ASSERT(child >= 0, "no process");
  if (child == 0) BeTheChild(code, options, ends[1]);
  close(ends[1]);

  Outcome outcome;
  outcome.answer = ReadAll(ends[0]);
  close(ends[0]);
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {}
  outcome.trouble = TroubleOf(wait_status, options);
  if (!outcome.trouble.empty()) outcome.answer.clear();
  return outcome;
}

}  // namespace mergedb::testing
