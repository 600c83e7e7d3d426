// Calls about keys of any keyspace, turned into calls about keys of the tree (kv/key_map.h).
#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "db/db_impl.h"
#include "db/write_checks.h"
#include "format/batch.h"

namespace mergedb {
namespace {

Status NoKeyspaces() { return Status::NotSupported("this database has no named keyspaces"); }

}  // namespace

// ---- A database that has none ------------------------------------------------------------------------------------------------

Result<Keyspace> DB::CreateKeyspace(std::string_view, const KeyspaceOptions&) { return NoKeyspaces(); }
Result<Keyspace> DB::OpenKeyspace(std::string_view, const ReadOptions&) { return NoKeyspaces(); }
Result<std::vector<KeyspaceEntry>> DB::ListKeyspaces(const ReadOptions&) { return NoKeyspaces(); }
Status DB::DropKeyspace(const WriteOptions&, Keyspace) { return NoKeyspaces(); }
Status DB::ClearKeyspace(const WriteOptions&, Keyspace) { return NoKeyspaces(); }

Status DB::Put(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value) {
  return keyspace.is_default() ? Put(options, key, value) : NoKeyspaces();
}
Status DB::Delete(const WriteOptions& options, Keyspace keyspace, std::string_view key) {
  return keyspace.is_default() ? Delete(options, key) : NoKeyspaces();
}
Status DB::DeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view begin, std::string_view end) {
  return keyspace.is_default() ? DeleteRange(options, begin, end) : NoKeyspaces();
}
Status DB::Merge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand) {
  return keyspace.is_default() ? Merge(options, key, operand) : NoKeyspaces();
}
Status DB::Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) {
  return keyspace.is_default() ? Get(options, key, value) : NoKeyspaces();
}
std::vector<Status> DB::MultiGet(const ReadOptions& options, Keyspace keyspace, const std::vector<std::string_view>& keys,
                                 std::vector<std::string>* values) {
  if (keyspace.is_default()) return MultiGet(options, keys, values);
  values->assign(keys.size(), {});
  return std::vector<Status>(keys.size(), NoKeyspaces());
}
Status DB::CompactRange(Keyspace keyspace, const std::string_view* lower, const std::string_view* upper) {
  return keyspace.is_default() ? CompactRange(lower, upper) : NoKeyspaces();
}
std::vector<uint64_t> DB::ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges) {
  return keyspace.is_default() ? ApproximateSizes(ranges) : std::vector<uint64_t>(ranges.size(), 0);
}

