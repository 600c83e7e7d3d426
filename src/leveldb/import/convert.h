// Converts a LevelDB directory to mergedb, in place:
//
//   IMPORT -> LevelDB's MANIFEST -> its logs and tables, merged by sequence, into one sorted run of mergedb, synced
//     |                                          |
//     "tables here are half a conversion"        the files that LevelDB reads are not touched
//   -> MANIFEST and CURRENT of mergedb: the commit, one synced rename -> LevelDB's files go -> IMPORT goes
//
// For each key the operation with the largest sequence counts, wherever it lies; older operations and deletes
// are dropped. In level 0 of a repaired database, or of a database of the original MergeDB, file numbers do not
// tell the age. Because only sequences are compared, these need no special case.
//
// Until the rename LevelDB can still open the directory: it ignores mergedb's file names, and mergedb's file
// numbers are larger than any of its own. After the rename LevelDB refuses the directory, because CURRENT has
// no newline. The conversion needs space for a second copy.
//
// docs/decisions/0021-leveldb-files.md. THREADS: one at a time on a directory; the caller holds its LOCK.
// Tests: tests/unit/leveldb/import/convert_test.cc, tests/leveldb/convert_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kv/order.h"
#include "mergedb/env.h"
#include "mergedb/options.h"

namespace mergedb::leveldb_import {

struct Loss {
  std::string name;  // of the file
  uint64_t offset = 0;
  uint64_t bytes = 0;  // 0: not known
  std::string what;
};

struct Conversion {
  const mergedb::Options& options;  // validated; used: env, memory, format of tables
  std::string directory;
  const kv::Order& order;
  // Keep all undamaged data and report the rest as losses, instead of failing. If there is a loss, LevelDB's
  // files move to lost/.
  bool saves_what_is_whole = false;
  // If it returns an error, the conversion ends with this error. May be null.
  std::function<Status(uint64_t bytes_done, uint64_t bytes_all)> progress = {};
};

struct Converted {
  uint64_t tables = 0, logs = 0;  // the number read
  uint64_t bytes_before = 0, bytes_after = 0;
  uint64_t entries = 0;  // keys of the database
  std::string report;    // lines: dropped torn tails, and which MANIFEST was used
  std::vector<Loss> losses;
};
// If it returns an error, the directory is still LevelDB's, and mergedb's files are removed from it if the disk
// allows.
Result<Converted> Convert(const Conversion& conversion);

// Removes the files that an interrupted conversion left behind after its commit: LevelDB's files, and IMPORT.
// LevelDB's files move to lost/ instead if the conversion was a repair, or if mergedb's own repair ran after
// the commit.
// REQUIRES: the files of the converted database exist.
Status RemoveSource(FileSystem* file_system, const std::string& directory);

// Removes all of LevelDB's files except LOCK, and CURRENT last. If the call is interrupted, the directory is
// still a database, although a damaged one.
Status RemoveLevelDb(FileSystem* file_system, const std::string& directory);

}  // namespace mergedb::leveldb_import
