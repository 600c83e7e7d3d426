// FORMAT: the records that describe the keyspaces (docs/formats/keyspaces.md). Their tree keys begin with the
// prefix of keyspace id 0 (kv/key_map.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kv/key_map.h"
#include "mergedb/result.h"

namespace mergedb::format {

// The key of the record that stores the next id.
inline constexpr std::string_view kNextIdKey{"\0mergedb keyspaces", 18};

std::string KeyspaceRecordKey(std::string_view name);
// The keyspace's name, or nullopt if `key` is not the key of a keyspace record.
std::optional<std::string_view> ParseKeyspaceRecordKey(std::string_view key);

std::string EncodeNextId(kv::KeyspaceId next);
Result<kv::KeyspaceId> DecodeNextId(std::string_view value);
std::string EncodeKeyspaceRecord(kv::KeyspaceId id);
// Corruption; NotSupported if a newer version made the record.
Result<kv::KeyspaceId> DecodeKeyspaceRecord(std::string_view value);

// The prefix of all named keyspaces (`key_marker`), if `tree_key` is the tree key of the next-id record.
std::optional<std::string> ReservedPrefixOfNextIdKey(std::string_view tree_key);

}  // namespace mergedb::format
