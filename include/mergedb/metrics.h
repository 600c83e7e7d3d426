// Metrics: the counters, gauges and latency histograms of an open database, with their units and how to read them.
//
//     auto metrics = db->Metrics();
//     if (!metrics) return Fail(metrics.error());
//     for (const mergedb::Metric& each : *metrics)
//       std::cout << each.name << " " << each.value << " " << each.unit << "\n";
//
//     auto latencies = db->Histograms();
//     for (const mergedb::LatencyHistogram& each : *latencies)
//       std::cout << each.name << " p99.9 " << each.p99_9 << " ns\n";
//
// docs/METRICS.md lists all metrics. The same values as texts, by DB::GetProperty: "mergedb.counters" (lines of
// "name value"), "mergedb.stats.json" (one JSON object) and "mergedb.prometheus" (the text format of Prometheus).
// OWNERSHIP: a Metric and a LatencyHistogram are plain values. Their texts are static: they live as long as the library
// is loaded. A NUL follows each text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace mergedb {

enum class MetricType {
  kCounter = 1,  // only grows; 0 after each open
  kGauge = 2,    // a present value, which grows and shrinks, or a maximum
};

struct Metric {
  std::string_view name;  // lower-case letters, digits and "_"
  std::string_view unit;  // of the value: "count", "bytes", "nanoseconds", "nanoseconds per KiB" or "0 or 1"
  MetricType type = MetricType::kGauge;
  std::string_view help;  // one sentence: what the value says
  uint64_t value = 0;
};

// The latencies of one operation since the open, in nanoseconds. Of calls that did not wait for 50 us or more, the
// database measures only a sample. docs/METRICS.md has the errors of the values.
struct LatencyHistogram {
  struct Bucket {
    uint64_t upper = 0;  // the bucket holds the calls that took at most this long, and longer than the bucket before
    uint64_t count = 0;
  };

  std::string_view name;  // lower-case letters, digits and "_"
  std::string_view help;  // one sentence: what is measured
  // One of so many calls is measured, and counts as so many; 1: each call.
  uint64_t sample_interval = 1;
  uint64_t count = 0;  // of calls
  uint64_t sum = 0;    // of their times
  uint64_t p50 = 0;
  uint64_t p99 = 0;
  uint64_t p99_9 = 0;
  uint64_t max = 0;             // of the measured calls
  std::vector<Bucket> buckets;  // those that are not empty, ascending; the last one also holds all longer calls
};

}  // namespace mergedb
