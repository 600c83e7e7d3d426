// Runs benchmarks one after the other on one database and keeps their results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/engines/engine.h"
#include "bench/flags.h"
#include "bench/load_cost.h"
#include "bench/measure.h"
#include "bench/sampler.h"
#include "bench/workloads.h"
#include "bench/ycsb.h"

namespace mergedb::bench {

struct Result {
  std::string name;
  int threads = 0;
  ThreadStats stats;
  Cpu cpu;  // without the CPU time of the sampler
  // A benchmark that waits for background work also syncs the file system, so that load + wait includes all
  // writes.
  DeviceBytes device;
  DirectorySize size;
  DirectorySize size_peak;
  int64_t write_memory_bytes_peak = -1;
  uint64_t rss_bytes_peak = 0;
  int64_t runs = 0;
  std::vector<Sample> samples;
  std::optional<OpenLoopResult> open_loop;
  std::optional<LoadCost> load;  // of a benchmark that writes; complete when the database is closed

  double cpu_micros_per_op() const {
    return cpu.seconds() * 1e6 / static_cast<double>(stats.done() < 1 ? 1 : stats.done());
  }
};

class Runner {
 public:
  explicit Runner(const Flags& flags);
  ~Runner();

  // Runs the benchmarks that --benchmarks names, in order, prints each result at once, and closes the database.
  // False if the engine does not support one of the benchmarks.
  bool RunAll();

  const std::vector<std::unique_ptr<Result>>& results() const { return results_; }
  const std::string& path() const { return path_; }
  const std::string& engine_version() const { return engine_version_; }
  double open_seconds() const { return open_seconds_.value_or(0); }  // of the first open of the run
  const std::string& device_source() const { return device_->source(); }

 private:
  void RunOne(const std::string& name);
  void PrintProperty(const std::string& name);
  std::unique_ptr<Result> Measure(const Workload& workload);
  void Open();
  void Close();
  std::optional<uint64_t> BlockDeviceWritten(const DeviceBytes& device) const;
  void StartAfresh();

  Flags flags_;
  std::string path_;
  std::string value_bytes_;
  std::unique_ptr<DeviceCounter> device_;
  std::unique_ptr<Engine> engine_;
  std::string engine_version_;
  std::optional<double> open_seconds_;
  LoadMeter load_meter_;
  uint32_t threads_started_ = 0;
  RecordCounter records_;   // of the benchmarks of YCSB; --num if the database is new or comes from an earlier run
  bool owes_fold_ = false;  // values have changed since the last read of all keys
  bool has_skipped_ = false;
  std::vector<std::unique_ptr<Result>> results_;
};

}  // namespace mergedb::bench
