// The verb serve-metrics. It changes nothing.
#include <cstdio>

#include "command.h"
#include "db/observe/metrics_text.h"
#include "http_server.h"
#include "live_view.h"

namespace mergedb::tool::serve_metrics_verb {
namespace {

struct Arguments : Line {
  std::string listen;
  int timeout_seconds = 5;
};

constexpr const char* kPage = "/metrics";

HttpAnswer ReadPage(const std::string& directory, LiveReader& reader) {
  if (const auto view = reader.ReadRunning()) {
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

int Run(Arguments& arguments) {
  Result<HttpServer> server = HttpServer::Listen(arguments.listen);
  if (!server) return Fail(server.status().IsInvalidArgument() ? kUsage : kError, server.status().ToString());
  // WHY before the first request: a wrong directory should not wait for it.
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (const int exit = Finish(*db, kOk); exit != kOk) return exit;
  Print("listening on http://" + server->address() + kPage + "\n");
  FlushPrinted();
  if (std::ferror(stdout) != 0) return kError;  // main says why
  // WHY one reader: clients wait for each other, and only the first one waits for a process that hangs.
  LiveReader reader(arguments.directory);
  const Status status =
      server->Serve(kPage, arguments.timeout_seconds, [&] { return ReadPage(arguments.directory, reader); });
  return status.ok() ? kOk : Fail(status);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "serve-metrics --listen ADDRESS:PORT DIR [--timeout SECONDS]",
               .description = "Serve the metrics over HTTP for Prometheus",
               .footer = "GET /metrics answers what `mergedb metrics DIR --prometheus` prints; any other path answers "
                         "404. While a process\n"
                         "has the database open for writes, these are the metrics that it publishes, and a request "
                         "reads one small file,\n"
                         "and under a light load waits up to two seconds for the present state. Otherwise a request "
                         "opens the database read-only, which reads its WAL. Up to 32 clients are served at once. "
                         "There is no TLS and no authentication: listen on\n"
                         "a loopback address. SIGINT or SIGTERM ends the server with exit code 0. Port 0: the system "
                         "chooses one; the first\n"
                         "line of the output has it.",
               .examples = {"mergedb serve-metrics --listen 127.0.0.1:9464 /srv/data",
                            "mergedb serve-metrics --listen '[::1]:0' /srv/data --timeout 2"}},
              Run);
  verb->add_option("--listen", arguments.listen, "Numeric address and port")->type_name("ADDRESS:PORT")->required();
  verb->add_option("--timeout", arguments.timeout_seconds,
                   "Seconds that a client may take to send a request; default: 5")
      ->type_name("SECONDS")
      ->check(IntegerFrom(1, 3600));
}

}  // namespace mergedb::tool::serve_metrics_verb
