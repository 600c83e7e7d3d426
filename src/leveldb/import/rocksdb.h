// Recognises RocksDB. RocksDB began as LevelDB: its CURRENT, MANIFEST-* and *.log have LevelDB's names and begin
// with the same bytes. If mergedb took a RocksDB directory for a LevelDB one, Open would fail, and a repair would
// keep the part that it understands and move the rest away. So this check runs first. Any of these is evidence:
//
//   OPTIONS-<number>                     a file that only RocksDB makes
//   IDENTITY                             that holds an id of 36 characters
//   LOG                                  the info log, which begins with RocksDB's version
//   *.sst that ends in one of RocksDB's magic numbers     (LevelDB's old tables have the name, but another number)
//   MANIFEST-* with an edit of a kind that only RocksDB makes
//
// Reads only. THREADS: any. Tests: tests/unit/leveldb/import/rocksdb_test.cc, tests/leveldb/rocksdb_test.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mergedb/env.h"

namespace mergedb::leveldb_import {

// The evidence found; nothing if there is none. `names` lists the directory.
Result<std::optional<std::string>> FindRocksDb(FileSystem* file_system, const std::string& directory,
                                               const std::vector<std::string>& names);

// NotSupported; the message holds the evidence and tells the user what to do.
Status RocksDbRefusal(const std::string& directory, const std::string& found);

}  // namespace mergedb::leveldb_import
