// LevelDB's files, out and back, and what to do where they are damaged.
//
// The way in needs no call: DB::Open of a LevelDB directory (or one of the original MergeDB's) converts it in place. Until its last step
// LevelDB can still open the directory; it needs as much free space as the database has. A read-only open is NotSupported.
//
//     auto db = mergedb::DB::Open(options, "/srv/data");                            // was LevelDB's, is mergedb's
//     auto exported = mergedb::ExportToLevelDb(**db, options, "/srv/data-leveldb");  // and back
//
// docs/api/moving-from-leveldb.md shows each way in and out. THREADS: any; one call at a time on a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/care.h"
#include "mergedb/db.h"
#include "mergedb/export.h"
#include "mergedb/keyspace.h"
#include "mergedb/options.h"
#include "mergedb/result.h"

namespace mergedb {

struct LevelDbExportOptions {
  // Which one. None: the default one, and NotSupported if there are others, since LevelDB has no room for them: export each by itself.
  std::optional<Keyspace> keyspace = {};
  Compression compression =
      Compression::kSnappy;     // or kNone; kZstd only for a LevelDB newer than 1.23. kLz4: InvalidArgument
  int bloom_bits_per_key = 10;  // 0: no filters
  uint64_t table_bytes = uint64_t{2} << 20;  // of a table, about
  uint64_t block_bytes = 4096;               // of a block, before compression, about
  Progress progress = {};                    // called with bytes written so far, and what they will be, about
  // Called with each key whose value cannot be read (Iterator::failed_key): it is left out. Null: the first such key ends the export.
  std::function<void(std::string_view key, const Status& status)> on_failed_key = {};
};

struct LevelDbExport {
  uint64_t entries = 0;
  uint64_t tables = 0;
  uint64_t bytes = 0;  // of the tables
};

// Write what `db` shows now into `directory`, as a database that LevelDB and its kin open: merges folded, deletes and range deletes
// applied. Writes go on meanwhile and are not in it. `options` are those that `db` was opened with; comparator and env matter.
// `directory` is made if it is not there; InvalidArgument if it holds anything but an unfinished export, which is begun anew. It becomes a
// database in one step, at the end: an export that failed or was interrupted is none to LevelDB. IOError, NoSpace, and errors of
// reading `db`, a key's MergeFailed among them unless on_failed_key takes it; Aborted by progress.
// NotSupported for a database with named keyspaces, unless the options say which one.
MERGEDB_EXPORT Result<LevelDbExport> ExportToLevelDb(DB& db, const Options& options, const std::string& directory,
                                                     const LevelDbExportOptions& export_options = {});

// Does LevelDB own this directory? True if its CURRENT is LevelDB's and nothing of mergedb or of RocksDB is beside it.
// DB::Open, DB::Destroy, Verify, Repair and RepairLevelDb refuse a database of RocksDB with NotSupported and leave it as it is.
MERGEDB_EXPORT Result<bool> IsLevelDb(const Options& options, const std::string& path);

// Make a database of mergedb out of all that is whole in a LevelDB directory that does not open: tables that its MANIFEST names,
// block by block, and logs, record by record; without a MANIFEST, all tables that are there, so that what was deleted or overwritten may show
// again. Of each key the largest sequence wins. If anything is lost LevelDB's files go to `path`/lost; nothing is deleted then. What is
// lost stands in the report, by file and offset. Options and errors as DB::Open's; Busy: somebody has it open;
// InvalidArgument: the database is converted already.
MERGEDB_EXPORT Result<RepairReport> RepairLevelDb(const Options& options, const std::string& path,
                                                  const Progress& progress = {});

}  // namespace mergedb
