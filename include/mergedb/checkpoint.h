// A checkpoint: a copy of an open database, made while the database is read and written. The copy is a
// directory that opens like any other database. It contains everything that was written before the call, and
// whole batches only.
//
//     auto made = mergedb::Checkpoint(*db, "/backup/monday");
//     if (!made) return Fail(made.error());
//
// Tables and blob files are immutable. If the target is on the same file system, the checkpoint hard-links
// them: no bytes are copied, and later writes to either database do not change the other. Else the checkpoint
// copies them. Writers wait while the active memtable becomes immutable; they do not wait for the copy.
//
// The copy is made in `target`.partial, and one synced rename gives it the name `target`. So `target` is
// either complete or absent. If the call is interrupted, by a kill or a full disk, call it again: it keeps
// the files of `target`.partial that are intact.
// Tested by tests/db/checkpoint_test.cc, tests/crash/checkpoint_cut_test.cc. Formats: those of any database.
#pragma once

#include <cstdint>
#include <string>

#include "mergedb/db.h"
#include "mergedb/export.h"
#include "mergedb/repair.h"
#include "mergedb/result.h"

namespace mergedb {

struct CheckpointOptions {
  // false: copy every byte instead of hard links, so that damage to one file does not affect the other database
  bool may_link = true;
  bool verify = true;  // read the whole copy back and check it before the rename
  // Called with the bytes done (copied, linked and verified) and the total. If it returns false, the call ends with
  // Aborted; a later call continues.
  Progress progress = {};
};

struct CheckpointReport {
  uint64_t files = 0;     // tables and blob files in the copy
  uint64_t linked = 0;    // of these files: hard links
  uint64_t copied = 0;    // of these files: copied, or written from memtables
  uint64_t kept = 0;      // of these files: kept from an earlier, interrupted call
  uint64_t bytes = 0;     // total size of these files, in bytes
  uint64_t sequence = 0;  // the copy contains all writes up to this sequence number
};

// Copies `db` into the directory `target`. `target` must be absent or an empty directory; its parent
// directory must exist. `db` may be open read-only: then the copy has the state as of its open.
// Errors: InvalidArgument (`target` is not empty), Busy (another call, of any process, makes a checkpoint with this
// target now), Corruption (a file is damaged: see docs/verify-and-repair.md), IOError,
// NoSpace, Aborted, ShuttingDown. After an error `target` is unchanged and `target`.partial holds the finished part.
// THREADS: any.
MERGEDB_EXPORT Result<CheckpointReport> Checkpoint(DB& db, const std::string& target,
                                                   const CheckpointOptions& options = {});

}  // namespace mergedb
