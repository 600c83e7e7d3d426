// The registry of metrics: one table that names each counter and gauge once, with its unit, its type, its help and
// the function that reads it, and one table of the latency histograms. DB::Metrics, DB::Histograms, the properties with
// counters (db/observe/metrics_text.h) and docs/METRICS.md come from these tables.
//
// Tests: tests/unit/db/metrics_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "db/access/write_host.h"
#include "db/background/background.h"
#include "db/state/store.h"
#include "db/state/tree.h"
#include "env/latencies.h"
#include "mergedb/metrics.h"

namespace mergedb::db {

// What metrics are read from. The SuperVersion and the WAL are those of one moment; counters move on while they are
// read.
struct MetricSources {
  const Store& store;
  const Tree& tree;
  const WriteHost& writers;
  const Background* background;  // null if the database is open read-only
  read::SuperVersionPtr super_version;
  std::shared_ptr<const wal::Wal> wal;  // null if the database is open read-only
};

// Units of values.
enum class MetricUnit { kCount, kBytes, kNanoseconds, kNanosecondsPerKib, kBool };

// Databases for which a metric exists.
enum class MetricScope {
  kEveryOpen,     // its value is known to a read-only open too
  kOpenForWrites  // only of a database that is open for writes
};

struct MetricRow {
  std::string_view name;
  MetricUnit unit;
  MetricType type;
  MetricScope scope;
  std::string_view help;  // one line of ASCII, a sentence
  uint64_t (*read)(const MetricSources& sources);
};

struct HistogramRow {
  std::string_view name;  // ends in _latency_nanos
  env::Operation operation;
  MetricScope scope;
  std::string_view help;  // as in MetricRow
};

// All metrics, in the order of "mergedb.counters". The table is static.
std::span<const MetricRow> MetricRows();

// All histograms, in the order of the operations. The table is static.
std::span<const HistogramRow> HistogramRows();

std::string_view UnitName(MetricUnit unit);

// The values of all metrics that this database has, in the order of the table. THREADS: any.
std::vector<Metric> ReadMetrics(const MetricSources& sources);
// The value of one metric; nullopt if this database has no metric of that name. THREADS: any.
std::optional<uint64_t> ReadMetric(const MetricSources& sources, std::string_view name);

// The counts of a histogram, with its row.
struct ReadHistogram {
  const HistogramRow* row;
  base::HistogramCounts counts;
};
// All histograms that this database has, in the order of the table. THREADS: any.
std::vector<ReadHistogram> ReadHistograms(const MetricSources& sources);
// The same as values of the public interface.
LatencyHistogram PublicHistogram(const ReadHistogram& histogram);

}  // namespace mergedb::db
