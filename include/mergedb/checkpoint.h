// A copy of an open database, taken while it is read and written: a directory that opens like any other, with everything that was
// written before the call and whole batches only.
//
//     auto made = mergedb::Checkpoint(*db, "/backup/monday");
//     if (!made) return Fail(made.error());
//
// Tables and value files are immutable, so the copy's are second names (hard links) of the database's where one file system holds both: no
// bytes are copied, and none are shared with what either database writes later. Elsewhere they are copied. Writers wait for one
// memtable to be put aside, not for the copy.
//
// The copy is made in `target`.partial and takes the name `target` in one synced rename, so `target` is whole or is not
// there. Interrupted, by a kill or a full disk, call it again: files of `target`.partial that are what they should be are kept.
// Tested by tests/db/checkpoint_test.cc, tests/crash/checkpoint_cut_test.cc. Formats: those of any database.
#pragma once

#include <cstdint>
#include <string>

#include "mergedb/care.h"
#include "mergedb/db.h"
#include "mergedb/export.h"
#include "mergedb/result.h"

namespace mergedb {

struct CheckpointOptions {
  bool may_link = true;  // false: copy every byte, so that damage to one file is not damage to both
  bool verify = true;    // read the copy back and check all of it before it takes its name
  Progress progress =
      {};  // bytes copied, linked and verified; false gives up (Aborted), to be gone on with by another call
};

struct CheckpointReport {
  uint64_t files = 0;     // tables and value files
  uint64_t linked = 0;    // of them: second names
  uint64_t copied = 0;    // of them: copied, or written from what was in memory
  uint64_t kept = 0;      // of them: there already, from a call that was interrupted
  uint64_t bytes = 0;     // of all of them
  uint64_t sequence = 0;  // writes up to this one are in the copy
};

// `target` must not be there, or be an empty directory; its parent must. A database that is open read-only can be copied too: as of
// its open. Errors: InvalidArgument (something is there), Corruption (a file is damaged: see docs/CARE.md), IOError, NoSpace,
// Aborted, ShuttingDown; `target` is then as it was, and `target`.partial holds what was done. THREADS: any; one call at a
// time for one target.
MERGEDB_EXPORT Result<CheckpointReport> Checkpoint(DB& db, const std::string& target,
                                                   const CheckpointOptions& options = {});

}  // namespace mergedb
