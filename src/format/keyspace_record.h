// FORMAT: the records of the catalog of keyspaces (docs/formats/keyspaces.md). Keys as in kv/key_map.h, behind the catalog's prefix.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kv/key_map.h"
#include "mergedb/result.h"

namespace mergedb::format {

// The key under which the next id stands.
inline constexpr std::string_view kNextIdKey{"\0mergedb keyspaces", 18};

std::string KeyspaceRecordKey(std::string_view name);
// The name, if `key` is of such a record.
std::optional<std::string_view> ParseKeyspaceRecordKey(std::string_view key);

std::string EncodeNextId(kv::KeyspaceId next);
Result<kv::KeyspaceId> DecodeNextId(std::string_view value);
std::string EncodeKeyspaceRecord(kv::KeyspaceId id);
// Corruption, or NotSupported: made by a newer version.
Result<kv::KeyspaceId> DecodeKeyspaceRecord(std::string_view value);

// The marker of the database that has this key in its tree, if it is the one of the next id.
std::optional<std::string> MarkerOfNextIdKey(std::string_view tree_key);

}  // namespace mergedb::format
