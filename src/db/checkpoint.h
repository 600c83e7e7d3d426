// Turns a SuperVersion into a directory that opens as a database. The SuperVersion pins every table, so no
// file disappears during the copy. The WAL is not needed: changes that are not in tables are in immutable
// memtables, which become tables.
//
//   files of the version    hard links, or copies         000012.tbl -> target.partial/000012.tbl
//   immutable memtables     flushed, one table each       M3         -> target.partial/000040.tbl
//   MANIFEST, CURRENT       written anew: a database with its own identity, closed cleanly, with an empty WAL
//   LOCK                    held from the first change of target.partial to the end: one call at a time
//
// INVARIANT: a table or blob file that has its final name in target.partial is durable, except for its
// directory entry. A sync that failed is never repeated on the same file: the database makes a file durable
// before it is linked (ManifestCommitter::SyncFiles), and a copied file gets its name after its sync.
//
// WHY another directory name until the end: a directory that holds tables but no CURRENT could pass for a new
// database, and an open that may create a database would begin an empty one there.
// Tests: tests/db/checkpoint_test.cc, tests/crash/checkpoint_cut_test.cc.
#pragma once

#include <memory>
#include <string>

#include "db/state/manifest_committer.h"
#include "db/state/store.h"
#include "mergedb/checkpoint.h"
#include "read/super_version.h"

namespace mergedb::db {

// REQUIRES: no thread writes to the active memtable of the SuperVersion, and the SuperVersion holds every
// batch as a whole or not at all.
struct CheckpointSource {
  std::shared_ptr<Store> store;
  read::SuperVersionPtr super_version;
  // As of the SuperVersion: older keys may begin with a marker that was chosen later.
  const kv::KeyMap* key_map = nullptr;
  kv::Sequence sequence = 0;  // the newest sequence in the SuperVersion
  // Makes the files of the SuperVersion durable, because the lagging MANIFEST may not name all of them yet.
  // Null: the MANIFEST names all of them.
  ManifestCommitter* committer = nullptr;
};
Result<CheckpointReport> MakeCheckpoint(const CheckpointSource& source, const std::string& target,
                                        const CheckpointOptions& options);

}  // namespace mergedb::db
