#include "db/access/keyspace_catalog.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/random.h"
#include "db/access/keyspace_records.h"
#include "db/access/write_checks.h"
#include "format/batch.h"
#include "format/keyspace_record.h"
#include "read/begins_any.h"

namespace mergedb::db {
namespace {

// Ids that one raise of the next id reserves. A crash skips at most this many ids.
constexpr kv::KeyspaceId kIdsAtATime = 64;
constexpr int kPrefixesOfOneLength = 64;
constexpr size_t kPrefixBytesTried = 8;

void AppendClear(const kv::KeyMap& map, kv::KeyspaceId id, std::string* rep) {
  const std::string prefix = map.Prefix(id);
  format::AppendRecord(rep, kv::Kind::kRangeDelete, prefix, *base::PrefixEnd(prefix));
}

class WritersLockGuard {
 public:
  explicit WritersLockGuard(write::WriterQueue& queue) : queue_(queue), status_(queue_.LockWriters(this, UINT64_MAX)) {}
  ~WritersLockGuard() {
    if (status_.ok()) queue_.UnlockWriters(this);
  }
  WritersLockGuard(const WritersLockGuard&) = delete;
  WritersLockGuard& operator=(const WritersLockGuard&) = delete;
  const Status& status() const { return status_; }

 private:
  write::WriterQueue& queue_;
  const Status status_;
};

}  // namespace

// ---- Lookup --------------------------------------------------------------------------------------------------------

Result<kv::KeyspaceId> KeyspaceCatalog::Find(std::string_view name, const ReadOptions& options) const {
  const kv::KeyMap* const map = store_.key_map();
  std::string value;
  const bool has_none = map == nullptr;
  const Status status =
      has_none ? Status::NotFound("") : reader_.Get(options, KeyspaceRecordTreeKey(*map, name), &value);
  if (status.IsNotFound()) return Status::NotFound("there is no keyspace \"" + base::Escape(name, 64) + "\"");
  RETURN_IF_ERROR(status);
  return format::DecodeKeyspaceRecord(value);
}

Result<Keyspace> KeyspaceCatalog::Open(std::string_view name, const ReadOptions& options) {
  RETURN_IF_ERROR(store_.CheckOpen());
  ASSIGN_OR_RETURN(const kv::KeyspaceId id, Find(name, options));
  RETURN_IF_ERROR(CheckMade(Keyspace(id)));
  return Keyspace(id);
}

Result<std::vector<KeyspaceEntry>> KeyspaceCatalog::List(const ReadOptions& options) {
  RETURN_IF_ERROR(store_.CheckOpen());
  const kv::KeyMap* const map = store_.key_map();
  if (map == nullptr) return std::vector<KeyspaceEntry>();
  return ReadKeyspaceRecords(*map, *reader_.NewIterator({.prefix = KeyspaceRecordTreeKey(*map, ""), .read = options}));
}

Status KeyspaceCatalog::CheckMadeSlowly(Keyspace keyspace) {
  RETURN_IF_ERROR(store_.CheckOpen());
  RETURN_IF_ERROR(Load());
  if (ids_.WasMade(keyspace.id())) return {};
  return Status::InvalidArgument("keyspace " + std::to_string(keyspace.id()) + " was never created in this database");
}

// WHY not at open: damaged keyspace records are an error only for callers that use keyspaces.
Status KeyspaceCatalog::Load() {
  const kv::KeyMap* const map = store_.key_map();
  if (map == nullptr || ids_.is_loaded()) return {};
  base::Lock lock(load_mutex_);
  if (ids_.is_loaded()) return {};
  ASSIGN_OR_RETURN(const auto entries, List({}));
  std::string value;
  const Status status = reader_.Get({}, NextIdTreeKey(*map), &value);
  kv::KeyspaceId next = 1;
  if (status.ok()) {
    ASSIGN_OR_RETURN(next, format::DecodeNextId(value));
  } else if (!status.IsNotFound()) {
    return status;
  }
  KeyspaceIds::Names live;
  for (const KeyspaceEntry& entry : entries) {
    // A crash right after the marker was chosen leaves no next id, but then there is no keyspace record
    // either.
    if (entry.keyspace.id() >= next || !live.emplace(entry.keyspace.id(), entry.name).second) {
      return Status::Corruption(
          store_.directory + ": keyspace records: \"" + base::Escape(entry.name, 64) + "\" has id " +
          std::to_string(entry.keyspace.id()) +
          ", which belongs to another keyspace or was never assigned (next id: " + std::to_string(next) + ")");
    }
  }
  ids_.Load(std::move(live), next);
  return {};
}

// ---- The first keyspace --------------------------------------------------------------------------------------------

// The first candidate is the byte 0xff. WHY longer candidates are random: a program could have keys that
// begin with any string that is known beforehand.
Result<std::string> KeyspaceCatalog::ChooseMarker(const BeginsOwnKey& begins_own_key) const {
  const read::SuperVersionPtr super_version = reader_.Current();
  base::Random random(store_.options.env.entropy());
  for (size_t bytes = 1; bytes <= kPrefixBytesTried; ++bytes) {
    for (int i = 0; i < (bytes == 1 ? 1 : kPrefixesOfOneLength); ++i) {
      std::string marker(bytes, '\xff');
      for (size_t k = 0; bytes > 1 && k < bytes; ++k) marker[k] = static_cast<char>(random.Next());
      ASSIGN_OR_RETURN(const bool is_taken, read::BeginsAnyKey(store_.order, *store_.tables, *super_version, marker));
      if (!is_taken && !(begins_own_key && begins_own_key(marker))) return marker;
    }
  }
  return Status::NotSupported("no prefix is free for the keys of keyspaces: existing keys begin with all candidates");
}

// The exclusive section keeps out new keys that begin with the marker. CheckConflicts refuses writes that
// were mapped without it; their callers map them again.
// WHY a new epoch of the WAL: only a MANIFEST that names the epoch replays its frames, and that MANIFEST
// names the marker too. Without the epoch, if a faulty disk lost the edit with the marker, recovery would
// take keys of named keyspaces for keys of the default keyspace.
Status KeyspaceCatalog::Enable(const BeginsOwnKey& begins_own_key) {
  if (!store_.order.is_bytewise())
    return Status::NotSupported("keyspaces are supported only in databases with the bytewise comparator");
  if (store_.key_map() != nullptr) return {};
  write::WriterQueue::ExclusiveSection section(writers_.queue());
  RETURN_IF_ERROR(writers_.ResumeWal());
  if (store_.key_map() != nullptr) return {};  // ResumeWal may complete an earlier call that failed
  ASSIGN_OR_RETURN(std::string marker, ChooseMarker(begins_own_key));
  return writers_.BeginKeyspaces(std::move(marker));
}

Result<kv::KeyspaceId> KeyspaceCatalog::AllocateId(const void* owner) {
  RETURN_IF_ERROR(Load());
  if (const kv::KeyspaceId id = ids_.Allocate(); id != 0) return id;
  if (owner == nullptr) {
    WritersLockGuard lock(writers_.queue());
    RETURN_IF_ERROR(lock.status());
    return AllocateId(&lock);
  }
  base::Lock lock(allocate_mutex_);
  if (const kv::KeyspaceId id = ids_.Allocate(); id != 0) return id;
  const kv::KeyMap* const map = store_.key_map();
  if (ids_.next() > UINT32_MAX - kIdsAtATime) return Status::NotSupported("all keyspace ids are used");
  const kv::KeyspaceId end = ids_.next() + kIdsAtATime;
  const std::string key = NextIdTreeKey(*map), value = format::EncodeNextId(end);
  RETURN_IF_ERROR(writers_.Commit({.what = write::Record{.key = key, .value = value}, .owner = owner, .key_map = map}));
  ids_.Reserve(end);
  return ids_.Allocate();
}

std::optional<KeyspaceCatalog::TreeRecord> KeyspaceCatalog::NextIdRecord() const {
  if (!ids_.is_loaded()) return std::nullopt;
  return TreeRecord{.key = NextIdTreeKey(*store_.key_map()), .value = format::EncodeNextId(ids_.reserved_end())};
}

// ---- Changes -------------------------------------------------------------------------------------------------------

// WHY always with the WAL: later writes to the keyspace may be logged, and after a crash the keyspace must
// exist for them.
Status KeyspaceCatalog::CommitRecords(const write::Change& change) {
  write::Change logged = change;
  if (logged.durability == Durability::kNoWal) logged.durability = Durability::kProcessCrash;
  RETURN_IF_ERROR(writers_.Commit(logged));
  // If this fails, the memtable is flushed when it is full.
  for (const kv::KeyspaceId id : change.keyspace_changes->dropped) (void)FlushIfTablesOverlap(id);
  return {};
}

// Makes the active memtable immutable, so that it is flushed, if older data may hold keys of the keyspace.
// WHY: compaction picks see a range tombstone only once it is in a table. Without further writes, the space
// of the keyspace would never be freed.
Status KeyspaceCatalog::FlushIfTablesOverlap(kv::KeyspaceId id) {
  const std::string prefix = store_.key_map()->Prefix(id);
  const format::Bounds bounds{.lower = prefix, .upper = base::PrefixEnd(prefix)};
  const read::SuperVersionPtr super_version = reader_.Current();
  const bool is_in_tables = std::ranges::any_of(super_version->version->runs(), [&](const version::RunPtr& run) {
    const auto [first, last] = run->Overlap(store_.order, bounds);
    return first != last;
  });
  if (!is_in_tables && super_version->immutable.empty()) return {};
  return writers_.BeginFlush();
}

Result<Keyspace> KeyspaceCatalog::Create(std::string_view name, const KeyspaceOptions& options) {
  RETURN_IF_ERROR(store_.CheckWritable());
  RETURN_IF_ERROR(CheckKeyspace(name, options));
  WritersLockGuard lock(writers_.queue());
  RETURN_IF_ERROR(lock.status());
  RETURN_IF_ERROR(Enable(nullptr));
  const auto found = Find(name, {});
  if (found) {
    if (!options.may_exist)
      return Status::InvalidArgument("a keyspace \"" + base::Escape(name, 64) + "\" exists already");
    RETURN_IF_ERROR(CheckMade(Keyspace(*found)));
    return Keyspace(*found);
  }
  if (!found.error().IsNotFound()) return found.error();
  ASSIGN_OR_RETURN(const kv::KeyspaceId id, AllocateId(&lock));
  const kv::KeyMap* const map = store_.key_map();
  const std::string key = KeyspaceRecordTreeKey(*map, name), value = format::EncodeKeyspaceRecord(id);
  const write::KeyspaceChanges changes{.created = {id}, .created_names = {std::string(name)}, .dropped = {}};
  RETURN_IF_ERROR(CommitRecords({.what = write::Record{.key = key, .value = value},
                                 .durability = options.write.durability,
                                 .owner = &lock,
                                 .key_map = map,
                                 .keyspace_changes = &changes}));
  return Keyspace(id);
}

Status KeyspaceCatalog::Drop(const WriteOptions& options, Keyspace keyspace) {
  RETURN_IF_ERROR(store_.CheckWritable());
  if (keyspace.is_default()) return Status::InvalidArgument("the default keyspace cannot be dropped");
  RETURN_IF_ERROR(CheckMade(keyspace));
  WritersLockGuard lock(writers_.queue());
  RETURN_IF_ERROR(lock.status());
  const auto name = ids_.NameOf(keyspace.id());
  if (!name) return Status::InvalidArgument("keyspace " + std::to_string(keyspace.id()) + " was dropped before");
  const kv::KeyMap* const map = store_.key_map();
  std::string rep;
  format::AppendRecord(&rep, kv::Kind::kDelete, KeyspaceRecordTreeKey(*map, *name), {});
  AppendClear(*map, keyspace.id(), &rep);
  const write::KeyspaceChanges changes{.created = {}, .created_names = {}, .dropped = {keyspace.id()}};
  return CommitRecords({.what = write::Batch{.bytes = rep, .records = 2},
                        .durability = options.durability,
                        .owner = &lock,
                        .key_map = map,
                        .keyspace_changes = &changes});
}

Status KeyspaceCatalog::Clear(const WriteOptions& options, Keyspace keyspace) {
  RETURN_IF_ERROR(writers_.CheckWritable(options));
  if (keyspace.is_default())
    return Status::InvalidArgument("ClearKeyspace does not support the default keyspace; use DeleteRange");
  RETURN_IF_ERROR(CheckMade(keyspace));
  const kv::KeyMap* const map = store_.key_map();
  std::string rep;
  AppendClear(*map, keyspace.id(), &rep);
  const kv::KeyspaceId ids[] = {keyspace.id()};
  RETURN_IF_ERROR(writers_.Commit({.what = write::Batch{.bytes = rep, .records = 1},
                                   .durability = options.durability,
                                   .key_map = map,
                                   .keyspaces = ids}));
  // WHY no error: an error would say that the clear did not happen. The next write reports a failed WAL.
  (void)FlushIfTablesOverlap(keyspace.id());  // if this fails, a full memtable is flushed anyway
  return {};
}

}  // namespace mergedb::db
