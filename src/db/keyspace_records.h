// The catalog of keyspaces, as records of the tree (format/keyspace_record.h): what DB and transactions both know about them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kv/key_map.h"
#include "mergedb/iterator.h"
#include "mergedb/keyspace.h"
#include "mergedb/result.h"

namespace mergedb::db {

// The tree key of the record of this name; of the empty one, what all of them begin with.
std::string CatalogKey(const kv::KeyMap& map, std::string_view name);

// `records` walks the tree keys that begin with CatalogKey(map, "").
Result<std::vector<KeyspaceEntry>> ReadCatalog(const kv::KeyMap& map, Iterator& records);

}  // namespace mergedb::db
