// Import, export and repair of LevelDB directories.
//
// Import needs no call: DB::Open of a LevelDB directory (or of a directory of the original MergeDB) converts
// it in place. Until its last step LevelDB can still open the directory. The conversion needs as much free
// space as the database occupies. A read-only open of a LevelDB directory returns NotSupported.
//
//     auto db = mergedb::DB::Open(options, "/srv/data");                            // LevelDB -> mergedb, in place
//     auto exported = mergedb::ExportToLevelDb(**db, options, "/srv/data-leveldb");  // mergedb -> LevelDB
//
// docs/api/moving-from-leveldb.md shows every way of import and export.
// THREADS: any thread; one call at a time on a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/db.h"
#include "mergedb/export.h"
#include "mergedb/keyspace.h"
#include "mergedb/options.h"
#include "mergedb/repair.h"
#include "mergedb/result.h"

namespace mergedb {

struct LevelDbExportOptions {
  // The keyspace to export. Without a value: the default keyspace; if the database has named keyspaces, the
  // export returns NotSupported, since LevelDB has no keyspaces. Export each keyspace into a directory of its own.
  std::optional<Keyspace> keyspace = {};
  // kSnappy or kNone; kZstd only for a LevelDB newer than 1.23. kLz4 returns InvalidArgument.
  Compression compression = Compression::kSnappy;
  int bloom_bits_per_key = 10;               // bits per key of the bloom filters, 0 to 64; 0: no filters
  uint64_t table_bytes = uint64_t{2} << 20;  // approximate size of a table, in bytes; at least 1
  uint64_t block_bytes = 4096;               // approximate size of a block before compression, in bytes; 1 to 4 MiB
  Progress progress = {};                    // Called with the bytes written so far and the estimated total.
  // Called with each key whose value cannot be read (Iterator::failed_key). The export omits that key. Null:
  // the first such key ends the export with its error.
  std::function<void(std::string_view key, const Status& status)> on_failed_key = {};
};

struct LevelDbExport {
  uint64_t entries = 0;
  uint64_t tables = 0;
  uint64_t bytes = 0;  // total size of the tables, in bytes
};

// Writes the present state of `db` into `directory`, as a database that LevelDB and its derivatives can open.
// Merge operands are folded; deletes and range deletes are applied. Writes may continue during the export and
// are not part of it. `options` are those with which `db` was opened; only comparator and env are used.
// If `directory` does not exist, the call creates it. If it holds an unfinished export, the export starts
// again. If it holds anything else, the call returns InvalidArgument. The directory becomes a database in one
// step, at the end: LevelDB does not take a failed or interrupted export for a database.
// Errors: IOError, NoSpace, errors of reading `db` (for a key without a readable value, MergeFailed for
// example, only if on_failed_key is null), Aborted (`progress` returned false), NotSupported (the database
// has named keyspaces and the options name none).
MERGEDB_EXPORT Result<LevelDbExport> ExportToLevelDb(DB& db, const Options& options, const std::string& directory,
                                                     const LevelDbExportOptions& export_options = {});

// True if the directory belongs to LevelDB: its CURRENT is LevelDB's, and no file of mergedb or RocksDB is
// beside it. DB::Open, DB::Destroy, Verify, Repair and RepairLevelDb refuse a RocksDB database with
// NotSupported and leave it unchanged.
MERGEDB_EXPORT Result<bool> IsLevelDb(const Options& options, const std::string& path);

// Makes a mergedb database from the intact data of a LevelDB directory that does not open. The repair reads
// the tables that the MANIFEST names, block by block, and the logs, record by record. Without a MANIFEST it
// reads all tables in the directory; then deleted or overwritten entries may show again. Of each key the
// entry with the largest sequence wins.
// If anything is lost, LevelDB's files are moved to `path`/lost and nothing is deleted. The report lists
// every loss with file and offset. `options` and errors are those of DB::Open. Busy: a process has the
// database open. InvalidArgument: the database is already converted.
MERGEDB_EXPORT Result<RepairReport> RepairLevelDb(const Options& options, const std::string& path,
                                                  const Progress& progress = {});

}  // namespace mergedb
