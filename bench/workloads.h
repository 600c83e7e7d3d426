// The benchmarks by name: what each thread does between the two looks at the clock.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "bench/engines/engine.h"
#include "bench/flags.h"
#include "bench/open_loop.h"
#include "bench/stats.h"

namespace mergedb::bench {

// How a benchmark differs from the plain flags.
struct Workload {
  std::string name;
  void (*run)(struct Task& task) = nullptr;
  bool needs_fresh_db = false;
  bool is_sampled = true;             // the engine stays the same one while it runs
  bool waits_for_background = false;  // its clock stops by itself
  bool is_sequential = false;
  bool changes = false;  // values, by reading them or by merging
  bool merges = false;
  int extra_threads = 0;
  int64_t num = 0;
  int64_t reads = 0;
  int64_t value_bytes = 0;
  int64_t batch_ops = 1;
  Durability durability = Durability::kProcessCrash;
};

// One thread's share of it.
struct Task {
  const Flags& flags;
  const Workload& workload;
  Engine*& engine;
  int index;
  uint32_t seed;  // 1000 + how many threads the run has started: two benchmarks of one run ask for different keys
  std::string_view value_bytes;
  const std::function<void()>& reopen;
  // The other threads that have not finished: a writer in the background runs while there are any.
  const std::atomic<int>& others_left;
  ThreadStats stats = {};
  std::optional<OpenLoopResult> open_loop = {};
};

// Parts that benchmarks of several files share.
void ReadRandom(Task& task);
void WriteBesideOthers(Task& task);

// A line each.
std::string WorkloadsHelp();

// No value if there is no benchmark of that name.
std::optional<Workload> FindWorkload(std::string_view name, const Flags& flags);

}  // namespace mergedb::bench
