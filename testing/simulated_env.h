// The environment of one database in one process: files in memory that can crash, a clock that advances at each read,
// and background work that runs when the test says so. The same seed gives the same run.
//
//     SimulatedEnv sim({.seed = 7});
//     auto db = sim.Open();
//     ... sim.executor.RunAll(); ...
//     auto after = SimulatedEnv::After(sim, CrashMode::kMin, CrashModel::kStrict, seed);   // the power failed here
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/fault_file_system.h"
#include "testing/manual_executor.h"

namespace mergedb::testing {

// Advances by 50 us at each read, so that a step of a job ends after some hundreds of entries and jobs interleave.
class TickingClock final : public Clock {
 public:
  uint64_t NowNanos() override { return now_nanos_ += 50'000; }
  void SleepNanos(uint64_t nanos) override {
    now_nanos_ += nanos;
    slept_nanos_ += nanos;
  }
  uint64_t slept_nanos() const { return slept_nanos_; }

 private:
  std::atomic<uint64_t> now_nanos_{1'000'000'000};
  std::atomic<uint64_t> slept_nanos_{0};
};

class SimulatedEnv {
 public:
  struct Options {
    uint64_t seed = 1;
    int parallelism = 2;
    bool is_append_only = false;
  };
  static inline const std::string kPath = "/db";

  static FaultFileSystem::Options FilesOf(const Options& options) {
    FaultFileSystem::Options files;
    files.is_append_only = options.is_append_only;
    return files;
  }

  SimulatedEnv() : SimulatedEnv(Options{}) {}
  explicit SimulatedEnv(const Options& options)
      : SimulatedEnv(options, std::make_unique<FaultFileSystem>(FilesOf(options))) {}
  SimulatedEnv(const Options& options, std::unique_ptr<FaultFileSystem> file_system)
      : files(std::move(file_system)),
        executor({.seed = options.seed, .parallelism = options.parallelism}),
        entropy_(options.seed * 31 + 7) {}

  // The environment after a restart, if this one stopped now.
  static std::unique_ptr<SimulatedEnv> After(const SimulatedEnv& sim, CrashMode mode, CrashModel model, uint64_t seed) {
    return std::make_unique<SimulatedEnv>(Options{.seed = seed}, sim.files->Crash(mode, model, seed));
  }

  // Small buffers, so that a little data causes many flushes and compactions.
  mergedb::Options SmallOptions() {
    mergedb::Options options;
    options.memory_bytes = 1 << 20;
    options.write_buffer_bytes = 64 << 10;
    options.blob_value_bytes_min = 64;  // smaller values are in tables, larger values in blob files
    options.compression = {Compression::kNone, Compression::kNone};
    options.env = {
        .file_system = files.get(), .clock = &clock, .executor = &executor, .logger = nullptr, .entropy = [this] {
          return entropy_.Next();
        }};
    return options;
  }
  Result<std::unique_ptr<DB>> Open() { return DB::Open(SmallOptions(), kPath); }

  // Advances the clock second by second and runs all background work that becomes due.
  void PassTime(int seconds) {
    for (int second = 0; second < seconds; ++second) {
      clock.SleepNanos(1'000'000'000);
      executor.RunTimers();
      executor.RunAll(1'000'000);
    }
  }

  std::unique_ptr<FaultFileSystem> files;
  TickingClock clock;
  ManualExecutor executor;

 private:
  base::Random entropy_;
};

}  // namespace mergedb::testing
