// Which keyspaces are there now, by id: so that no write lands in one that was dropped, where nobody would find it again.
//
//   made    ids below next()                 reads of them are allowed: a dropped one is empty, or what a snapshot saw
//   live    those of the catalog             writes are
//
// The catalog in the tree is the truth; this is what it says as of the newest commit. A write is checked in the turn, where nothing
// commits in between: against what is live, and what members of its group before it create and drop.
// Tests: tests/unit/db/keyspace_ids_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/sync.h"
#include "kv/key_map.h"
#include "mergedb/status.h"
#include "write/writer_queue.h"

namespace mergedb::db {

class KeyspaceIds {
 public:
  using Names = std::map<kv::KeyspaceId, std::string>;

  // ---- THREADS: any.

  // 0: not loaded yet.
  kv::KeyspaceId next() const { return next_.load(std::memory_order_acquire); }
  bool is_loaded() const { return next() != 0; }
  bool WasMade(kv::KeyspaceId id) const { return id < next(); }
  bool IsLive(kv::KeyspaceId id) const;
  // None: it is not live. WHY here: a record of the catalog is found by its name, and DropKeyspace has the id.
  std::optional<std::string> NameOf(kv::KeyspaceId id) const;
  // What the catalog says; once.
  void Load(Names live, kv::KeyspaceId next);
  // An id that nobody had, if `reserved_end` leaves room; 0 if it does not.
  kv::KeyspaceId Allocate();
  // What the newest Reserve said, or the catalog.
  kv::KeyspaceId reserved_end() const;
  // Ids below `end` may be allocated: the catalog says that they are used up.
  void Reserve(kv::KeyspaceId end);

  // ---- the holder of the turn

  // InvalidArgument if one of `used` is not live when the change is made. If OK, its own changes are pending.
  Status Check(const write::Change& change);
  // A change that was checked came to nothing, and is not published with its group.
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
  bool has_pending_ = false;  // (turn)
  mutable base::Mutex mutex_;
  Names live_ GUARDED_BY(mutex_);
  kv::KeyspaceId reserved_end_ GUARDED_BY(mutex_) = 0;
  Names created_ GUARDED_BY(mutex_);  // pending
  std::set<kv::KeyspaceId> dropped_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
