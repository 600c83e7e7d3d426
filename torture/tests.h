// The tests, one function each. Each runs on any engine, below a directory of the caller's choice, and counts
// verdicts.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "torture/workload.h"

namespace mergedb::torture {

struct Order {
  std::string engine;
  std::string directory;  // must exist; a test removes the files that it creates below it
  uint64_t seed = 1;
  uint64_t batches = 300;
  uint64_t trials = 1000;  // approximate number of crash states, kills or flips
};

struct Result {
  std::string test;
  uint64_t trials = 0;
  std::map<std::string, uint64_t> counts = {};  // by verdict or by another outcome of the test
  std::vector<std::string> examples = {};       // failures, a few for each verdict
  std::map<std::string, std::string> notes = {};

  void Count(const Finding& finding, const std::string& where);
};

// Crash states from a recorded trace of system calls: kills between calls, and power cuts under a journaling
// file system and under one that guarantees only what POSIX requires. One Result for each of the three.
std::vector<Result> CutPower(const Order& order);
// One sync fails and its pages are lost; then power cuts follow. `trials` is the number of syncs that fail.
Result FailSyncs(const Order& order);
// kill -9 of a process at random times, repeatedly in one directory.
Result KillProcesses(const Order& order);
// Flips single bits of a closed database and of a killed one, in all kinds of files.
Result FlipBits(const Order& order);
// For some time, no file can grow.
Result FillDisk(const Order& order);

// ---- shared parts ----

// Batch numbers in a file that parent and child map, so that they outlive the process that counts.
struct Progress {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> returned{0};
};
class SharedProgress {
 public:
  explicit SharedProgress(const Order& order);  // both numbers are 0 in a new file
  ~SharedProgress();
  SharedProgress(const SharedProgress&) = delete;
  Progress* operator->() const { return progress_; }

 private:
  Progress* progress_;
};

// Runs this program again as `child COMMAND` with the shim loaded. Returns the exit code, or minus the signal
// number.
struct ChildOptions {
  std::string command;  // "work" or "fill"
  std::string trace = {};
  uint64_t fail_sync = 0;
  std::string* output = nullptr;  // the child's standard output
};
int RunChild(const Order& order, const ChildOptions& options);
// The main functions of the child. They do not return.
[[noreturn]] void WorkAsChild(const Order& order);
[[noreturn]] void FillAsChild(const Order& order);

std::string ReadFile(const std::string& path);
std::string DatabaseOf(const Order& order);  // the directory below TORTURE_ROOT

}  // namespace mergedb::torture
