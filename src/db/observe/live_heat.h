// The hot and cold ranges of keys for the file LIVE: how many reads and writes went to which range, from the samples of
// read/heat.h. Pure functions. Tests: tests/unit/db/live_heat_test.cc.
#pragma once

#include <vector>

#include "format/live_state.h"
#include "kv/order.h"
#include "read/heat.h"
#include "version/version.h"

namespace mergedb::db {

struct HeatInput {
  const version::Version& version;
  const kv::Order& order;
  const std::vector<read::Heat::Sample>& reads;
  const std::vector<read::Heat::Sample>& writes;
};

// The ranges, in the order of the keys; the first one begins with the empty key. Borders lie where the tables of the
// tree hold equal bytes and where the samples are dense. Empty without samples.
std::vector<format::LiveHeat> HeatRanges(const HeatInput& input);

}  // namespace mergedb::db
