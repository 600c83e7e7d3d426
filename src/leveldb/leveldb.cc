// The functions of include/mergedb/leveldb.h: they check options and take locks; src/leveldb/import/ does the rest.
#include "mergedb/leveldb.h"

#include "base/bytes.h"
#include "db/state/options_check.h"
#include "format/file_name.h"
#include "leveldb/import/convert.h"
#include "leveldb/import/directory.h"
#include "leveldb/import/export.h"
#include "repair/inspection.h"

namespace mergedb {

Result<bool> IsLevelDb(const Options& options, const std::string& path) {
  Options checked = options;
  RETURN_IF_ERROR(db::CheckOptions(&checked));
  ASSIGN_OR_RETURN(const leveldb_import::Owner owner, leveldb_import::OwnerOf(checked.env.file_system, path));
  return owner == leveldb_import::Owner::kLevelDb;
}

namespace {

// InvalidArgument or NotFound unless RepairLevelDb can repair the directory.
Status CheckIsLevelDbs(FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(const leveldb_import::Owner owner, leveldb_import::OwnerOf(files, path));
  if (owner == leveldb_import::Owner::kOverwritten) {
    return Status::InvalidArgument(path + ": CURRENT is LevelDB's, but the files are mergedb's; run `mergedb repair " +
                                   path + "`");
  }
  ASSIGN_OR_RETURN(const bool is_converted, leveldb_import::IsConverted(files, path));
  if (is_converted) {
    return Status::InvalidArgument(path +
                                   ": converted already, but LevelDB's files still exist: "
                                   "an open with mergedb removes them; if that fails, run `mergedb repair " +
                                   path + "`");
  }
  ASSIGN_OR_RETURN(const bool looks_like_leveldb, leveldb_import::LooksLikeLevelDb(files, path));
  if (owner == leveldb_import::Owner::kOther && !looks_like_leveldb)
    return Status::NotFound(path + ": no LevelDB database");
  return {};
}

// A database with named keyspaces is not exported in part by accident.
Status CheckNoKeyspaces(DB& db) {
  const auto keyspaces = db.ListKeyspaces();
  if (!keyspaces) return keyspaces.error();
  if (keyspaces->empty()) return {};
  return Status::NotSupported(
      "LevelDB has no keyspaces, but the database has \"" + base::Escape(keyspaces->front().name) + "\"" +
      (keyspaces->size() == 1 ? "" : " and " + std::to_string(keyspaces->size() - 1) + " more") +
      "; export each keyspace separately");
}

Status CheckSizes(const LevelDbExportOptions& options) {
  constexpr uint64_t kBlockBytesMax = uint64_t{4} << 20;
  constexpr int kBloomBitsMax = 64;
  if (options.table_bytes == 0) return Status::InvalidArgument("table_bytes is 0: the minimum is 1");
  if (options.block_bytes == 0 || options.block_bytes > kBlockBytesMax) {
    return Status::InvalidArgument("block_bytes is " + std::to_string(options.block_bytes) + ": between 1 and 4194304");
  }
  if (options.bloom_bits_per_key < 0 || options.bloom_bits_per_key > kBloomBitsMax) {
    return Status::InvalidArgument("bloom_bits_per_key is " + std::to_string(options.bloom_bits_per_key) +
                                   ": between 0 and 64");
  }
  return {};
}

}  // namespace

Result<LevelDbExport> ExportToLevelDb(DB& db, const Options& options, const std::string& directory,
                                      const LevelDbExportOptions& export_options) {
  Options checked = options;
  RETURN_IF_ERROR(db::CheckOptions(&checked));
  if (export_options.compression == Compression::kLz4) return Status::InvalidArgument("LevelDB does not know LZ4");
  RETURN_IF_ERROR(CheckSizes(export_options));
  const kv::Order order(checked.comparator);
  uint64_t bytes_expected = 0;
  std::string tables;
  if (db.GetProperty("mergedb.table_bytes_live", &tables)) bytes_expected = std::strtoull(tables.c_str(), nullptr, 10);
  if (!export_options.keyspace) RETURN_IF_ERROR(CheckNoKeyspaces(db));
  const auto it =
      db.NewIterator({.read = {.fill_cache = false}, .keyspace = export_options.keyspace.value_or(Keyspace())});
  return leveldb_import::Export({.file_system = checked.env.file_system,
                                 .order = order,
                                 .directory = directory,
                                 .options = export_options,
                                 .bytes_expected = bytes_expected},
                                *it);
}

Result<RepairReport> RepairLevelDb(const Options& options, const std::string& path, const Progress& progress) {
  Options checked = options;
  RETURN_IF_ERROR(db::CheckOptions(&checked));
  ASSIGN_OR_RETURN(const bool is_directory, checked.env.file_system->IsDirectory(path));
  if (!is_directory) return Status::NotFound(path + ": no such directory");
  ASSIGN_OR_RETURN(const auto bound, db::BindDirectory(&checked, path));
  FileSystem* const files = checked.env.file_system;
  RETURN_IF_ERROR(leveldb_import::RefuseRocksDb(files, path));
  RETURN_IF_ERROR(CheckIsLevelDbs(files, path));  // before Lock, which would create LOCK in a foreign directory
  ASSIGN_OR_RETURN(const auto lock, repair::LockForRepair(files, path, true));
  RETURN_IF_ERROR(CheckIsLevelDbs(files, path));
  const kv::Order order(checked.comparator);
  const auto advance = [&](uint64_t done, uint64_t all) -> Status {
    return !progress || progress(done, all) ? Status() : Status::Aborted(path + ": cancelled by the progress callback");
  };
  ASSIGN_OR_RETURN(
      const leveldb_import::Converted converted,
      leveldb_import::Convert(
          {.options = checked, .directory = path, .order = order, .saves_what_is_whole = true, .progress = advance}));
  RepairReport report;
  for (const leveldb_import::Loss& loss : converted.losses) {
    report.damages.push_back(
        {.file = loss.name, .offset = loss.offset, .bytes = loss.bytes, .what = loss.what, .loses_entries = true});
  }
  report.losses = report.damages;
  if (!converted.report.empty()) report.notes.push_back(converted.report);
  report.entries_saved = converted.entries;
  report.actions.push_back(std::to_string(converted.tables) + " tables and " + std::to_string(converted.logs) +
                           " logs of LevelDB were converted to one sorted run");
  if (!report.losses.empty())
    report.actions.push_back("LevelDB's files -> " + std::string(format::kLostDirectory) + "/");
  return report;
}

}  // namespace mergedb
