// CPU cost of a record in the WAL (reserve, copy, checksums, and the WAL writer's work), for the whole process;
// and the number of synced appends a second of one thread.
//
//     wal_bench EMPTY_DIRECTORY [MiB to write for each row] [MiB of WAL buffer]
//
// Rows: a mapped WAL buffer with direct I/O, and a WAL buffer in memory with one write() for each record.
// Segments are released as they fill, as after flushes, so that they are recycled. Each figure is the minimum
// of three runs.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "mergedb/env.h"
#include "wal/wal.h"

namespace mergedb::wal {
namespace {

double CpuNanos() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto nanos = [](const timeval& t) {
    return 1e9 * static_cast<double>(t.tv_sec) + 1e3 * static_cast<double>(t.tv_usec);
  };
  return nanos(usage.ru_utime) + nanos(usage.ru_stime);
}
double ThreadNanos() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}
double WallNanos() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

class Bench {
 public:
  Bench(const std::string& directory, size_t buffer_bytes) : directory_(directory), buffer_bytes_(buffer_bytes) {}

  struct Cost {
    double cpu_nanos, writer_nanos, wall_nanos;
    uint64_t waits;
  };

  Cost Stage(size_t record_bytes, size_t total_bytes, bool use_mapping) {
    auto log = Open(use_mapping);
    const std::string payload(record_bytes, 'x');
    Write(*log, payload, total_bytes / 2);  // creates the segments and touches the pages
    const double cpu = CpuNanos();
    const double writer = ThreadNanos();
    const double wall = WallNanos();
    const uint64_t waits = log->counters().wal_buffer_waits.count();
    const size_t count = Write(*log, payload, total_bytes);
    Check(log->MakeDurable());
    const auto per_record = [&](double nanos) { return nanos / static_cast<double>(count); };
    return {per_record(CpuNanos() - cpu), per_record(ThreadNanos() - writer), per_record(WallNanos() - wall),
            log->counters().wal_buffer_waits.count() - waits};
  }

  double SyncedPerSecond(size_t record_bytes, bool use_mapping) {
    auto log = Open(use_mapping);
    const std::string payload(record_bytes, 'x');
    Write(*log, payload, size_t{1} << 20);
    const double begin = WallNanos();
    int count = 0;
    for (; WallNanos() - begin < 5e8; ++count) {
      Append(*log, payload);
      Check(log->MakeDurable());
    }
    return 1e9 * count / (WallNanos() - begin);
  }

 private:
  std::unique_ptr<Wal> Open(bool use_mapping) {
    const Env env = DefaultEnv();
    Options options;
    options.file_system = env.file_system;
    options.executor = env.executor;
    options.directory = directory_;
    options.database_id = 1;
    options.epoch = ++epoch_;
    options.salt = epoch_;
    options.buffer_bytes = buffer_bytes_;
    options.use_mapping = use_mapping;
    options.allocate_number = [this] { return kv::FileNumber(next_file_++); };
    options.reusable_segments = left_;
    auto log = Wal::Create(options);
    Check(log.status());
    left_.clear();
    for (uint64_t i = 1; i < next_file_; ++i) left_.push_back(kv::FileNumber(i));
    return std::move(*log);
  }

  void Append(Wal& log, const std::string& payload) {
    const std::string_view pieces[] = {payload};
    Check(log.Append(pieces, 1, false));
    Check(log.WriteThrough());
  }

  size_t Write(Wal& log, const std::string& payload, size_t total_bytes) {
    const size_t count = total_bytes / (payload.size() + kFrameHeaderBytes);
    const uint64_t kept_bytes = size_t{64} << 20;
    Mark kept = log.end();
    uint64_t release_at = log.end().position + kept_bytes / 2;
    for (size_t i = 0; i < count; ++i) {
      Append(log, payload);
      if (log.end().position < release_at) continue;
      log.Release(kept);
      kept = log.end();
      release_at = log.end().position + kept_bytes / 2;
    }
    return count;
  }

  const std::string directory_;
  const size_t buffer_bytes_;
  uint64_t epoch_ = 0;
  std::atomic<uint64_t> next_file_ = 1;
  std::vector<kv::FileNumber> left_;
};

void Run(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : ".";
  const size_t total_bytes = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 512) << 20;
  const size_t buffer_bytes = (argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 16) << 20;
  Bench bench(directory, buffer_bytes);
  for (const bool use_mapping : {true, false}) {
    for (const size_t bytes : {132, 1060, 4132}) {
      Bench::Cost best = {1e18, 1e18, 1e18, 0};
      for (int i = 0; i < 3; ++i) {
        const auto cost = bench.Stage(bytes, use_mapping ? total_bytes : total_bytes / 4, use_mapping);
        if (cost.cpu_nanos < best.cpu_nanos) best = cost;
      }
      std::printf("%-9s %5zu B  %7.1f ns CPU/record, writer %7.1f, wall %7.1f, waits %lu\n",
                  use_mapping ? "mapped" : "in memory", bytes, best.cpu_nanos, best.writer_nanos, best.wall_nanos,
                  static_cast<unsigned long>(best.waits));
    }
    std::printf("%-9s   132 B  %7.0f synced appends/s\n", use_mapping ? "mapped" : "in memory",
                bench.SyncedPerSecond(132, use_mapping));
  }
}

}  // namespace
}  // namespace mergedb::wal

int main(int argc, char** argv) { mergedb::wal::Run(argc, argv); }
