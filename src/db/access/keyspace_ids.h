// The ids of the keyspaces that exist now, so that no write goes to a dropped keyspace.
//
//   made    ids below next()                  reads are allowed: a dropped keyspace is empty, or as a snapshot saw it
//   live    ids with a keyspace record        writes are allowed
//
// This class mirrors the keyspace records of the tree as of the newest commit. Check runs in the exclusive
// section, where nothing is committed in between, and respects what earlier members of the group create and
// drop.
// Tests: tests/unit/db/keyspace_ids_test.cc.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/sync.h"
#include "kv/key_map.h"
#include "mergedb/status.h"
#include "write/change.h"

namespace mergedb::db {

class KeyspaceIds {
 public:
  using Names = std::map<kv::KeyspaceId, std::string>;

  // ---- THREADS: any.

  // 0 if the keyspace records are not loaded yet.
  kv::KeyspaceId next() const { return next_.load(std::memory_order_acquire); }
  bool is_loaded() const { return next() != 0; }
  bool WasMade(kv::KeyspaceId id) const { return id < next(); }
  bool IsLive(kv::KeyspaceId id) const;
  // Empty if it is not live. WHY names are kept: a record is found by its name, and DropKeyspace has only the
  // id.
  std::optional<std::string> NameOf(kv::KeyspaceId id) const;
  // Sets the state that the keyspace records describe. A second call does nothing.
  void Load(Names live, kv::KeyspaceId next);
  // Returns an id that was never used, or 0 if all ids below reserved_end() are used.
  kv::KeyspaceId Allocate();
  // As of the last Reserve or Load.
  kv::KeyspaceId reserved_end() const;
  // Allows ids below `end` to be allocated. REQUIRES: the record of the next id is committed with `end`.
  void Reserve(kv::KeyspaceId end);

  // ---- THREADS: in the exclusive section.

  // InvalidArgument if `change` writes to a keyspace that is not live. If OK, the keyspaces that `change`
  // creates and drops are pending.
  Status Check(const write::Change& change);
  // Withdraws a change that passed Check but is not published with its group.
  void Withdraw(const write::KeyspaceChanges& changes);
  void Publish() {
    if (has_pending_) [[unlikely]]
      PublishPending();
  }
  void Discard() {
    if (has_pending_) [[unlikely]]
      DiscardPending();
  }

 private:
  void PublishPending();
  void DiscardPending();

  std::atomic<kv::KeyspaceId> next_{0};
  bool has_pending_ = false;  // (exclusive section)
  mutable base::Mutex mutex_;
  Names live_ GUARDED_BY(mutex_);
  kv::KeyspaceId reserved_end_ GUARDED_BY(mutex_) = 0;
  Names created_ GUARDED_BY(mutex_);  // pending
  std::set<kv::KeyspaceId> dropped_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
