#include "bench/runner.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <thread>

#include "bench/keys.h"

namespace mergedb::bench {
namespace {

std::string DefaultPath() {
  return (std::filesystem::temp_directory_path() / ("mergedb-dbbench-" + std::to_string(getuid())) / "dbbench")
      .string();
}

void PrintDetails(const Result& result) {
  const auto& latencies = result.stats.latencies();
  std::printf("%15s%.3f cpu us/op, device %.1f MB, disk %.1f MB (peak %.1f), rss peak %.1f MB, runs %lld", "",
              result.cpu_micros_per_op(), static_cast<double>(result.device.written) / 1048576.0,
              static_cast<double>(result.size.allocated) / 1048576.0,
              static_cast<double>(result.size_peak.allocated) / 1048576.0,
              static_cast<double>(result.rss_bytes_peak) / 1048576.0, static_cast<long long>(result.runs));
  if (latencies.count() > 0) {
    std::printf(", p99 %.1f us, p99.99 %.1f us, max %.1f us", static_cast<double>(latencies.Percentile(99)) * 1e-3,
                static_cast<double>(latencies.Percentile(99.99)) * 1e-3, static_cast<double>(latencies.max()) * 1e-3);
  }
  std::printf("\n");
}

}  // namespace

Runner::Runner(const Flags& flags)
    : flags_(flags),
      path_(flags.db.empty() ? DefaultPath() : flags.db),
      value_bytes_(MakeValueBytes(flags.compression_ratio,
                                  std::max<size_t>(static_cast<size_t>(flags.value_bytes_max()), 100 * 1000))),
      records_(flags.num) {
  if (!flags_.use_existing_db) DestroyEngine(flags_, path_);
}

Runner::~Runner() = default;

void Runner::Open() {
  if (engine_) return;
  const double begin = NowSeconds();
  engine_ = OpenEngine(flags_, path_);
  if (!open_seconds_) open_seconds_ = NowSeconds() - begin;
  engine_version_ = engine_->Version();
  if (!device_) device_ = std::make_unique<DeviceCounter>(path_);
}

// Ends the costs of all loads, which count what the close and a sync write.
void Runner::Close() {
  engine_.reset();
  if (!load_meter_.has_rows()) return;
  SyncFileSystem(path_);
  load_meter_.Close(BlockDeviceWritten(device_->Now()), SizeOfDirectory(path_));
}

std::optional<uint64_t> Runner::BlockDeviceWritten(const DeviceBytes& device) const {
  return device_->is_block_device() ? std::optional(device.written) : std::nullopt;
}

void Runner::StartAfresh() {
  Close();
  DestroyEngine(flags_, path_);
  records_.Reset(flags_.num);
}

bool Runner::RunAll() {
  Open();
  std::istringstream names(flags_.benchmarks);
  for (std::string name; std::getline(names, name, ',');) {
    if (!name.empty()) RunOne(name);
  }
  if (owes_fold_) RunOne("foldall");
  Close();
  for (const auto& result : results_) {
    if (flags_.details && result->load) std::fputs(LoadCostLine(result->name, *result->load).c_str(), stdout);
  }
  return !has_skipped_;
}

void Runner::RunOne(const std::string& name) {
  if (IsProperty(name)) return PrintProperty(name);
  const std::optional<Workload> workload = FindWorkload(name, flags_);
  if (!workload) {
    std::fprintf(stderr, "unknown benchmark '%s'; `db_bench --list` prints all names\n", name.c_str());
    return;
  }
  if (workload->needs_fresh_db) {
    if (flags_.use_existing_db) {
      std::printf("%-12s : skipped (--use_existing_db is true)\n", name.c_str());
      return;
    }
    StartAfresh();
  }
  Open();
  if (workload->needs_fresh_db) SyncFileSystem(path_);  // so that the load is not charged with older dirty pages
  if (workload->merges && !engine_->CanMerge()) {
    std::printf("%-12s : skipped (--merge_operator is unknown)\n", name.c_str());
    has_skipped_ = true;
    return;
  }
  owes_fold_ = (owes_fold_ || workload->changes || workload->merges) && name != "foldall";
  results_.push_back(Measure(*workload));
  const Result& result = *results_.back();
  std::fputs(ReportLine(name, result.stats).c_str(), stdout);
  std::fputs(KindLines(result.stats).c_str(), stdout);
  if (flags_.histogram) std::fputs(HistogramText(result.stats.latencies()).c_str(), stdout);
  if (flags_.details) PrintDetails(result);
  std::fflush(stdout);
}

void Runner::PrintProperty(const std::string& name) {
  Open();
  const std::string text = engine_->Property(name);
  std::printf("\n%s\n", text.empty() ? "(failed)" : text.c_str());
}

std::unique_ptr<Result> Runner::Measure(const Workload& workload) {
  auto result = std::make_unique<Result>();
  const int threads = flags_.threads + workload.extra_threads;
  result->name = workload.name;
  result->threads = flags_.threads;

  Engine* engine = engine_.get();
  const std::function<void()> reopen = [&] {
    engine_.reset();
    Open();
    engine = engine_.get();
  };
  std::atomic<int> others_left{flags_.threads};
  const int64_t records_at_start = records_.count();
  const bool times_each_op =
      flags_.times_each_op() || ((workload.mix != nullptr || workload.has_kinds) && flags_.latency);
  std::vector<std::unique_ptr<Task>> tasks;
  for (int i = 0; i < threads; ++i) {
    tasks.emplace_back(new Task{.flags = flags_,
                                .workload = workload,
                                .engine = engine,
                                .index = i,
                                .seed = static_cast<uint32_t>(flags_.seed + ++threads_started_),
                                .value_bytes = value_bytes_,
                                .reopen = reopen,
                                .others_left = others_left,
                                .records = &records_,
                                .records_at_start = records_at_start});
  }
  const bool has_background_writer = workload.extra_threads > 0;
  std::barrier ready(threads + 1);
  std::vector<std::thread> running;
  for (const auto& task : tasks) {
    running.emplace_back([&, task = task.get()] {
      ready.arrive_and_wait();
      task->stats.Start(times_each_op);
      task->workload.run(*task);
      if (!workload.waits_for_background) task->stats.Stop();
      others_left.fetch_sub(1);
    });
  }

  ResetRssPeak();
  std::unique_ptr<Sampler> sampler;
  if (workload.is_sampled) {
    sampler = std::make_unique<Sampler>(engine, path_, device_.get(), [&] {
      int64_t ops = 0;
      for (const auto& task : tasks) ops += task->stats.done();
      return ops;
    });
  }
  const Cpu cpu_before = ProcessCpu();
  const DeviceBytes device_before = device_->Now();
  ready.arrive_and_wait();
  for (std::thread& thread : running) thread.join();
  const Cpu cpu_after = ProcessCpu();
  result->rss_bytes_peak = RssPeakBytes();
  if (sampler) sampler->Stop();

  result->cpu = {.user_seconds = cpu_after.user_seconds - cpu_before.user_seconds,
                 .system_seconds = cpu_after.system_seconds - cpu_before.system_seconds};
  if (sampler) {
    result->cpu.system_seconds = std::max(0.0, result->cpu.system_seconds - sampler->cpu_seconds());
    result->samples = sampler->samples();
    result->size_peak = sampler->size_peak();
    result->write_memory_bytes_peak = sampler->write_memory_bytes_peak();
  }
  const DeviceBytes device_unsynced = device_->Now();
  if (workload.waits_for_background) SyncFileSystem(path_);
  const DeviceBytes device_after = device_->Now();
  result->device = {.read = device_after.read - device_before.read,
                    .written = device_after.written - device_before.written};
  result->size = SizeOfDirectory(path_);
  result->size_peak = LargestOf(result->size_peak, result->size);
  result->runs = engine->RunCount();

  // The result has the message of the background writer, but not its time and count.
  const size_t first = has_background_writer ? 1 : 0;
  for (size_t i = first; i < tasks.size(); ++i) {
    if (i == first) {
      result->stats = tasks[i]->stats;
    } else {
      result->stats.Merge(tasks[i]->stats);
    }
  }
  if (has_background_writer) result->stats.AddMessage(tasks[0]->stats.message());
  result->open_loop = std::move(tasks[first]->open_loop);

  int64_t user_bytes = 0;
  for (const auto& task : tasks) user_bytes += task->stats.user_bytes();
  if (result->stats.user_bytes() > 0) result->load.emplace();
  load_meter_.AddRow(result->load ? &*result->load : nullptr, user_bytes, device_before.written, result->size_peak);
  if (workload.waits_for_background) load_meter_.Drain(BlockDeviceWritten(device_unsynced), result->size);
  return result;
}

}  // namespace mergedb::bench
