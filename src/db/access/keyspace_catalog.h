// The keyspaces of a database: creates, finds, lists, clears and drops them. It changes the keyspace records of
// the tree (db/access/keyspace_records.h).
//
//   create    raise the next id, if needed ─► PUT name = id
//   drop      DELETE name and RANGE_DELETE of all keys with the id's prefix, in one batch ─► immutable memtable
//
// DB's methods hold the writers' lock while they change keyspace records. A transaction puts the changes into
// its batch.
//
// THREADS: any. Lock order: the writers' lock, then load_mutex_ or allocate_mutex_, then the exclusive section.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "db/access/keyspace_ids.h"
#include "db/access/tree_reader.h"
#include "db/access/write_host.h"

namespace mergedb::db {

class KeyspaceCatalog {
 public:
  // `ids`: those of `writers`' CommitChecks.
  KeyspaceCatalog(const Store& store, const TreeReader& reader, WriteHost& writers, KeyspaceIds& ids)
      : store_(store), reader_(reader), writers_(writers), ids_(ids) {}

  // InvalidArgument if the id was never given out.
  Status CheckMade(Keyspace keyspace) {
    if (keyspace.is_default() || ids_.WasMade(keyspace.id())) [[likely]]
      return {};
    return CheckMadeSlowly(keyspace);
  }
  bool IsLive(kv::KeyspaceId id) const { return ids_.IsLive(id); }  // REQUIRES: CheckMade was OK once
  // As of the newest commit; empty if the keyspace is not live. REQUIRES: CheckMade was OK once.
  std::optional<std::string> NameOf(kv::KeyspaceId id) const { return ids_.NameOf(id); }

  // DB's methods.
  Result<Keyspace> Create(std::string_view name, const KeyspaceOptions& options);
  Result<Keyspace> Open(std::string_view name, const ReadOptions& options);
  Result<std::vector<KeyspaceEntry>> List(const ReadOptions& options);
  Status Drop(const WriteOptions& options, Keyspace keyspace);
  Status Clear(const WriteOptions& options, Keyspace keyspace);

  // OK: there is a key map, and its marker begins none of the caller's own uncommitted keys. REQUIRES: the
  // caller holds the writers' lock. WHY a function: the uncommitted keys are those of a transaction, in txn/.
  using BeginsOwnKey = std::function<bool(const std::string& prefix)>;
  Status Enable(const BeginsOwnKey& begins_own_key);
  // An id for a new keyspace. `owner` holds the writers' lock, or is null; if it is null, the call may wait
  // for the lock.
  Result<kv::KeyspaceId> AllocateId(const void* owner);
  // The record that says which ids were given out; empty if keyspace ids are not loaded.
  struct TreeRecord {
    std::string key, value;
  };
  std::optional<TreeRecord> NextIdRecord() const;
  // Commits a change of keyspace records.
  Status CommitRecords(const write::Change& change);

 private:
  Status CheckMadeSlowly(Keyspace keyspace);
  Status Load();
  Result<kv::KeyspaceId> Find(std::string_view name, const ReadOptions& options) const;
  Result<std::string> ChooseMarker(const BeginsOwnKey& begins_own_key) const;
  Status FlushIfTablesOverlap(kv::KeyspaceId id);

  const Store& store_;
  const TreeReader& reader_;
  WriteHost& writers_;
  KeyspaceIds& ids_;
  base::Mutex load_mutex_;      // for loading ids_; taken after the writers' lock
  base::Mutex allocate_mutex_;  // for allocating ids, held during a commit; after the writers' lock
};

}  // namespace mergedb::db
