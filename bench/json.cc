#include "bench/json.h"

#include <nlohmann/json.hpp>
#include <thread>

namespace mergedb::bench {
namespace {

using nlohmann::ordered_json;

ordered_json LatencyJson(const Histogram& nanos) {
  const auto micros = [&](double percent) { return static_cast<double>(nanos.Percentile(percent)) * 1e-3; };
  return {{"count", nanos.count()}, {"mean", nanos.mean() * 1e-3}, {"min", static_cast<double>(nanos.min()) * 1e-3},
          {"p50", micros(50)},      {"p90", micros(90)},           {"p99", micros(99)},
          {"p99.9", micros(99.9)},  {"p99.99", micros(99.99)},     {"max", static_cast<double>(nanos.max()) * 1e-3}};
}

ordered_json SamplesJson(const std::vector<Sample>& samples) {
  ordered_json rows = ordered_json::array();
  for (const Sample& sample : samples) {
    rows.push_back({sample.seconds, sample.ops, sample.disk_bytes, sample.runs, sample.device_bytes_written,
                    sample.pending_compaction_bytes, sample.rss_bytes});
  }
  return {{"columns",
           {"seconds", "ops", "disk_bytes", "runs", "device_bytes_written", "pending_compaction_bytes", "rss_bytes"}},
          {"rows", rows}};
}

ordered_json SizeJson(const DirectorySize& size) {
  return {{"allocated", size.allocated}, {"apparent", size.apparent}};
}

void AddLoadCost(const LoadCost& cost, ordered_json* json) {
  if (cost.device_drained) (*json)["device_bytes_per_user_byte"] = *cost.device_drained;
  if (cost.device_closed) (*json)["device_bytes_per_user_byte_closed"] = *cost.device_closed;
  ordered_json& directory = (*json)["directory_bytes"];
  directory["largest"] = SizeJson(cost.size_peak);
  if (cost.size_drained) directory["drained"] = SizeJson(*cost.size_drained);
  if (cost.size_closed) directory["closed"] = SizeJson(*cost.size_closed);
}

ordered_json KindsJson(const ThreadStats& stats) {
  ordered_json json = ordered_json::object();
  for (size_t i = 0; i < stats.kinds().size(); ++i) {
    const auto kind = static_cast<OpKind>(i);
    const KindStats& of_kind = stats.kinds()[i];
    if (of_kind.ops == 0) continue;
    const double seconds = stats.wall_seconds();
    ordered_json figures = {{"ops", of_kind.ops},
                            {"ops_per_second", seconds > 0 ? static_cast<double>(of_kind.ops) / seconds : 0}};
    if (kind == OpKind::kScan) figures["entries"] = of_kind.found;
    if (kind == OpKind::kRead || kind == OpKind::kReadModifyWrite) figures["found"] = of_kind.found;
    if (of_kind.latencies.count() > 0) figures["latency_us"] = LatencyJson(of_kind.latencies);
    json[std::string(NameOf(kind))] = figures;
  }
  return json;
}

ordered_json ResultJson(const Result& result) {
  const ThreadStats& stats = result.stats;
  const double seconds = stats.wall_seconds();
  ordered_json json = {
      {"name", result.name},
      {"ops", stats.done()},
      {"seconds", seconds},
      {"micros_per_op", stats.micros_per_op()},
      {"ops_per_second", seconds > 0 ? static_cast<double>(stats.done()) / seconds : 0},
      {"cpu_micros_per_op", result.cpu_micros_per_op()},
      {"cpu_user_seconds", result.cpu.user_seconds},
      {"cpu_system_seconds", result.cpu.system_seconds},
      {"threads", result.threads},
      {"bytes", stats.bytes()},
      {"user_bytes", stats.user_bytes()},
      {"found", stats.found()},
      {"device_bytes_written", result.device.written},
      {"device_bytes_read", result.device.read},
      {"disk_bytes", result.size.allocated},
      {"disk_bytes_peak", result.size_peak.allocated},
      {"rss_bytes_peak", result.rss_bytes_peak},
      {"runs", result.runs},
      {"message", stats.message()},
  };
  if (result.write_memory_bytes_peak >= 0) json["write_memory_bytes_peak"] = result.write_memory_bytes_peak;
  if (result.load) AddLoadCost(*result.load, &json);
  if (stats.latencies().count() > 0) json["latency_us"] = LatencyJson(stats.latencies());
  if (!stats.kinds().empty()) json["operations"] = KindsJson(stats);
  if (result.open_loop) {
    json["open_loop"] = {{"rate", result.open_loop->rate},
                         {"seconds", result.open_loop->seconds},
                         {"latency_us", LatencyJson(result.open_loop->puts)},
                         {"control_latency_us", LatencyJson(result.open_loop->control)}};
  }
  json["samples"] = SamplesJson(result.samples);
  return json;
}

}  // namespace

std::string ToJson(const Flags& flags, const std::vector<std::string>& command_line, const Runner& runner) {
  ordered_json json;
  json["context"] = {{"command", command_line},
                     {"engine", flags.engine},
                     {"engine_version", runner.engine_version()},
                     {"db", runner.path()},
                     {"open_seconds", runner.open_seconds()},
                     {"num", flags.num},
                     {"key_size", flags.key_size},
                     {"value_size", flags.value_size},
                     {"value_size_distribution", flags.value_size_distribution},
                     {"device_source", runner.device_source()},
                     {"cpu", CpuModel()},
                     {"cores", std::thread::hardware_concurrency()},
                     {"kernel", KernelVersion()},
                     {"ignored_flags", flags.ignored}};
  json["benchmarks"] = ordered_json::array();
  for (const auto& result : runner.results()) json["benchmarks"].push_back(ResultJson(*result));
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mergedb::bench
