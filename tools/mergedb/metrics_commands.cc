// The verbs metrics and serve-metrics. They change nothing.
#include <algorithm>

#include "command.h"
#include "db/observe/metrics_text.h"
#include "http_server.h"
#include "live_view.h"

namespace mergedb::tool {

namespace {

constexpr const char* kPage = "/metrics";

std::string Property(DB& db, const char* name) {
  std::string text;
  db.GetProperty(name, &text);
  return text;
}

// The state of the process that has the database open for writes; nullopt if there is none, or if it publishes nothing.
std::optional<LiveView> ReadLive(LiveReader& reader) {
  Result<LiveView> view = reader.Read();
  if (!view || view->has_ended()) return std::nullopt;
  return std::move(*view);
}

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
  return std::fflush(stdout) == 0 ? kOk : Fail(kError, "cannot write to stdout");
}

int RunMetrics(Arguments& arguments) {
  LiveReader reader(arguments.directory);
  if (const auto view = ReadLive(reader)) return PrintLive(arguments, *view);
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

HttpAnswer ReadPage(const std::string& directory, LiveReader& reader) {
  if (const auto view = ReadLive(reader)) {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = db::PrometheusText(directory, view->Metrics(), view->Histograms())};
  }
  const auto db = OpenDatabase(directory, OpenMode::kReadOnly);
  if (db == nullptr) return {.code = 503, .body = "the database cannot be opened; the server's stderr says why\n"};
  HttpAnswer answer{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = Property(*db, "mergedb.prometheus")};
  if (const Status status = db->Close(); !status.ok()) Fail(status);
  return answer;
}

int RunServeMetrics(Arguments& arguments) {
  Result<HttpServer> server = HttpServer::Listen(arguments.listen);
  if (!server) return Fail(server.status().IsInvalidArgument() ? kUsage : kError, server.status().ToString());
  // WHY before the first request: a wrong directory should not wait for it.
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (const int exit = Finish(*db, kOk); exit != kOk) return exit;
  Print("listening on http://" + server->address() + kPage + "\n");
  if (std::fflush(stdout) != 0) return Fail(kError, "cannot write to stdout");
  // WHY one reader: clients wait for each other, and only the first one waits for a process that hangs.
  LiveReader reader(arguments.directory);
  const Status status =
      server->Serve(kPage, arguments.timeout_seconds, [&] { return ReadPage(arguments.directory, reader); });
  return status.ok() ? kOk : Fail(status);
}

}  // namespace

void AddMetricsCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* metrics = AddVerb(
      app, context,
      {"metrics", "metrics DIR [--json | --prometheus]", "Print counters and gauges with their units",
       "If a process has the database open for writes, these are its metrics, which it publishes in the file LIVE,\n"
       "about once a second or when this command asks; live_age_nanos is their age. Otherwise the database is opened "
       "read-only: then there are the "
       "metrics\n"
       "of the tree, of its files and of the reads of that open.\n"
       "\n"
       "Examples:\n"
       "  mergedb metrics /srv/data\n"
       "  mergedb metrics /srv/data --prometheus > /var/lib/node_exporter/textfile/mergedb.prom",
       0, 0, RunMetrics});
  CLI::Option* json = metrics->add_flag("--json", arguments.is_json, "Print one JSON object");
  metrics->add_flag("--prometheus", arguments.is_prometheus, "Print Prometheus' text exposition format 0.0.4")
      ->excludes(json);

  CLI::App* serve = AddVerb(
      app, context,
      {"serve-metrics", "serve-metrics --listen ADDRESS:PORT DIR [--timeout SECONDS]",
       "Serve the metrics over HTTP for Prometheus",
       "GET /metrics answers what `mergedb metrics DIR --prometheus` prints; any other path answers 404. While a "
       "process\n"
       "has the database open for writes, these are the metrics that it publishes, and a request reads one small "
       "file,\n"
       "and under a light load waits up to two seconds for the present state. Otherwise a request opens the database "
       "read-only, which reads its WAL. Up to 32 clients are served at once. "
       "There is no TLS and no authentication: listen "
       "on\n"
       "a loopback address. SIGINT or SIGTERM ends the server with exit code 0. Port 0: the system chooses one; the "
       "first\n"
       "line of the output has it.\n"
       "\n"
       "Examples:\n"
       "  mergedb serve-metrics --listen 127.0.0.1:9464 /srv/data\n"
       "  mergedb serve-metrics --listen '[::1]:0' /srv/data --timeout 2",
       0, 0, RunServeMetrics});
  serve->add_option("--listen", arguments.listen, "Numeric address and port")->type_name("ADDRESS:PORT")->required();
  serve
      ->add_option("--timeout", arguments.timeout_seconds,
                   "Seconds that a client may take to send a request; default: 5")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
}

}  // namespace mergedb::tool
