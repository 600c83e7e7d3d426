// Progress of a verb that takes long: percent, rate and time left. On a terminal a line that is drawn again at most ten
// times a second, elsewhere a line every five seconds. Ctrl-C (SIGINT) ends the work at the next step, cleanly, and
// says how much was done; a second one ends the process at once.
//
// Tests: tests/db/progress_test.cc.
#pragma once

#include <cstdint>
#include <string>

namespace mergedb::tool {

class ProgressMeter {
 public:
  // Catches SIGINT as long as the object lives.
  explicit ProgressMeter(bool is_terminal);
  // Clears the line on the terminal.
  ~ProgressMeter();
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  // Prints if a print is due. False: the work is to end.
  bool Note(uint64_t done, uint64_t all, uint64_t now_nanos);
  bool Note(uint64_t done, uint64_t all);  // now

  // " 42 % of 2.9 GB, 120.3 MB/s, 14.0 s left"; without rate and rest in the first second.
  static std::string Text(uint64_t done, uint64_t all, uint64_t nanos);

 private:
  const bool is_terminal_;
  uint64_t began_nanos_ = 0;    // 0: not yet
  uint64_t printed_nanos_ = 0;  // the last print
  bool has_line_ = false;
};

}  // namespace mergedb::tool
