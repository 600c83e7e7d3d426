// A directory that LevelDB wrote: recognise it, read its MANIFEST, and list the files that belong to the
// database. Reads only.
//
//   CURRENT "MANIFEST-000005\n"  ─►  edits  ─►  tables of each level   and   logs from the log number on
//
// CURRENT identifies the owner: LevelDB ends it with a newline, mergedb does not. If a LevelDB CURRENT stands beside
// files that only mergedb makes and the marker IMPORT is missing, LevelDB's own repair was run on a mergedb database.
//
// docs/formats/leveldb.md; docs/decisions/0021-leveldb-files.md. THREADS: any.
// Tests: tests/unit/leveldb/import/directory_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kv/order.h"
#include "leveldb/format/edit.h"
#include "mergedb/env.h"

namespace mergedb::leveldb_import {

// Up to `bytes` bytes from the end or the beginning of the file. Empty if the path does not exist or is not a
// regular file.
Result<std::string> ReadPiece(FileSystem* file_system, const std::string& path, size_t bytes, bool at_the_end);

enum class Owner : uint8_t {
  kOther,  // no database of LevelDB: a database of mergedb, or no CURRENT
  kLevelDb,
  kOverwritten,  // a mergedb database over which LevelDB wrote its own CURRENT
  kRocksDb,      // its files have LevelDB's names: src/leveldb/import/rocksdb.h
};
// If the owner is RocksDB, *found names the evidence. `found` may be null.
Result<Owner> OwnerOf(FileSystem* file_system, const std::string& directory, std::string* found = nullptr);
// NotSupported if the directory holds a RocksDB database; otherwise OK.
Status RefuseRocksDb(FileSystem* file_system, const std::string& directory);
// True if a file with a LevelDB name is a table, or a WAL segment, of mergedb. Such files result from a
// program's own Env (docs/decisions/0020-leveldb-interface.md). With a `database_id` the segment must belong to that
// database. A path that is not a regular file is neither.
Result<bool> HoldsOurTable(FileSystem* file_system, const std::string& path);
Result<bool> HoldsOurSegment(FileSystem* file_system, const std::string& path,
                             std::optional<uint64_t> database_id = {});
// For repair: tables, logs or a MANIFEST of LevelDB exist, CURRENT is not mergedb's, and mergedb has no files
// there except those of an unfinished conversion.
Result<bool> LooksLikeLevelDb(FileSystem* file_system, const std::string& directory);
// True if the marker IMPORT exists and CURRENT or the files show that the conversion was committed, or was
// about to be: mergedb's files hold the whole database.
Result<bool> IsConverted(FileSystem* file_system, const std::string& directory);

struct SourceTable {
  std::string name;           // "000005.ldb"
  leveldb_format::File file;  // size and bounds; without a MANIFEST only number and size
  uint32_t level = 0;
  bool has_bounds = true;
};
struct SourceLog {
  std::string name;
  kv::FileNumber number{};
  uint64_t bytes = 0;
};

struct Source {
  std::vector<SourceTable> tables;   // by level; within a level the largest number first
  std::vector<SourceTable> unnamed;  // if is_cut_short: tables that the MANIFEST does not name; without bounds
  std::vector<SourceLog> logs;       // oldest first
  std::vector<std::string> missing;  // tables that the MANIFEST names but the directory lacks
  kv::Sequence last_sequence = 0;    // according to the MANIFEST
  bool is_cut_short = false;         // the last edit of the MANIFEST is incomplete, or its length is damaged
  uint64_t bytes = 0;                // of all tables and logs above
  // The largest file number in the directory, or the next number of the MANIFEST. New files get larger numbers.
  uint64_t largest_number = 0;
};
// Reads the state that CURRENT and its MANIFEST describe. Corruption; InvalidArgument: the database has another
// comparator.
Result<Source> ReadSource(FileSystem* file_system, const std::string& directory, const kv::Order& order);
// For repair, if CURRENT or its MANIFEST is not usable: the newest MANIFEST whose tables all exist, or, if no
// MANIFEST is usable, all tables and logs of the directory. *what tells the user which of the two.
Result<Source> GuessSource(FileSystem* file_system, const std::string& directory, const kv::Order& order,
                           std::string* what);

// The comparator name under which LevelDB stores this order.
std::string LevelDbNameOf(const kv::Order& order);

}  // namespace mergedb::leveldb_import
