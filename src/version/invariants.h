// What holds in every Version. Each rule has a number, quoted in assertions, documents and tests, and a function.
//
// INVARIANT I1: where two runs show versions of the same user key, every version in the newer run (larger position) is
//               newer. A range tombstone is a version of every key in its range, as far as the slice shows. It cannot be seen in a Version alone: it holds because an VersionEdit moves a key range out of consecutive
//               runs into the oldest of them, all at once. Checked by the policy simulator and by the model tests.
// INVARIANT I2: positions strictly descend, newest run first, and no run is empty.
// INVARIANT I3: the slices of a run are in key order and disjoint.
// INVARIANT I4: a slice's bounds are clipped to its file and leave something to show.
// INVARIANT I5: a file's own limits are sane: smallest key <= largest key, smallest sequence <= largest, tombstones <= entries;
//               it holds something; only a range tombstone's end is a largest key that is not included.
// INVARIANT I6: a key of a file is shown once: its slices are disjoint over all runs; and one number is one file.
// INVARIANT I7: every value file that a table refers to is in the Version, and it is no table's number. A table refers to a
// record once, so to no more bytes of a file than its records have.
//
// The functions return Corruption, for Versions read from disk. Versions that we made ourselves go through ASSERT.
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
