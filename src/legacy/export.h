// What a database of mergedb shows, written as a database of LevelDB.
//
//   EXPORT -> tables, one sorted run of them, synced -> MANIFEST-000001, synced -> CURRENT: the commit -> EXPORT goes
//
// Without CURRENT a directory is no database to LevelDB, so that half an export never looks like a whole one. EXPORT says whose the files
// are, so that the next try may remove them.
//
// The run lies in the level that holds it, so that LevelDB finds nothing to compact. Every key has the sequence 1.
// THREADS: one. Tests: tests/legacy/export_test.cc.
#pragma once

#include <string>

#include "kv/order.h"
#include "mergedb/leveldb.h"

namespace mergedb::legacy {

struct Exporting {
  FileSystem* file_system = nullptr;
  const kv::Order& order;
  std::string directory;
  const LevelDbExportOptions& options;
  uint64_t bytes_expected = 0;  // for progress
};
// `it` is over what is to be exported.
Result<LevelDbExport> Export(const Exporting& exporting, Iterator& it);

}  // namespace mergedb::legacy
