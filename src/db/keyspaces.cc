// Maps calls on keys of any keyspace to calls on keys of the tree (kv/key_map.h).
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "db/db_impl.h"
#include "format/batch.h"

namespace mergedb {
namespace {

Status NoKeyspaces() { return Status::NotSupported("this database has no named keyspaces"); }

}  // namespace

// ---- Defaults of class DB: no keyspaces -----------------------------------------------------------------------------

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
Status DB::DeletePrefix(const WriteOptions& options, Keyspace keyspace, std::string_view prefix) {
  return keyspace.is_default() ? DeletePrefix(options, prefix) : NoKeyspaces();
}
Status DB::Merge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand) {
  return keyspace.is_default() ? Merge(options, key, operand) : NoKeyspaces();
}
Status DB::Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) {
  return keyspace.is_default() ? Get(options, key, value) : NoKeyspaces();
}
std::vector<Status> DB::MultiGet(const ReadOptions& options, Keyspace keyspace,
                                 const std::vector<std::string_view>& keys, std::vector<std::string>* values) {
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
    format::AppendRecord(&mapped->rep, record.kind(), map.ToTree(record.keyspace(), record.key(), scratch),
                         record.value());
    ++mapped->records;
    return;
  }
  const auto stretches =
      map.ToTreeRanges(record.keyspace(), {.lower = std::string(record.key()), .upper = std::string(record.value())});
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
  ASSERT(reader.status().ok(), "the batch was checked before it is mapped");
  if (mapped->rep.size() <= kBatchBytesMax) return {};
  return Status::InvalidArgument("batch of " + std::to_string(mapped->rep.size()) +
                                 " bytes in the WAL; the maximum is " + std::to_string(kBatchBytesMax));
}

}  // namespace

// ---- DbImpl: the database has keyspaces, or creates its first ----------------------------------------------------

// WHY a loop: the first keyspace may be created after the load of the key map and before the commit, which
// then returns Aborted. This happens at most once, since the key map is set once.
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
    Status status = CommitToQueue(change);
    if (!status.IsAborted() || map == store_->key_map()) return status;
  }
}

Status DbImpl::CommitBatch(const WriteOptions& options, std::string_view rep) {
  MappedBatch mapped;
  for (;;) {
    const kv::KeyMap* const map = store_->key_map();
    if (map == nullptr) return Status::InvalidArgument("the batch writes to keyspaces, and this database has none");
    RETURN_IF_ERROR(MapBatch(*map, rep, &mapped));
    for (const kv::KeyspaceId id : mapped.keyspaces) RETURN_IF_ERROR(CheckMade(Keyspace(id)));
    Status status = CommitToQueue({.batch = mapped.rep,
                                   .is_batch = true,
                                   .records = mapped.records,
                                   .durability = options.durability,
                                   .key_map = map,
                                   .keyspaces = mapped.keyspaces});
    if (!status.IsAborted() || map == store_->key_map()) return status;
  }
}

}  // namespace db
}  // namespace mergedb
