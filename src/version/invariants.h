// The invariants of each Version. Each has a number, which documents and tests quote, and a function.
//
// INVARIANT I1: if two runs show versions of the same user key, each version in the newer run (larger position)
// is newer. A range tombstone is a version of each key in its range that its virtual table shows. A Version alone
// cannot show that I1 holds. It holds because a VersionEdit moves a key range out of consecutive runs into the
// oldest of them in one step. tests/unit/picker/simulate_test.cc and tests/model check it.
// INVARIANT I2: positions strictly descend, newest run first. No run is empty.
// INVARIANT I3: the virtual tables of a run are in key order and disjoint.
// INVARIANT I4: the bounds of a virtual table are clipped to its file and leave some keys to show.
// INVARIANT I5: a file's smallest key <= its largest key; its smallest sequence <= its largest; its tombstones <=
// its entries. A file is not empty. Only the end of a range tombstone is a largest key that is not included.
// INVARIANT I6: the virtual tables of one file are disjoint over all runs, so each of its keys is shown once.
// Files with the same number have the same description.
// INVARIANT I7: each blob file that a table refers to is in the Version, and no table has its number. A table
// refers to a record at most once, so it refers to no more bytes of a blob file than that file's records have.
//
// The functions return Corruption. The loader calls CheckInvariants after it has read a MANIFEST.
#pragma once

#include "kv/order.h"
#include "mergedb/status.h"
#include "version/version.h"

namespace mergedb::version {

Status CheckPositionsDescend(const Version& version);                        // I2
Status CheckVirtualTablesDisjoint(const kv::Order& order, const Run& run);   // I3
Status CheckVirtualTablesClipped(const kv::Order& order, const Run& run);    // I4
Status CheckFile(const kv::Order& order, const format::FileMeta& file);      // I5
Status CheckFilesShownOnce(const kv::Order& order, const Version& version);  // I6

Status CheckBlobFilesThere(const Version& version);  // I7

Status CheckInvariants(const kv::Order& order, const Version& version);  // all of them

}  // namespace mergedb::version
