// The tree that an open begins with: a new one, or the tree of the MANIFEST and the changes of the WAL.
//
//   CreateTree        no database yet: the tree is empty
//   RecoverTree       all changes of the WAL are in tables; a new epoch of the WAL can begin
//   RecoverReadOnly   all changes of the WAL are in memtables; nothing on disk has changed
//
// INVARIANT: none of them changes anything that the database needs. A recovery that fails or is interrupted
// leaves at most some tables of its own, which the next open removes as orphans.
#pragma once

#include <memory>
#include <string>

#include "db/recovery/recovery.h"
#include "db/state/tree.h"

namespace mergedb::db {

struct RecoveredTree {
  std::unique_ptr<Tree> tree;
  VersionSet::WalStart start = {};  // of the epoch that begins next; unused by a read-only open
  wal::Replayed wal = {};           // the WAL that was replayed
  std::string report = {};          // of what was dropped
};

Result<RecoveredTree> CreateTree(Store& store);
Result<RecoveredTree> RecoverTree(Store& store, const manifest::Loaded& loaded, const Inventory& inventory);
Result<RecoveredTree> RecoverReadOnly(Store& store, manifest::Loaded loaded);  // open_read_only.cc
// True for the Busy of a read-only open beside a process that writes faster than the open can follow: it may pass.
bool IsOutrun(const Status& status);
// Busy if `mergedb repair` is replacing files: REPAIR exists, and LOCK is held. REQUIRES: the open is read-only.
Status CheckNoRepairRuns(const Store& store);

// Parts of both recoveries.

// The tree of the MANIFEST. New files get numbers from `next_file` on.
Result<std::unique_ptr<Tree>> TakeTree(Store& store, const manifest::Loaded& loaded, kv::FileNumber next_file);
// Publishes and returns the newest sequence. Corruption if a table holds a newer one.
Result<kv::Sequence> PublishReplayed(Store& store, const manifest::Loaded& loaded, const Replayed& replayed);

}  // namespace mergedb::db
