// Metrics as text: the properties "mergedb.counters", "mergedb.stats.json" and "mergedb.prometheus".
//
// Prometheus: the text exposition format 0.0.4. The names follow Prometheus' conventions for names:
//
//     wal_bytes_appended    bytes, counter         mergedb_wal_appended_bytes_total
//     flush_nanos           nanoseconds, counter   mergedb_flush_seconds_total
//     table_bytes_live      bytes, gauge           mergedb_table_live_bytes
//     writes                count, counter         mergedb_writes_total
//
//     get_latency_nanos     histogram              mergedb_get_latency_seconds, with _bucket, _sum and _count,
//                                                  and the gauge mergedb_get_latency_max_seconds
//
// The unit moves to the end, in Prometheus' base units (seconds and bytes), and a counter ends in _total. Each
// sample has the label `database`, the path of the database, so that one process can show several databases.
//
// Tests: tests/unit/db/metrics_text_test.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "db/observe/metrics.h"

namespace mergedb::db {

// Lines of "name value".
std::string CountersText(std::span<const Metric> metrics);
// One JSON object in one line, without a newline: {"database":"/path","entries_in_tables":12,...,"get_latency_nanos":
// {"count":64,"sum":12800,"p50":200,"p99":210,"p99.9":210,"max":215,"sample_interval":64},...}. In the path, each byte
// that is not UTF-8 becomes U+FFFD.
std::string StatsJson(std::string_view directory, std::span<const Metric> metrics,
                      std::span<const ReadHistogram> histograms = {});
// The exposition: for each metric a HELP line, a TYPE line and a sample. A histogram has a bucket for each power of two
// from 128 ns to 68 s. In the path, each byte that is not UTF-8 becomes U+FFFD.
std::string PrometheusText(std::string_view directory, std::span<const Metric> metrics,
                           std::span<const ReadHistogram> histograms = {});

// The name of a metric in the exposition.
std::string PrometheusName(const Metric& metric);

}  // namespace mergedb::db
