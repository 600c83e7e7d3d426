// The epochs of the WAL: begins them, and ends the last one. Tree::wal is the WAL of the present one.
//
//   epoch 7   frames ... failed ─► all memtables are flushed ─► the MANIFEST names epoch 8 ─► WAL of epoch 8
//
// A WAL whose sync failed is never synced again (rule B1): a new epoch replaces it, and later frames of the
// failed WAL are void. The first keyspace begins a new epoch too. The MANIFEST names an epoch before its WAL
// has frames, and records that STAGING may hold frames before STAGING holds any.
//
// THREADS: in the exclusive section.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "db/state/store.h"
#include "db/state/tree.h"
#include "wal/wal.h"

namespace mergedb::db {

class WalEpochs {
 public:
  WalEpochs(Store& store, Tree& tree) : store_(store), tree_(tree) {}

  // Begins an epoch: the MANIFEST durably names it. The files of the WAL before it still exist. For an open; otherwise
  // BeginNext does it.
  Status CommitEpoch(const VersionSet::WalStart& start);
  // After CommitEpoch: makes the WAL of the epoch, which overwrites the files of the WAL before it.
  Status CreateWal(const VersionSet::WalStart& start, std::vector<kv::FileNumber> reusable_segments);
  // Replaces the WAL by one of a new epoch. REQUIRES: memtables are empty. After an error there is no way back
  // to the old epoch: writers get failure() until a call succeeds.
  Status BeginNext();
  // From the next epoch on, the keys of keyspaces begin with `marker` (kv/key_map.h).
  void SetKeyMarker(std::string marker);
  // A group or a sync failed with `status`. If the WAL takes no more frames, failure() says why.
  void NoteFailure(const Status& status);
  // Makes the WAL durable, unless tables hold everything, records its end in the MANIFEST, and removes the files that
  // the next open does not need. After an error the caller stops the WAL.
  Status Finish();
  void GiveBackSegments();  // Wal::GiveBackSegments, with the commit

  wal::Wal& wal() { return tree_.wal.wal(); }
  bool is_usable() const { return !tree_.wal.wal().is_in_trouble() && !next_is_owed_; }
  const Status& failure() const { return failure_; }  // for writers, while the WAL is not usable
  VersionSet::WalStart At(const wal::Mark& mark) const;

 private:
  bool AllIsInTables(const wal::Mark& end) const;
  Status TryNext();
  void RemoveVoidSegments();

  Store& store_;
  Tree& tree_;

  // (exclusive section)
  uint64_t salt_ = 0;
  Status failure_;
  // A new epoch must begin before the next write. It stays set if BeginNext fails to commit the MANIFEST or
  // to create the WAL.
  bool next_is_owed_ = false;
  std::set<kv::FileNumber> void_segments_;  // of stopped WALs; the WAL of a new epoch is not made yet
  std::optional<std::string> marker_to_come_;
};

}  // namespace mergedb::db
