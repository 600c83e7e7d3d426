// A directory that LevelDB wrote: is it one, what does its MANIFEST say, which files count? Reads only.
//
//   CURRENT "MANIFEST-000005\n"  ─►  edits  ─►  tables of each level   and   logs from the log number on
//
// Whose a directory is, CURRENT says: LevelDB ends it with a newline, mergedb does not. A LevelDB CURRENT beside files that only mergedb
// makes, without the marker IMPORT, is neither's: LevelDB's own repair has been run on a database of mergedb.
//
// docs/formats/leveldb.md; docs/decisions/0021-leveldb-files.md. THREADS: any. Tests: tests/legacy/convert_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/leveldb_edit.h"
#include "kv/order.h"
#include "mergedb/env.h"

namespace mergedb::legacy {

// Up to `bytes` bytes at the file's end or begin. Empty if the path is gone or names no regular file.
Result<std::string> ReadPiece(FileSystem* file_system, const std::string& path, size_t bytes, bool at_the_end);

enum class Owner : uint8_t {
  kOther,  // not LevelDB: nobody's, or mergedb's
  kLevelDb,
  kOverwritten,  // mergedb's, but LevelDB wrote a CURRENT of its own over it
  kRocksDb,      // whose files have LevelDB's names: src/legacy/rocksdb.h
};
// *found says what gives RocksDB away; it may be null.
Result<Owner> OwnerOf(FileSystem* file_system, const std::string& directory, std::string* found = nullptr);
// NotSupported if it is RocksDB's; OK if it is another's, or nobody's.
Status RefuseRocksDb(FileSystem* file_system, const std::string& directory);
// Is a file with a name of LevelDB's a table, or a segment of the log, of mergedb's? A program's own Env leaves such
// (docs/decisions/0020-leveldb-face.md). Of any database, unless one is named. What is no regular file is neither.
Result<bool> HoldsOurTable(FileSystem* file_system, const std::string& path);
Result<bool> HoldsOurSegment(FileSystem* file_system, const std::string& path,
                             std::optional<uint64_t> database_id = {});
// For repair: LevelDB's tables, logs or MANIFEST are there, CURRENT is not mergedb's, and mergedb has no other files
// there than an unfinished conversion leaves.
Result<bool> LooksLikeLevelDb(FileSystem* file_system, const std::string& directory);
// The marker IMPORT is there, and CURRENT or the files say that the conversion was committed, or about to be: all of
// the database is in mergedb's files.
Result<bool> IsConverted(FileSystem* file_system, const std::string& directory);

struct SourceTable {
  std::string name;            // "000005.ldb"
  format::leveldb::File file;  // bytes and bounds; without a MANIFEST only number and bytes
  uint32_t level = 0;
  bool has_bounds = true;
};
struct SourceLog {
  std::string name;
  kv::FileNumber number{};
  uint64_t bytes = 0;
};

struct Source {
  std::vector<SourceTable> tables;   // by level, in each the largest number first
  std::vector<SourceTable> unnamed;  // if is_cut_short: those that the MANIFEST does not name; without bounds
  std::vector<SourceLog> logs;       // oldest first
  std::vector<std::string> missing;  // tables that the MANIFEST names and nobody has
  kv::Sequence last_sequence = 0;    // as the MANIFEST says
  bool is_cut_short = false;         // the MANIFEST: its last edit was never finished, or its length is damaged
  uint64_t bytes = 0;                // of all of these
  uint64_t largest_number = 0;       // of any file in the directory, and of the MANIFEST's next one: ours are larger
};
// What the MANIFEST says. Corruption; InvalidArgument: made with another comparator.
Result<Source> ReadSource(FileSystem* file_system, const std::string& directory, const kv::Order& order);
// For repair, when CURRENT or what it names cannot be believed: the newest MANIFEST all of whose tables are there; without one, all tables
// and logs of the directory. *what says which.
Result<Source> GuessSource(FileSystem* file_system, const std::string& directory, const kv::Order& order,
                           std::string* what);

// The name by which LevelDB knows an order.
std::string LevelDbNameOf(const kv::Order& order);

}  // namespace mergedb::legacy
