// Writes the visible contents of a mergedb database as a LevelDB database.
//
//   EXPORT -> tables, one sorted run, synced -> MANIFEST-000001, synced -> CURRENT: the commit -> EXPORT is removed
//
// LevelDB does not open a directory without CURRENT, so a partial export never looks like a whole one. The
// marker EXPORT identifies the files of an interrupted export, so that the next attempt may remove them.
//
// The sorted run lies in the level whose size limit holds it, so LevelDB has nothing to compact. Every key has
// the sequence 1.
// THREADS: one. Tests: tests/unit/leveldb/import/export_test.cc, tests/leveldb/export_test.cc.
#pragma once

#include <string>

#include "kv/order.h"
#include "mergedb/leveldb.h"

namespace mergedb::leveldb_import {

struct Exporting {
  FileSystem* file_system = nullptr;
  const kv::Order& order;
  std::string directory;
  const LevelDbExportOptions& options;
  uint64_t bytes_expected = 0;  // for progress
};
// `it` shows the entries to export.
Result<LevelDbExport> Export(const Exporting& exporting, Iterator& it);

}  // namespace mergedb::leveldb_import
