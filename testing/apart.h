// Runs code in a child process, so that a crash, a hang or a sanitizer report of the code is an ordinary result.
//
//     Outcome outcome = RunApart([] { return Judge(list); }, {.seconds = 60});
//
// The child is a fork. It sees a copy of the parent's memory and returns only the string that the code returns.
// THREADS: the calling process must run no other thread. Otherwise the child may wait forever for a lock that such a
// thread held.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mergedb::testing {

struct ApartOptions {
  // Limit of the child's CPU time; its limit of wall-clock time is 10 times as long (testing/time_limit.h).
  uint64_t seconds = 60;
  bool is_quiet = false;  // drops the child's output to stderr
};
struct Outcome {
  std::string answer = {};  // the string that the code returned; empty if it did not return
  // empty if the code returned; else "signal 6 (Aborted)", "exit 1", "no end within 60 s of CPU"
  std::string trouble = {};
};
Outcome RunApart(const std::function<std::string()>& code, const ApartOptions& options);

}  // namespace mergedb::testing
