// RocksDB began as LevelDB: its CURRENT, MANIFEST-* and *.log have LevelDB's names and begin with LevelDB's bytes. Taken for LevelDB's, a
// directory of RocksDB's would fail to open, and a salvage would keep what it understood and move the rest away. So it is recognised first,
// by any of:
//
//   OPTIONS-<number>                     a file that only RocksDB makes
//   IDENTITY                             that holds an id of 36 characters
//   LOG                                  the text for people, that begins with RocksDB's version
//   *.sst that ends in one of RocksDB's magic numbers     (LevelDB's old tables have the name, but another number)
//   MANIFEST-* with an edit of a kind that only RocksDB makes
//
// Reads only. THREADS: any. Tests: tests/legacy/rocksdb_test.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mergedb/env.h"

namespace mergedb::legacy {

// What gives it away; none: nothing does. `names` are the directory's.
Result<std::optional<std::string>> FindRocksDb(FileSystem* file_system, const std::string& directory,
                                               const std::vector<std::string>& names);

// NotSupported, with what was found and what to do.
Status RocksDbRefusal(const std::string& directory, const std::string& found);

}  // namespace mergedb::legacy
