// A small database in memory. A Scheduler controls its threads, background work and time. Each run makes a new one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/fault_file_system.h"
#include "testing/scheduler.h"

namespace mergedb::testing {

class ScheduledEnv {
 public:
  static inline const std::string kPath = "/db";

  explicit ScheduledEnv(Scheduler& run) : ScheduledEnv(run, std::make_unique<FaultFileSystem>(FilesOf())) {}
  ScheduledEnv(Scheduler& run, std::unique_ptr<FaultFileSystem> given)
      : scheduler(run), files(std::move(given)), entropy_(7) {}

  // The smallest buffers: memtables of 32 KiB, WAL segments of 1 MiB. All values are in tables.
  mergedb::Options SmallOptions() {
    mergedb::Options options;
    options.memory_bytes = 1 << 20;
    options.write_buffer_bytes = 64 << 10;
    options.blob_value_bytes_min = 0;
    options.compression = {Compression::kNone, Compression::kNone};
    options.env = {.file_system = files.get(),
                   .clock = scheduler.clock(),
                   .executor = scheduler.executor(),
                   .logger = nullptr,
                   .entropy = [this] { return entropy_.Next(); }};
    return options;
  }
  // Returns null and fails the run if the database does not open.
  std::unique_ptr<DB> Open() { return Open(SmallOptions()); }
  std::unique_ptr<DB> Open(const mergedb::Options& options, const std::string& path = kPath) {
    auto db = DB::Open(options, path);
    if (!db) scheduler.Fail("open " + path + ": " + db.error().ToString());
    return db ? std::move(*db) : nullptr;
  }
  void Expect(const Status& status, const std::string& what) {
    if (!status.ok()) scheduler.Fail(what + ": " + status.ToString());
  }

  static FaultFileSystem::Options FilesOf() {
    FaultFileSystem::Options options;
    options.capture_mappings = false;  // these tests have no power cuts
    return options;
  }

  Scheduler& scheduler;
  std::unique_ptr<FaultFileSystem> files;

 private:
  base::Random entropy_;
};

}  // namespace mergedb::testing
