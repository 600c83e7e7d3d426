// The verb metrics. It changes nothing.
#include <algorithm>

#include "command.h"
#include "db/observe/metrics_text.h"
#include "live_view.h"

namespace mergedb::tool::metrics_verb {
namespace {

struct Arguments : Line {
  bool is_json = false;
  bool is_prometheus = false;
};

void PrintTable(const std::vector<Metric>& metrics) {
  size_t width = 0;
  for (const Metric& metric : metrics) width = std::max(width, metric.name.size());
  for (const Metric& metric : metrics) {
    std::string line(metric.name);
    line.resize(width + 2, ' ');
    Print(line + std::to_string(metric.value) + " " + std::string(metric.unit) + "\n");
  }
}

int PrintLive(const Arguments& arguments, const LiveView& view) {
  const std::vector<Metric> metrics = view.Metrics();
  if (arguments.is_json) {
    Print(db::StatsJson(arguments.directory, metrics, {}) + "\n");
  } else if (arguments.is_prometheus) {
    Print(db::PrometheusText(arguments.directory, metrics, view.Histograms()));
  } else {
    PrintTable(metrics);
  }
  return kOk;
}

int Run(Arguments& arguments) {
  LiveReader reader(arguments.directory);
  if (const auto view = reader.ReadRunning()) return PrintLive(arguments, *view);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (arguments.is_json) {
    Print(Property(*db, "mergedb.stats.json") + "\n");
    return Finish(*db, kOk);
  }
  if (arguments.is_prometheus) {
    Print(Property(*db, "mergedb.prometheus"));
    return Finish(*db, kOk);
  }
  const Result<std::vector<Metric>> metrics = db->Metrics();
  if (!metrics) return Finish(*db, Fail(metrics.status()));
  PrintTable(*metrics);
  return Finish(*db, kOk);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "metrics DIR [--json | --prometheus]",
               .description = "Print counters and gauges with their units",
               .footer = "If a process has the database open for writes, these are its metrics, which it publishes in "
                         "the file LIVE,\n"
                         "about once a second or when this command asks; live_age_nanos is their age. Otherwise the "
                         "database is opened read-only: then there are the metrics\n"
                         "of the tree, of its files and of the reads of that open.",
               .examples = {"mergedb metrics /srv/data",
                            "mergedb metrics /srv/data --prometheus > /var/lib/node_exporter/textfile/mergedb.prom"}},
              Run);
  CLI::Option* const json = verb->add_flag("--json", arguments.is_json, "Print one JSON object");
  verb->add_flag("--prometheus", arguments.is_prometheus, "Print Prometheus' text exposition format 0.0.4")
      ->excludes(json);
}

}  // namespace mergedb::tool::metrics_verb
