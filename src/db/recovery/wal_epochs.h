// The WAL that takes the writes, and its epoch.
//
//   epoch 7   frames ... failed ─► all memtables are flushed ─► the MANIFEST names epoch 8 ─► WAL of epoch 8
//
// A WAL whose sync failed is never synced again (row B1): a new epoch replaces it, and later frames of the
// failed WAL are void. The first keyspace begins a new epoch too. The MANIFEST names an epoch before its WAL
// has frames, and records that STAGING may hold frames before STAGING holds any.
//
// THREADS: in the exclusive section, if nothing else is said. Lock order: mutex_ is a leaf.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sync.h"
#include "db/state/store.h"
#include "db/state/tree.h"
#include "wal/wal.h"

namespace mergedb::db {

class WalEpochs {
 public:
  WalEpochs(Store& store, Tree& tree) : store_(store), tree_(tree) {}

  // The first epoch of an open. `before_log` runs after the MANIFEST names the epoch, while the files of the
  // old WAL still exist.
  Status Begin(const VersionSet::WalStart& start, std::vector<kv::FileNumber> reusable_segments,
               const std::function<void()>& before_log);
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

  wal::Wal& wal() { return *wal_; }
  bool is_usable() const { return !wal_->is_in_trouble() && !next_is_owed_; }
  const Status& failure() const { return failure_; }  // for writers, while the WAL is not usable
  VersionSet::WalStart At(const wal::Mark& mark) const;

  // ---- THREADS: any.
  std::shared_ptr<wal::Wal> Current() const;
  ManifestCommitter::WalFacts FactsOf(const VersionSet::WalStart& from) const;
  // The WAL before `start` is not needed.
  void Release(const VersionSet::WalStart& start);

 private:
  bool AllIsInTables(const wal::Mark& end) const;
  Status TryNext();
  Status CommitEpoch(const VersionSet::WalStart& start);
  Status Create(const VersionSet::WalStart& start, std::vector<kv::FileNumber> reusable_segments);
  // Null if the current WAL is of another epoch: positions of `epoch` mean nothing in it.
  std::shared_ptr<wal::Wal> Of(uint64_t epoch) const;

  Store& store_;
  Tree& tree_;

  // (exclusive section)
  uint64_t salt_ = 0;
  Status failure_;
  // A new epoch must begin before the next write. It stays set if BeginNext fails to commit the MANIFEST or
  // to create the WAL.
  bool next_is_owed_ = false;
  std::optional<std::string> marker_to_come_;

  mutable base::Mutex mutex_;
  // Both are replaced together, in the exclusive section and under mutex_; read under either.
  std::shared_ptr<wal::Wal> wal_;
  uint64_t epoch_ = 0;
};

}  // namespace mergedb::db
