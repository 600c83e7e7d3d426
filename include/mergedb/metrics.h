// Metrics: the counters and gauges of an open database, with their units and how to read them.
//
//     auto metrics = db->Metrics();
//     if (!metrics) return Fail(metrics.error());
//     for (const mergedb::Metric& each : *metrics)
//       std::cout << each.name << " " << each.value << " " << each.unit << "\n";
//
// docs/METRICS.md lists all metrics. The same values as texts, by DB::GetProperty: "mergedb.counters" (lines of
// "name value"), "mergedb.stats.json" (one JSON object) and "mergedb.prometheus" (the text format of Prometheus).
// OWNERSHIP: a Metric is a plain value. Its texts are static: they live as long as the library is loaded. A NUL follows
// each text.
#pragma once

#include <cstdint>
#include <string_view>

namespace mergedb {

enum class MetricType {
  kCounter = 1,  // only grows; 0 after each open, and again where its help says so
  kGauge = 2,    // a present value, which grows and shrinks, or a maximum
};

struct Metric {
  std::string_view name;  // lower-case letters, digits and "_"
  std::string_view unit;  // of the value: "count", "bytes", "nanoseconds", "nanoseconds per KiB" or "0 or 1"
  MetricType type = MetricType::kGauge;
  std::string_view help;  // one sentence: what the value says
  uint64_t value = 0;
};

}  // namespace mergedb
