// Reads and writes of any keyspace: maps callers' keys to tree keys (kv/key_map.h).
//
//   no key map     the database has no named keyspaces; keys of the default keyspace are tree keys
//   a key map      each key is mapped
//
// The first keyspace may be created during a call, after the call has found no key map. A read that this may
// concern is repeated, and a write then fails and is mapped again. One retry is enough, because the key map is
// set once.
//
// THREADS: any. Tests: tests/db/keyspace_test.cc, tests/race/keyspace_race_test.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/access/keyspace_catalog.h"
#include "db/access/tree_reader.h"
#include "db/access/write_host.h"
#include "db/state/store.h"
#include "mergedb/db.h"

namespace mergedb::db {

class KeyspaceAccess {
 public:
  KeyspaceAccess(const Store& store, const TreeReader& reader, WriteHost& writers, KeyspaceCatalog& catalog)
      : store_(store), reader_(reader), writers_(writers), catalog_(catalog) {}

  // ---- Reads.

  Status Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) {
    RETURN_IF_ERROR(catalog_.CheckMade(keyspace));
    if (store_.key_map() == nullptr) [[likely]] {
      Status status = reader_.Get(options, key, value);
      if (StillHasNoKeyMap(options)) [[likely]]
        return status;
    }
    std::string scratch;
    return reader_.Get(options, store_.key_map()->ToTree(keyspace.id(), key, &scratch), value);
  }
  std::vector<Status> MultiGet(const ReadOptions& options, Keyspace keyspace, const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values);
  // `overlay` and `kept` as in TreeReader::NewIterator.
  std::unique_ptr<Iterator> NewIterator(const IteratorOptions& options, read::Overlay overlay = {},
                                        read::PinnedTables* kept = nullptr);
  // NewIterator for the default keyspace. `skipped` as in TreeReader::NewIterator.
  std::unique_ptr<read::InternalAccessIterator> NewCursor(const IteratorOptions& options, kv::SkippedErrors* skipped);
  std::vector<uint64_t> ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges);
  // The bounds of the tree keys from `lower` to `upper` (null: no bound).
  format::Bounds BoundsOf(Keyspace keyspace, const std::string_view* lower, const std::string_view* upper) const;

  // ---- Writes.

  Status Commit(Keyspace keyspace, const write::Change& change) {
    return keyspace.is_default() ? CommitDefault(change) : CommitMapped(keyspace, change);
  }
  // A batch that writes to named keyspaces.
  Status CommitBatch(Durability durability, std::string_view rep);

 private:
  bool StillHasNoKeyMap(const ReadOptions& options) const {
    return store_.key_map() == nullptr || options.snapshot != nullptr;
  }
  Status CommitDefault(const write::Change& change) {
    if (store_.key_map() == nullptr) [[likely]] {
      Status status = writers_.Commit(change);
      if (!status.IsAborted() || store_.key_map() == nullptr) [[likely]]
        return status;
    }
    if (const write::Batch* const batch = change.batch()) return CommitBatch(change.durability, batch->bytes);
    return CommitMapped(Keyspace(), change);
  }
  Status CommitMapped(Keyspace keyspace, const write::Change& change);  // REQUIRES: a change of one record

  const Store& store_;
  const TreeReader& reader_;
  WriteHost& writers_;
  KeyspaceCatalog& catalog_;
};

}  // namespace mergedb::db
