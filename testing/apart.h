// Code in a process of its own, so that a crash, a hang and a sanitizer's report are outcomes like any other.
//
//     Outcome outcome = RunApart([] { return Judge(list); }, {.seconds = 60});
//
// The child is a fork: it sees the parent's memory as it was, and leaves without a trace but the string that it returned.
// THREADS: the caller's process must have none running, else the child may find their locks taken for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mergedb::testing {

struct ApartOptions {
  uint64_t seconds =
      60;  // after so many of its CPU, or ten times as many of the clock, it is killed (testing/time_limit.h)
  bool is_quiet = false;  // what it prints to stderr is dropped
};
struct Outcome {
  std::string answer = {};   // what the code returned; empty if it did not
  std::string trouble = {};  // empty: it returned. Else "signal 6 (Aborted)", "exit 1", "no end within 60 s of CPU"
};
Outcome RunApart(const std::function<std::string()>& code, const ApartOptions& options);

}  // namespace mergedb::testing