namespace db {
namespace {

void AddId(std::vector<kv::KeyspaceId>* ids, kv::KeyspaceId id) {
  if (id == kv::kDefaultKeyspace || (!ids->empty() && ids->back() == id)) return;
  if (std::ranges::find(*ids, id) == ids->end()) ids->push_back(id);
}

struct MappedBatch {
  std::string rep;
  uint64_t records = 0;
  std::vector<kv::KeyspaceId> keyspaces;
};

void AppendMapped(const kv::KeyMap& map, const format::BatchReader& record, std::string* scratch, MappedBatch* mapped) {
  AddId(&mapped->keyspaces, record.keyspace());
  if (record.kind() != kv::Kind::kRangeDelete) {
    format::AppendRecord(&mapped->rep, record.kind(), map.ToTree(record.keyspace(), record.key(), scratch), record.value());
    ++mapped->records;
    return;
  }
  const auto stretches = map.ToTreeRanges(record.keyspace(), {.lower = std::string(record.key()), .upper = std::string(record.value())});
  for (const auto& stretch : stretches) {
    format::AppendRecord(&mapped->rep, kv::Kind::kRangeDelete, *stretch.lower, *stretch.upper);
    ++mapped->records;
  }
}

Status MapBatch(const kv::KeyMap& map, std::string_view rep, MappedBatch* mapped) {
  *mapped = {};
  mapped->rep.reserve(rep.size() + rep.size() / 16);
  std::string scratch;
  format::BatchReader reader(rep, format::BatchReader::Form::kCaller);
  while (reader.Next()) AppendMapped(map, reader, &scratch, mapped);
  RETURN_IF_ERROR(reader.status());
  if (mapped->rep.size() <= kBatchBytesMax) return {};
  return Status::InvalidArgument("batch of " + std::to_string(mapped->rep.size()) + " bytes, as it is logged; the most is " +
                                 std::to_string(kBatchBytesMax));
}

}  // namespace

// ---- Writing -----------------------------------------------------------------------------------------------------------------

// WHY again: the first keyspace was made between the look at the key map and the turn. There is one first one.
Status DbImpl::CommitMapped(Keyspace keyspace, write::Change change) {
  if (change.kind == kv::Kind::kRangeDelete) {
    std::string rep;
    if (keyspace.is_default()) {
      format::AppendRecord(&rep, change.kind, change.key, change.value);
    } else {
      format::AppendRecord(&rep, keyspace.id(), change.kind, change.key, change.value);
    }
    return CommitBatch({.durability = change.durability}, rep);
  }
  RETURN_IF_ERROR(CheckMade(keyspace));
  const std::string_view key = change.key;
  const kv::KeyspaceId ids[] = {keyspace.id()};
  if (!keyspace.is_default()) change.keyspaces = ids;
  std::string scratch;
  for (;;) {
    const kv::KeyMap* const map = store_->key_map();
    change.key_map = map;
    change.key = map->ToTree(keyspace.id(), key, &scratch);
    Status status = queue_.Commit(change);
    if (!status.IsAborted() || map == store_->key_map()) return status;
  }
}

Status DbImpl::CommitBatch(const WriteOptions& options, std::string_view rep) {
  MappedBatch mapped;
  for (;;) {
    const kv::KeyMap* const map = store_->key_map();
    if (map == nullptr) return Status::InvalidArgument("the batch names keyspaces, and this database has none");
    RETURN_IF_ERROR(MapBatch(*map, rep, &mapped));
    for (const kv::KeyspaceId id : mapped.keyspaces) RETURN_IF_ERROR(CheckMade(Keyspace(id)));
    Status status = queue_.Commit({.batch = mapped.rep,
                                   .is_batch = true,
                                   .records = mapped.records,
                                   .durability = options.durability,
                                   .key_map = map,
                                   .keyspaces = mapped.keyspaces});
    if (!status.IsAborted() || map == store_->key_map()) return status;
  }
}

Status DbImpl::Put(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value) {
  if (keyspace.is_default()) return Put(options, key, value);
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(value));
  RETURN_IF_ERROR(CheckWritable(options));
  RETURN_IF_ERROR(CheckMade(keyspace));
  return CommitMapped(keyspace, {.kind = kv::Kind::kPut, .key = key, .value = value, .durability = options.durability});
}

Status DbImpl::Delete(const WriteOptions& options, Keyspace keyspace, std::string_view key) {
  if (keyspace.is_default()) return Delete(options, key);
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckWritable(options));
  RETURN_IF_ERROR(CheckMade(keyspace));
  return CommitMapped(keyspace, {.kind = kv::Kind::kDelete, .key = key, .durability = options.durability});
}

Status DbImpl::DeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view begin, std::string_view end) {
  if (keyspace.is_default()) return DeleteRange(options, begin, end);
  RETURN_IF_ERROR(CheckRange(store_->order, begin, end));
  RETURN_IF_ERROR(CheckWritable(options));
  RETURN_IF_ERROR(CheckMade(keyspace));
  if (begin == end) return options.durability == Durability::kSynced ? SyncLog() : Status();
  return CommitMapped(keyspace, {.kind = kv::Kind::kRangeDelete, .key = begin, .value = end, .durability = options.durability});
}

Status DbImpl::Merge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand) {
  if (keyspace.is_default()) return Merge(options, key, operand);
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(operand));
  RETURN_IF_ERROR(CheckMerge(operand));
  RETURN_IF_ERROR(CheckWritable(options));
  RETURN_IF_ERROR(CheckMade(keyspace));
  store_->operator_names.AddOf(operand);
  return CommitMapped(keyspace, {.kind = kv::Kind::kMerge, .key = key, .value = operand, .durability = options.durability});
}

// ---- Reading -----------------------------------------------------------------------------------------------------------------

Status DbImpl::Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) {
  if (keyspace.is_default()) return Get(options, key, value);
  RETURN_IF_ERROR(CheckOpen());
  RETURN_IF_ERROR(CheckMade(keyspace));
  std::string scratch;
  return GetUnder(options, store_->key_map()->ToTree(keyspace.id(), key, &scratch), {}, value);
}

}  // namespace db
}  // namespace mergedb
