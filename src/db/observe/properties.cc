#include "db/observe/properties.h"

#include <algorithm>
#include <cinttypes>
#include <optional>

#include "base/bytes.h"
#include "db/observe/live_heat.h"
#include "db/observe/metrics.h"
#include "db/observe/metrics_text.h"

namespace mergedb::db {
namespace {

double MiB(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

MetricSources MetricsOf(const PropertySources& sources) {
  return {.store = sources.store,
          .tree = sources.tree,
          .writers = sources.writers,
          .background = sources.background,
          .super_version = sources.tree.version_set.Current(),
          .wal = sources.tree.wal.Get()};
}

std::string StatsText(const PropertySources& sources) {
  std::string text = sources.store.directory + "\n";
  const read::SuperVersionPtr super_version = sources.tree.version_set.Current();
  base::Print(&text, "%zu runs, %" PRIu64 " tables, %.1f MiB, %" PRIu64 " entries\n",
              super_version->version->runs().size(), super_version->version->file_count(),
              MiB(super_version->version->bytes()), super_version->version->entries());
  if (const auto& files = super_version->version->blob_files(); !files.empty()) {
    base::Print(&text, "%zu blob files, %.1f MiB: %.1f live, %.1f garbage\n", files.size(),
                MiB(super_version->version->blob_file_bytes()), MiB(super_version->version->value_bytes()),
                MiB(super_version->version->garbage_bytes()));
  }
  base::Print(&text, "%10s %8s %8s %12s %14s %14s\n", "position", "level", "tables", "MiB", "blobs MiB", "entries");
  for (const auto& run : super_version->version->runs()) {
    base::Print(&text, "%10" PRIu64 " %8u %8zu %12.1f %14.1f %14" PRIu64 "\n", kv::ToInt(run->position()), run->level(),
                run->virtual_tables().size(), MiB(run->bytes()), MiB(run->value_bytes()), run->entries());
  }
  if (sources.background != nullptr) {
    const auto wal = sources.tree.wal.Get();
    const auto& work = sources.background->counters();
    const uint64_t appended = wal->counters().bytes_appended;
    const uint64_t written = wal->counters().bytes_written + work.flush_bytes + work.compaction_bytes_written.Total();
    base::Print(&text,
                "WAL appended %.1f MiB, WAL written %.1f, flushed %.1f, compacted %.1f: write amplification %.2f\n",
                MiB(appended), MiB(wal->counters().bytes_written), MiB(work.flush_bytes),
                MiB(work.compaction_bytes_written.Total()),
                appended == 0 ? 0.0 : static_cast<double>(written) / static_cast<double>(appended));
    const std::string jobs = sources.background->DescribeJobs();
    if (!jobs.empty()) text += "running compactions:\n" + jobs;
    if (Status status = sources.background->error(); !status.ok())
      text += "background error: " + status.ToString() + "\n";
  }
  return text;
}

// Two buckets become one: a file LIVE has room for about a thousand.
format::LiveMetric LiveHistogram(const ReadHistogram& histogram) {
  format::LiveMetric metric{.kind = format::LiveKind::kHistogram,
                            .name = std::string(histogram.row->name),
                            .unit = std::string(UnitName(MetricUnit::kNanoseconds)),
                            .value = histogram.counts.sum(),
                            .value_before = 0,
                            .buckets = {}};
  const std::vector<uint64_t>& counts = histogram.counts.buckets();
  for (size_t i = 0; i + 1 < counts.size(); i += 2) {
    const uint64_t count = counts[i] + counts[i + 1];
    if (count > 0)
      metric.buckets.push_back({.upper = base::HistogramCounts::UpperBound(i + 1), .count = count, .count_before = 0});
  }
  return metric;
}

}  // namespace

bool PrintProperty(const PropertySources& sources, std::string_view name, std::string* value) {
  constexpr std::string_view kOurs = "mergedb.";
  if (!sources.store.CheckOpen().ok() || name.substr(0, kOurs.size()) != kOurs) return false;
  name.remove_prefix(kOurs.size());
  if (name == "stats") {
    *value = StatsText(sources);
  } else if (name == "runs") {
    *value = sources.tree.version_set.Current()->version->ToString();
  } else if (name == "merge_operators") {
    value->clear();
    for (const std::string& each : sources.store.operator_names.List()) value->append(each).append("\n");
  } else if (name == "recovery") {
    *value = sources.recovery_report;
  } else if (name == "errors") {
    const Status status = sources.background == nullptr ? Status() : sources.background->error();
    *value = status.ok() ? "" : status.ToString();
  } else if (name == "snapshots") {
    const auto oldest = sources.store.snapshots->oldest();
    value->clear();
    if (oldest.count > 0) {
      const uint64_t age = sources.store.options.env.clock->NowNanos() - oldest.since_nanos;
      base::Print(value, "%zu snapshots, the oldest at sequence %" PRIu64 ", %" PRIu64 " ms old", oldest.count,
                  oldest.sequence, age / 1'000'000);
    }
  } else if (name == "transactions") {
    *value = sources.store.transactions->Text(sources.store.options.env.clock->NowNanos());
  } else if (name == "counters") {
    *value = CountersText(ReadMetrics(MetricsOf(sources)));
  } else if (name == "stats.json") {
    const MetricSources read = MetricsOf(sources);
    *value = StatsJson(sources.store.directory, ReadMetrics(read), ReadHistograms(read));
  } else if (name == "prometheus") {
    const MetricSources read = MetricsOf(sources);
    *value = PrometheusText(sources.store.directory, ReadMetrics(read), ReadHistograms(read));
  } else {
    const std::optional<uint64_t> metric = ReadMetric(MetricsOf(sources), name);
    if (!metric) return false;
    *value = std::to_string(*metric);
  }
  return true;
}

namespace {

void AddHeat(const MetricSources& sources, format::LiveState* state) {
  constexpr uint64_t kAgeMax = 600'000'000'000;
  const uint64_t now = sources.store.options.env.clock->NowNanos();
  const uint64_t since = now - std::min(now, kAgeMax);
  const auto reads = sources.store.heat.Take(read::Heat::Kind::kRead, now, since);
  const auto writes = sources.store.heat.Take(read::Heat::Kind::kWrite, now, since);
  const auto age = [now](const auto& samples) { return samples.empty() ? 0 : now - samples.front().nanos; };
  state->heat = HeatRanges(
      {.version = *sources.super_version->version, .order = sources.store.order, .reads = reads, .writes = writes});
  state->heat_ages = {.reads_nanos = age(reads), .writes_nanos = age(writes)};
  for (format::LiveHeat& range : state->heat) {
    range.reads *= env::Latencies::kSampleInterval;
    range.writes *= env::Latencies::kSampleInterval;
  }
}

}  // namespace

format::LiveState DescribeLive(const PropertySources& sources) {
  const MetricSources metrics = MetricsOf(sources);
  format::LiveState state;
  for (const Metric& metric : ReadMetrics(metrics)) {
    state.metrics.push_back(
        {.kind = metric.type == MetricType::kCounter ? format::LiveKind::kCounter : format::LiveKind::kGauge,
         .name = std::string(metric.name),
         .unit = std::string(metric.unit),
         .value = metric.value,
         .buckets = {}});
  }
  for (const ReadHistogram& histogram : ReadHistograms(metrics)) state.metrics.push_back(LiveHistogram(histogram));
  state.texts.push_back({"directory", sources.store.directory});
  if (const std::string key = sources.background->hot_key().Get(); !key.empty())
    state.texts.push_back({"hot_key", base::Escape(key, 128)});
  if (const Status error = sources.background->work_error(); !error.ok())
    state.texts.push_back({"error", error.ToString()});
  if (const Status error = sources.background->unreadable(); !error.ok())
    state.texts.push_back({"unreadable", error.ToString()});
  state.compactions = sources.background->ListJobs();
  AddHeat(metrics, &state);
  for (const version::RunPtr& run : metrics.super_version->version->runs()) {
    state.runs.push_back({.position = kv::ToInt(run->position()),
                          .level = run->level(),
                          .tables = run->virtual_tables().size(),
                          .bytes = run->bytes(),
                          .value_bytes = run->value_bytes(),
                          .entries = run->entries(),
                          .tombstones = run->tombstones()});
  }
  return state;
}

Result<std::vector<Metric>> ListMetrics(const PropertySources& sources) {
  RETURN_IF_ERROR(sources.store.CheckOpen());
  return ReadMetrics(MetricsOf(sources));
}

Result<std::vector<LatencyHistogram>> ListHistograms(const PropertySources& sources) {
  RETURN_IF_ERROR(sources.store.CheckOpen());
  std::vector<LatencyHistogram> histograms;
  for (const ReadHistogram& each : ReadHistograms(MetricsOf(sources))) histograms.push_back(PublicHistogram(each));
  return histograms;
}

}  // namespace mergedb::db
