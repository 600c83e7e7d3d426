// Orphans: files that the MANIFEST does not name at the end of an open. After a crash no commit has named
// them yet, and the open removes them.
//
//   MANIFEST  [..][edit][edit]         all of it was read: an orphan is of no use
//   MANIFEST  [..][edit]xxxxxx         a part was dropped: a torn edit, or one that named these files. They go to lost/
//
// The commit of the new epoch replaces the damaged MANIFEST by a complete one, after which the next open
// would take the files for orphans. Therefore the marker file KEEP is durable before that commit, and stays
// until all files are durable in lost/. An open that finds KEEP moves the files as the first open did.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "db/recovery/recovery.h"
#include "db/state/lost_directory.h"
#include "db/state/store.h"
#include "db/state/tree.h"

namespace mergedb::db {

// Removes the files that a crash or a failed open left. The WAL reuses or removes segments of this database,
// and leaves other segments alone. If the WAL lost its tail, tables and blob files stay until the next open:
// they may hold flushed changes of the lost tail. (WHY not lost/: a torn tail is common after a power cut,
// and only people empty lost/.)
void RemoveOrphans(const Store& store, const Tree& tree, const Inventory& inventory, bool wal_was_torn);

// The files of a damaged database, which an open moves to lost/.
class KeptOrphans {
 public:
  // Makes KEEP durable. `with_wal`: the files of the WAL are moved too. The arguments outlive the object.
  static Result<KeptOrphans> Prepare(const Store& store, const Tree& tree, const Inventory& inventory, bool with_wal);
  // REQUIRES: the commit of the new epoch; until then the files may still be needed. WHY a failed move is no
  // failure of the open: the file stays where it is, and so does KEEP.
  void Move();
  std::string report() const;  // of Move

 private:
  KeptOrphans(const Store& store, const Tree& tree, const Inventory& inventory, LostDirectory lost, bool with_wal)
      : store_(store), tree_(tree), inventory_(inventory), lost_(std::move(lost)), with_wal_(with_wal) {}

  const Store& store_;
  const Tree& tree_;
  const Inventory& inventory_;
  LostDirectory lost_;
  const bool with_wal_;
  uint64_t moved_ = 0;
  Status status_;
};

}  // namespace mergedb::db
