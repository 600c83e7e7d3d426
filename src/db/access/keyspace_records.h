// The keyspace records (format/keyspace_record.h): ordinary records of the tree, under keys that no caller can
// name.
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

// The tree key of the record that says which ids were given out.
std::string NextIdTreeKey(const kv::KeyMap& map);

// REQUIRES: `records` iterates over the tree keys that begin with KeyspaceRecordTreeKey(map, "").
Result<std::vector<KeyspaceEntry>> ReadKeyspaceRecords(const kv::KeyMap& map, Iterator& records);

}  // namespace mergedb::db
