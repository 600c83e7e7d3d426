#include "db/access/keyspace_access.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "format/batch.h"
#include "read/keyspace_iterator.h"

namespace mergedb::db {
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

// ---- Reads ---------------------------------------------------------------------------------------------------

std::vector<Status> KeyspaceAccess::MultiGet(const ReadOptions& options, Keyspace keyspace,
                                             const std::vector<std::string_view>& keys,
                                             std::vector<std::string>* values) {
  values->assign(keys.size(), std::string());
  Status status = store_.CheckOpen();
  if (status.ok()) status = catalog_.CheckMade(keyspace);
  if (!status.ok()) return std::vector<Status>(keys.size(), status);
  if (store_.key_map() == nullptr) [[likely]] {
    auto statuses = reader_.MultiGet(options, nullptr, keyspace.id(), keys, values);
    if (StillHasNoKeyMap(options)) [[likely]]
      return statuses;
  }
  return reader_.MultiGet(options, store_.key_map(), keyspace.id(), keys, values);
}

std::unique_ptr<Iterator> KeyspaceAccess::NewIterator(const IteratorOptions& options, read::Overlay overlay,
                                                      read::PinnedTables* kept) {
  if (!options.keyspace.is_default()) {
    if (Status status = catalog_.CheckMade(options.keyspace); !status.ok())
      return read::NewErrorIterator(std::move(status));
  }
  if (store_.key_map() == nullptr) [[likely]] {
    auto tree = reader_.NewIterator(options, std::move(overlay), kept);
    if (StillHasNoKeyMap(options.read)) [[likely]]
      return tree;
    overlay = {};  // it was empty: a transaction, which reads with a snapshot, has returned above
  }
  const kv::KeyMap* const map = store_.key_map();
  return read::NewKeyspaceIterator(*map, options,
                                   reader_.NewIterator(read::ToTreeOptions(*map, options), std::move(overlay), kept));
}

std::unique_ptr<read::InternalAccessIterator> KeyspaceAccess::NewCursor(const IteratorOptions& options,
                                                                        kv::SkippedErrors* skipped) {
  if (store_.key_map() == nullptr) [[likely]] {
    auto tree = reader_.NewIterator(options, {}, nullptr, skipped);
    if (StillHasNoKeyMap(options.read)) [[likely]]
      return tree;
  }
  const kv::KeyMap* const map = store_.key_map();
  auto tree = reader_.NewIterator(read::ToTreeOptions(*map, options), {}, nullptr, skipped);
  return read::NewDefaultIterator(*map, options, std::move(tree));
}

std::vector<uint64_t> KeyspaceAccess::ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges) {
  const read::SuperVersionPtr super_version = reader_.Current();
  const kv::KeyMap* const map = store_.key_map();
  std::vector<uint64_t> sizes(ranges.size(), 0);
  if (!catalog_.CheckMade(keyspace).ok()) return sizes;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const kv::KeyMap::Range asked{.lower = std::string(ranges[i].lower), .upper = std::string(ranges[i].upper)};
    const auto stretches = map == nullptr ? std::vector{asked} : map->ToTreeRanges(keyspace.id(), asked);
    for (const auto& stretch : stretches)
      sizes[i] += reader_.SizeOf(*super_version->version, {.lower = stretch.lower, .upper = stretch.upper});
  }
  return sizes;
}

format::Bounds KeyspaceAccess::BoundsOf(Keyspace keyspace, const std::string_view* lower,
                                        const std::string_view* upper) const {
  format::Bounds bounds;
  if (lower != nullptr) bounds.lower = std::string(*lower);
  if (upper != nullptr) bounds.upper = std::string(*upper);
  const kv::KeyMap* const map = store_.key_map();
  if (map == nullptr) return bounds;
  auto stretches =
      map->ToTreeRanges(keyspace.id(), {.lower = std::move(bounds.lower), .upper = std::move(bounds.upper)});
  return {.lower = std::move(stretches.front().lower), .upper = std::move(stretches.back().upper)};
}

// ---- Writes --------------------------------------------------------------------------------------------------

// WHY a loop: the first keyspace may be created after the load of the key map and before the commit, which
// then returns Aborted. This happens at most once, since the key map is set once.
Status KeyspaceAccess::CommitMapped(Keyspace keyspace, const write::Change& change) {
  const write::Record& record = *change.record();
  if (record.kind == kv::Kind::kRangeDelete) {
    std::string rep;
    if (keyspace.is_default()) {
      format::AppendRecord(&rep, record.kind, record.key, record.value);
    } else {
      format::AppendRecord(&rep, keyspace.id(), record.kind, record.key, record.value);
    }
    return CommitBatch(change.durability, rep);
  }
  RETURN_IF_ERROR(catalog_.CheckMade(keyspace));
  write::Change mapped = change;
  const kv::KeyspaceId ids[] = {keyspace.id()};
  if (!keyspace.is_default()) mapped.keyspaces = ids;
  std::string scratch;
  for (;;) {
    const kv::KeyMap* const map = store_.key_map();
    mapped.key_map = map;
    mapped.what = write::Record{
        .kind = record.kind, .key = map->ToTree(keyspace.id(), record.key, &scratch), .value = record.value};
    Status status = writers_.Commit(mapped);
    if (!status.IsAborted() || map == store_.key_map()) return status;
  }
}

Status KeyspaceAccess::CommitBatch(Durability durability, std::string_view rep) {
  MappedBatch mapped;
  for (;;) {
    const kv::KeyMap* const map = store_.key_map();
    if (map == nullptr) return Status::InvalidArgument("the batch writes to keyspaces, and this database has none");
    RETURN_IF_ERROR(MapBatch(*map, rep, &mapped));
    for (const kv::KeyspaceId id : mapped.keyspaces) RETURN_IF_ERROR(catalog_.CheckMade(Keyspace(id)));
    Status status = writers_.Commit({.what = write::Batch{.bytes = mapped.rep, .records = mapped.records},
                                     .durability = durability,
                                     .key_map = map,
                                     .keyspaces = mapped.keyspaces});
    if (!status.IsAborted() || map == store_.key_map()) return status;
  }
}

}  // namespace mergedb::db
