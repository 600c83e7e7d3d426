// DB::GetProperty: texts for people, and metrics for programs (db/observe/metrics.h, db/observe/metrics_text.h).
// DB::Metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/access/write_host.h"
#include "db/background/background.h"
#include "db/state/store.h"
#include "db/state/tree.h"
#include "format/live_state.h"
#include "mergedb/metrics.h"
#include "mergedb/result.h"

namespace mergedb::db {

struct PropertySources {
  const Store& store;
  const Tree& tree;
  const WriteHost& writers;
  const Background* background;  // null if the database is open read-only
  const std::string& recovery_report;
};

// False if there is no property `name`. THREADS: any.
bool PrintProperty(const PropertySources& sources, std::string_view name, std::string* value);
// ShuttingDown if the database is closed. THREADS: any.
Result<std::vector<Metric>> ListMetrics(const PropertySources& sources);
Result<std::vector<LatencyHistogram>> ListHistograms(const PropertySources& sources);
// What a LivePublisher publishes. REQUIRES: open for writes. THREADS: any.
format::LiveState DescribeLive(const PropertySources& sources);

}  // namespace mergedb::db
