// BeginsAnyKey: does any version of any key in a SuperVersion begin with some bytes? Deleted keys count too.
// The database chooses the marker of the named keyspaces with it (kv/key_map.h).
#pragma once

#include <string>

#include "mergedb/result.h"
#include "read/super_version.h"
#include "table/cache.h"

namespace mergedb::read {

// REQUIRES: the bytewise comparator.
Result<bool> BeginsAnyKey(const kv::Order& order, table::Cache& tables, const SuperVersion& super_version,
                          const std::string& prefix);

}  // namespace mergedb::read
