#include "db/recovery/import.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "env/file_reads.h"
#include "env/hold.h"
#include "format/file_name.h"
#include "format/lmdb.h"
#include "leveldb/format/name.h"
#include "leveldb/import/convert.h"
#include "leveldb/import/directory.h"
#include "leveldb/import/rocksdb.h"

namespace mergedb::db {

using leveldb_import::Owner;

// The file is a LevelDB table, or a LevelDB WAL that is not empty. LevelDB creates CURRENT before either.
Result<std::string> DescribeForeignFile(FileSystem* file_system, const std::string& directory,
                                        const std::string& name) {
  using leveldb_format::NameKind;
  const auto parsed = leveldb_format::ParseName(name);
  if (!parsed) return std::string();
  bool has_entries = parsed->kind == NameKind::kTable || parsed->kind == NameKind::kOldTable;
  if (parsed->kind == NameKind::kLog) {
    ASSIGN_OR_RETURN(const uint64_t bytes, file_system->SizeOf(format::JoinPath(directory, name)));
    has_entries = bytes > 0;
  }
  if (!has_entries) return std::string();
  return "LevelDB's " + name + " exists; run `mergedb convert --salvage " + directory +
         "` to convert all intact entries";
}

Result<bool> ImportDirectory(const Store& store, std::string* report) {
  FileSystem* const files = store.options.env.file_system;
  std::string found;
  ASSIGN_OR_RETURN(const Owner owner, leveldb_import::OwnerOf(files, store.directory, &found));
  if (owner == Owner::kOther) {
    ASSIGN_OR_RETURN(const bool is_leveldbs, leveldb_import::LooksLikeLevelDb(files, store.directory));
    const std::string current = format::JoinPath(store.directory, format::PrintFileName(format::FileKind::kCurrent));
    // If CURRENT is missing, Load's error explains it.
    if (!is_leveldbs || files->SizeOf(current).status().IsNotFound()) return false;
    return Status::Corruption(current + ": damaged, and the files are LevelDB's; run `mergedb convert --salvage " +
                              store.directory + "` to convert all intact entries");
  }
  if (owner == Owner::kRocksDb) return leveldb_import::RocksDbRefusal(store.directory, found);
  if (owner == Owner::kOverwritten) {
    return Status::Corruption(
        store.directory +
        ": CURRENT is LevelDB's, but the files are mergedb's: LevelDB's repair overwrote it; run `mergedb repair " +
        store.directory + "`");
  }
  if (store.options.mode == OpenMode::kMustNotExist)
    return Status::InvalidArgument(store.directory + ": a database exists already");
  if (store.options.mode == OpenMode::kReadOnly) {
    return Status::NotSupported(store.directory + ": a LevelDB database; `mergedb convert " + store.directory +
                                "` or an open for writing converts it in place, and `mergedb export-leveldb` converts "
                                "it back");
  }
  const auto converted =
      leveldb_import::Convert({.options = store.options, .directory = store.directory, .order = store.order});
  if (!converted && converted.error().IsCorruption() && !converted.error().outcome_unknown()) {
    return Status::Corruption(std::string(converted.error().message()) +
                              "; LevelDB's files are unchanged; run `mergedb convert --salvage " + store.directory +
                              "` to convert all intact entries");
  }
  if (!converted) return converted.error();
  *report = converted->report;
  return true;
}

Status RemoveImportedSource(FileSystem* file_system, const std::string& directory) {
  return leveldb_import::RemoveSource(file_system, directory);
}

Status ImportedIsDamaged(const Status& status, const std::string& directory) {
  return Status::Corruption(
      std::string(status.message()) +
      "; the database was converted from LevelDB, and LevelDB's files still exist: run `mergedb repair " + directory +
      "`; the next open then moves them to " + directory + "/" + std::string(format::kLostDirectory));
}

namespace {

// An archive at `file`, in a directory without CURRENT. WHY no database beside it: mdb_env_open would take the archive
// for one that is unpacked, or refuse the directory.
Status IsNotUnpacked(FileSystem* file_system, const std::string& file, const std::string& path, bool is_locked,
                     const std::string& flag = "") {
  if (!is_locked && env::IsHeld(*file_system, format::FilePath(format::ParentOf(file), format::FileKind::kLock)))
    return Status::Busy(file + ": another process unpacks this copy by mdb_env_copyfd; open the database afterwards");
  return Status::NotSupported(file + ": a copy by mdb_env_copyfd that is not unpacked yet; nothing was changed. Open " +
                              path + " with the LMDB interface" + flag + ", which unpacks it, or move the file away");
}

Status IsLmdb(const std::string& path, const std::string& flag) {
  return Status::NotSupported(path +
                              ": an LMDB environment, which mergedb does not open; nothing was changed. Copy its "
                              "entries into a new database: `mdb_dump " +
                              flag + "-a " + path + " | mergedb load DIR`");
}

}  // namespace

Status CheckIsNotLmdb(FileSystem* file_system, const std::string& path, bool is_locked) {
  const auto head_of = [&](const std::string& file) {
    auto head = env::ReadBeginning(file_system, file, format::kLmdbArchiveHeadBytes);
    return head ? *std::move(head) : std::string();
  };
  const std::string data = format::JoinPath(path, format::kLmdbDataName);
  const std::string unpacking = format::JoinPath(path, format::kLmdbUnpackingName);
  const bool has_data = file_system->SizeOf(data).has_value();
  const bool has_unpacking = file_system->SizeOf(unpacking).has_value();
  // WHY after these looks: mdb_env_open removes an archive when CURRENT exists. A database of mergedb beside LMDB's
  // data stays accessible.
  if (file_system->SizeOf(format::FilePath(path, format::FileKind::kCurrent))) return {};
  if (!has_data && !has_unpacking) {
    const std::string moved = format::JoinPath(format::LmdbUnpackingDirectory(path), format::kLmdbDataName);
    if (format::IsLmdbArchive(head_of(moved)))
      return IsNotUnpacked(file_system, moved, path, false, " and MDB_NOSUBDIR");
    return format::IsLmdbData(head_of(path)) ? IsLmdb(path, "-n ") : Status();
  }
  const std::string head = head_of(data);
  // WHY after the look at `data`: another process that unpacks an archive renames it from there first.
  if (has_unpacking || file_system->SizeOf(unpacking).has_value())
    return IsNotUnpacked(file_system, unpacking, path, is_locked);
  if (format::IsLmdbArchive(head)) return IsNotUnpacked(file_system, data, path, is_locked);
  return format::IsLmdbData(head) ? IsLmdb(path, "") : Status();
}

Status CheckIsSupported(FileSystem* file_system, const std::string& directory) {
  return leveldb_import::RefuseRocksDb(file_system, directory);
}

// A LevelDB CURRENT looks like a damaged one of mergedb.
Status CheckIsNotForeign(FileSystem* file_system, const std::string& directory) {
  std::string found;
  const auto owner = leveldb_import::OwnerOf(file_system, directory, &found);
  if (owner && *owner == Owner::kRocksDb) return leveldb_import::RocksDbRefusal(directory, found);
  if (owner && *owner == Owner::kLevelDb)
    return Status::InvalidArgument(directory + ": a LevelDB database; run `mergedb convert` to convert it");
  if (!owner || *owner == Owner::kOther) {
    ASSIGN_OR_RETURN(const bool is_leveldbs, leveldb_import::LooksLikeLevelDb(file_system, directory));
    if (is_leveldbs) {
      return Status::InvalidArgument(directory +
                                     ": CURRENT is damaged or missing, and the files are LevelDB's; run "
                                     "`mergedb convert --salvage " +
                                     directory + "` to convert all intact entries");
    }
  }
  return {};
}

Result<bool> RemoveForeign(FileSystem* file_system, const std::string& directory) {
  std::string found;
  ASSIGN_OR_RETURN(const Owner owner, leveldb_import::OwnerOf(file_system, directory, &found));
  if (owner == Owner::kRocksDb) return leveldb_import::RocksDbRefusal(directory, found);
  if (owner != Owner::kLevelDb) return false;
  RETURN_IF_ERROR(leveldb_import::RemoveLevelDb(file_system, directory));
  return true;
}

namespace {

// 12 for "000012.ldb", of each name with this ending.
std::vector<kv::FileNumber> NumbersBefore(const std::vector<std::string>& names, std::string_view ending) {
  std::vector<kv::FileNumber> numbers;
  for (const std::string& name : names) {
    if (!name.ends_with(ending)) continue;
    const auto parsed = format::ParseFileName(name.substr(0, name.size() - ending.size()) + ".tbl");
    if (parsed) numbers.push_back(parsed->number);
  }
  return numbers;
}

std::string PathWith(const std::string& directory, kv::FileNumber number, std::string_view ending) {
  std::string path = format::TablePath(directory, number);
  return path.replace(path.size() - ending.size(), ending.size(), ending);
}

}  // namespace

Result<bool> AdoptFiles(FileSystem* file_system, const std::string& directory, const Inventory& inventory,
                        const manifest::Loaded* loaded, bool may_rename) {
  std::vector<std::pair<std::string, std::string>> renames;
  const std::set<kv::FileNumber> named = loaded == nullptr ? std::set<kv::FileNumber>() : loaded->version->files();
  for (const kv::FileNumber number : NumbersBefore(inventory.other_names, ".ldb")) {
    if (std::ranges::find(inventory.tables, number) != inventory.tables.end()) continue;
    const std::string path = PathWith(directory, number, ".ldb");
    bool is_ours = named.contains(number);
    if (loaded == nullptr) { ASSIGN_OR_RETURN(is_ours, leveldb_import::HoldsOurTable(file_system, path)); }
    if (is_ours) renames.emplace_back(path, format::TablePath(directory, number));
  }
  for (const kv::FileNumber number : NumbersBefore(inventory.other_names, ".log")) {
    if (std::ranges::find(inventory.segments, number) != inventory.segments.end()) continue;
    const std::string path = PathWith(directory, number, ".log");
    const auto database_id = loaded == nullptr ? std::nullopt : std::optional(loaded->database_id);
    ASSIGN_OR_RETURN(const bool is_ours, leveldb_import::HoldsOurSegment(file_system, path, database_id));
    if (is_ours) renames.emplace_back(path, format::SegmentPath(directory, number));
  }
  if (renames.empty()) return false;
  if (!may_rename) {
    return Status::NotSupported(
        renames[0].first +
        ": has LevelDB's file name; open the database for writing, or repair it, to rename the file");
  }
  for (const auto& [source, target] : renames) RETURN_IF_ERROR(file_system->Rename(source, target));
  RETURN_IF_ERROR(file_system->SyncDirectory(directory));
  return true;
}

}  // namespace mergedb::db
