// A LevelDB directory becomes one of mergedb, in place. Reads from top to bottom:
//
//   IMPORT -> what LevelDB's MANIFEST says -> its logs and tables, merged by sequence, into one run of ours, synced
//     |                                          |
//     "tables here are half a conversion"        what LevelDB reads is not touched
//   -> MANIFEST and CURRENT of ours: the commit, one synced rename -> LevelDB's files go -> IMPORT goes
//
// Of each key the operation with the largest sequence counts, wherever it lies; what it hides, and deletes, are left out. So level 0 of a
// repaired database, or of the original MergeDB's, where numbers are not age, needs no special case.
//
// Until the rename LevelDB opens the directory as if nothing had happened: names of ours are foreign to it, and numbers of ours are larger
// than any of its own. Afterwards it refuses the directory: CURRENT has no newline. The price is space for a second copy meanwhile.
//
// docs/decisions/0021-leveldb-files.md. THREADS: one at a time on a directory, whose LOCK the caller holds.
// Tests: tests/legacy/convert_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kv/order.h"
#include "mergedb/env.h"
#include "mergedb/options.h"

namespace mergedb::legacy {

struct Loss {
  std::string name;  // of the file
  uint64_t offset = 0;
  uint64_t bytes = 0;  // 0: not known
  std::string what;
};

struct Conversion {
  const mergedb::Options& options;  // checked: the tables' shape, env, memory
  std::string directory;
  const kv::Order& order;
  // Take what is whole and say what is not, instead of failing; LevelDB's files then go to lost/ if anything is not.
  bool saves_what_is_whole = false;
  std::function<Status(uint64_t bytes_done, uint64_t bytes_all)> progress =
      {};  // its error ends the conversion; may be null
};

struct Converted {
  uint64_t tables = 0, logs = 0;  // that were read
  uint64_t bytes_before = 0, bytes_after = 0;
  uint64_t entries = 0;  // keys of the database
  std::string report;    // torn tails that were dropped, which MANIFEST was believed; lines
  std::vector<Loss> losses;
};
// An error leaves the directory LevelDB's, and none of our files in it unless the disk refuses even that.
Result<Converted> Convert(const Conversion& conversion);

// Remove what a committed conversion left behind when it was interrupted: LevelDB's files, and IMPORT. LevelDB's files
// go to lost/ if the conversion was a repair, or if mergedb's own repair has been run since.
// REQUIRES: the files of the converted database are there.
Status RemoveSource(FileSystem* file_system, const std::string& directory);

// Remove all of LevelDB's files but LOCK, and then CURRENT: what is left of an interrupted call is still a database, if a damaged one.
Status RemoveLevelDb(FileSystem* file_system, const std::string& directory);

}  // namespace mergedb::legacy
