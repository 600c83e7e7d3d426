// The tests, one function each: on any engine, below a directory of the caller's choice, counting verdicts.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "torture/workload.h"

namespace mergedb::torture {

struct Order {
  std::string engine;
  std::string directory;  // must exist; what the tests make below it is removed again
  uint64_t seed = 1;
  uint64_t batches = 300;
  uint64_t trials = 1000;  // crash states, kills, flips: about that many
};

struct Result {
  std::string test;
  uint64_t trials = 0;
  std::map<std::string, uint64_t> counts = {};  // by verdict, or what the test says of itself
  std::vector<std::string> examples = {};       // of what is not right, a few a verdict
  std::map<std::string, std::string> notes = {};

  void Count(const Finding& finding, const std::string& where);
};

// Crash states from a recorded trace of system calls: kills between calls, power cuts under a journaling file system and under
// one that promises what POSIX does and no more. One Result each.
std::vector<Result> CutPower(const Order& order);
// One sync fails and its pages are lost; then power cuts. `trials` is the number of syncs to fail.
Result FailSyncs(const Order& order);
// kill -9 of a process at random times, again and again in one directory.
Result KillProcesses(const Order& order);
// A bit of a closed and of a killed database flipped, wherever there is one.
Result FlipBits(const Order& order);
// No file can grow for a while.
Result FillDisk(const Order& order);

// ---- what they share ----

// Numbers of batches, in memory that outlives the process that counts: a file mapped by both sides.
struct Progress {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> returned{0};
};
class SharedProgress {
 public:
  explicit SharedProgress(const Order& order);  // both zero, if it was not there
  ~SharedProgress();
  SharedProgress(const SharedProgress&) = delete;
  Progress* operator->() const { return progress_; }

 private:
  Progress* progress_;
};

// Run this program again as `child COMMAND`, with the shim in front of it. Returns its exit code, or minus the signal.
struct ChildOptions {
  std::string command;  // "work" or "fill"
  std::string trace = {};
  uint64_t fail_sync = 0;
  std::string* output = nullptr;  // what it wrote to its standard output
};
int RunChild(const Order& order, const ChildOptions& options);
// What the child does. Never return.
[[noreturn]] void WorkAsChild(const Order& order);
[[noreturn]] void FillAsChild(const Order& order);

std::string ReadFile(const std::string& path);
std::string DatabaseOf(const Order& order);  // the directory below TORTURE_ROOT

}  // namespace mergedb::torture
