// The benchmarks by name: the work of each thread while the clock runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "bench/engines/engine.h"
#include "bench/flags.h"
#include "bench/keys.h"
#include "bench/open_loop.h"
#include "bench/stats.h"

namespace mergedb::bench {

class RecordCounter;
struct YcsbMix;

// The differences between a benchmark and the plain flags.
struct Workload {
  std::string name;
  void (*run)(struct Task& task) = nullptr;
  bool needs_fresh_db = false;
  bool is_sampled = true;             // no reopen while it runs: the engine object stays the same
  bool waits_for_background = false;  // the benchmark stops its clock itself
  bool is_sequential = false;
  bool takes_writes = false;  // --writes, if given, is the number of its operations
  bool changes = false;       // values change, by get and put or by merge operands
  bool merges = false;
  int extra_threads = 0;
  int64_t num = 0;
  int64_t reads = 0;
  int64_t value_bytes = 0;
  int64_t batch_ops = 1;
  const YcsbMix* mix = nullptr;  // of a benchmark of YCSB
  bool has_kinds = false;        // the report has a line for each kind of operation
  Durability durability = Durability::kProcessCrash;
};

// The part of a benchmark that one thread does.
struct Task {
  const Flags& flags;
  const Workload& workload;
  Engine*& engine;
  int index;
  // --seed + the number of threads that the run has started, so that two benchmarks of a run use different keys.
  uint32_t seed;
  std::string_view value_bytes;
  const std::function<void()>& reopen;
  // The number of foreground threads that have not finished. A background writer runs while it is not 0.
  const std::atomic<int>& others_left;
  RecordCounter* records = nullptr;  // for the benchmarks of YCSB
  int64_t records_at_start = 0;
  ThreadStats stats = {};
  std::optional<OpenLoopResult> open_loop = {};
};

// Benchmarks that several files use.
void ReadRandom(Task& task);
void WriteBesideOthers(Task& task);
// The bytes of the entry at `cursor`. With --touch_values it reads the value, as a program does that uses it.
int64_t EntryBytes(const Cursor& cursor, const Flags& flags);
// The sizes that --value_size_distribution requests, unless the benchmark has a size of its own.
ValueSizes SizesOf(const Task& task);

// One line for each name that --benchmarks takes.
std::string WorkloadsHelp();

// True for the names that print a text of the engine: Engine::Property.
bool IsProperty(std::string_view name);

// nullopt if no benchmark has that name.
std::optional<Workload> FindWorkload(std::string_view name, const Flags& flags);

}  // namespace mergedb::bench
