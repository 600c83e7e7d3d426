// The keyspace records in the tree (format/keyspace_record.h): the part that DB and transactions share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kv/key_map.h"
#include "mergedb/iterator.h"
#include "mergedb/keyspace.h"
#include "mergedb/result.h"

namespace mergedb::db {

// The tree key of the record of keyspace `name`. If `name` is empty: the common prefix of all these keys.
std::string KeyspaceRecordTreeKey(const kv::KeyMap& map, std::string_view name);

// REQUIRES: `records` iterates over the tree keys that begin with KeyspaceRecordTreeKey(map, "").
Result<std::vector<KeyspaceEntry>> ReadKeyspaceRecords(const kv::KeyMap& map, Iterator& records);

}  // namespace mergedb::db
