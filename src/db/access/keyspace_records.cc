#include "db/access/keyspace_records.h"

#include "format/keyspace_record.h"

namespace mergedb::db {

std::string NextIdTreeKey(const kv::KeyMap& map) {
  return map.Prefix(kv::kDefaultKeyspace) + std::string(format::kNextIdKey);
}

std::string KeyspaceRecordTreeKey(const kv::KeyMap& map, std::string_view name) {
  return map.Prefix(kv::kDefaultKeyspace) + format::KeyspaceRecordKey(name);
}

Result<std::vector<KeyspaceEntry>> ReadKeyspaceRecords(const kv::KeyMap& map, Iterator& records) {
  const size_t prefix_bytes = map.Prefix(kv::kDefaultKeyspace).size();
  std::vector<KeyspaceEntry> entries;
  for (records.SeekToFirst(); records.Valid(); records.Next()) {
    const auto name = format::ParseKeyspaceRecordKey(records.key().substr(prefix_bytes));
    if (!name) continue;
    ASSIGN_OR_RETURN(const kv::KeyspaceId id, format::DecodeKeyspaceRecord(records.value()));
    entries.push_back({.name = std::string(*name), .keyspace = Keyspace(id)});
  }
  RETURN_IF_ERROR(records.status());
  return entries;
}

}  // namespace mergedb::db
