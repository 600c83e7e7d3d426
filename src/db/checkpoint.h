// A SuperVersion -> a directory that opens as a database. The SuperVersion pins every table, so nothing that is read here goes away; the copy
// never looks at the log, since what is not in tables yet is in sealed memtables, which become tables of the copy.
//
//   files of the Version    second names, or copies        000012.tbl -> target.partial/000012.tbl
//   sealed memtables        flushed, one table each        M3         -> target.partial/000040.tbl
//   MANIFEST, CURRENT       written anew: a database of its own identity, closed cleanly, with an empty log
//
// INVARIANT: a table or value file that has its name in target.partial is durable, but for the name. A sync that failed is never repeated
// on the same file: what is linked was made durable by the database before (VersionSet::SyncFiles), what is copied takes its name after its sync.
//
// WHY a directory of another name until the end: without CURRENT a directory of tables would pass for a new database, and an
// open that may create would begin an empty one among them. Tested by tests/db/checkpoint_test.cc, tests/crash/checkpoint_cut_test.cc.
#pragma once

#include <functional>

#include "db/store.h"
#include "mergedb/checkpoint.h"
#include "read/super_version.h"

namespace mergedb::db {

// REQUIRES: nobody writes to the SuperVersion's active memtable, and every batch that is in the SuperVersion is in it whole.
struct CheckpointSource {
  std::shared_ptr<Store> store;
  read::SuperVersionPtr super_version;
  const kv::KeyMap* key_map =
      nullptr;  // as of the SuperVersion: a marker that was chosen since may begin keys that were there then
  kv::Sequence sequence = 0;  // the newest in the SuperVersion
  // Makes the SuperVersion's files durable, which the MANIFEST, since it lags, may not name yet. Null: it names all of them.
  std::function<Status()> sync_files = {};
};
Result<CheckpointReport> MakeCheckpoint(const CheckpointSource& source, const std::string& target,
                                        const CheckpointOptions& options);

}  // namespace mergedb::db
