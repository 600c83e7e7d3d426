#include "format/keyspace_record.h"

#include "base/bytes.h"
#include "base/coding.h"

namespace mergedb::format {
namespace {

constexpr char kNameRecord = '\x01';

Status Bad(std::string_view what, std::string_view expected, std::string_view value) {
  return Status::Corruption("keyspace records: " + std::string(what) + ": expected " + std::string(expected) +
                            ", found " + base::ToHex(value.substr(0, 16)) + " (" + std::to_string(value.size()) +
                            " bytes)");
}

}  // namespace

std::string KeyspaceRecordKey(std::string_view name) { return kNameRecord + std::string(name); }

std::optional<std::string_view> ParseKeyspaceRecordKey(std::string_view key) {
  if (key.size() < 2 || key[0] != kNameRecord) return std::nullopt;
  return key.substr(1);
}

std::string EncodeNextId(kv::KeyspaceId next) {
  std::string value;
  base::AppendVarint32(&value, next);
  return value;
}

Result<kv::KeyspaceId> DecodeNextId(std::string_view value) {
  std::string_view in = value;
  kv::KeyspaceId next = 0;
  if (!base::TakeVarint32(&in, &next) || next == 0 || !in.empty())
    return Bad("the next id", "a varint32 from 1", value);
  return next;
}

std::string EncodeKeyspaceRecord(kv::KeyspaceId id) { return EncodeNextId(id); }

Result<kv::KeyspaceId> DecodeKeyspaceRecord(std::string_view value) {
  std::string_view in = value;
  kv::KeyspaceId id = 0;
  if (!base::TakeVarint32(&in, &id) || id == 0) return Bad("a record", "an id from 1 as varint32", value);
  if (!in.empty())
    return Status::NotSupported("keyspace records: keyspace " + std::to_string(id) +
                                " needs a newer version of mergedb");
  return id;
}

std::optional<std::string> ReservedPrefixOfNextIdKey(std::string_view tree_key) {
  if (!tree_key.ends_with(kNextIdKey)) return std::nullopt;
  std::string_view prefix = tree_key.substr(0, tree_key.size() - kNextIdKey.size());
  if (prefix.size() < 2 || prefix.size() > kv::kReservedPrefixBytesMax + 1 || prefix.back() != '\0')
    return std::nullopt;
  prefix.remove_suffix(1);
  return std::string(prefix);
}

}  // namespace mergedb::format
