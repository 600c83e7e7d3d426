// Does any version of any key in a SuperVersion, deleted or not, begin with these bytes? For choosing a marker of keyspaces.
#pragma once

#include <string>

#include "mergedb/result.h"
#include "read/super_version.h"
#include "table/cache.h"

namespace mergedb::read {

// REQUIRES: the bytewise order.
Result<bool> BeginsAnyKey(const kv::Order& order, table::Cache& tables, const SuperVersion& super_version,
                          const std::string& prefix);

}  // namespace mergedb::read
