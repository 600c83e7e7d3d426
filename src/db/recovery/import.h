// Databases of another kind in the directory that a caller opens, verifies, repairs or destroys. This header is the
// engine's only way to them; src/leveldb/import/ does the work.
//
//   LevelDB   Open converts the database in place, and then removes LevelDB's files
//   RocksDB   recognized and refused; nothing changes
//   LMDB      recognized and refused; nothing changes
//
// AdoptFiles is about files of mergedb that a program's own Env stored under LevelDB's names.
// THREADS: one at a time on a directory. Tests: tests/leveldb/, tests/unit/db/import_test.cc.
#pragma once

#include <string>
#include <string_view>

#include "db/recovery/recovery.h"
#include "db/state/store.h"
#include "manifest/loader.h"
#include "mergedb/env.h"
#include "mergedb/status.h"

namespace mergedb::db {

// For manifest::Load (see manifest::ForeignFile).
Result<std::string> DescribeForeignFile(FileSystem* file_system, const std::string& directory, const std::string& name);

// Call it if manifest::Load returned Corruption. If CURRENT is that of a database which can be imported, converts it.
// True: it was converted, and *report says what was dropped. False: the database is not of another kind. An error says
// what the directory holds and what to do, or why the conversion failed.
Result<bool> ImportDirectory(const Store& store, std::string* report);
// Removes the source of a committed import, and the marker IMPORT. REQUIRES: the marker exists, and the files of the
// imported database exist.
Status RemoveImportedSource(FileSystem* file_system, const std::string& directory);
// `status` says that files of an imported database are damaged, and the source of the import still exists. Returns it
// with the next step.
Status ImportedIsDamaged(const Status& status, const std::string& directory);

// NotSupported if an open must not make a second database beside what is at `path`:
//   - LMDB's data file, or a directory with LMDB's data and no CURRENT;
//   - an archive of mdb_env_copyfd that mdb_env_open has not unpacked yet, in a directory without CURRENT or beside
//     `path`.
// Busy if another process unpacks the archive. A file that cannot be read is not LMDB's here. `is_locked`: the caller
// has the lock.
Status CheckIsNotLmdb(FileSystem* file_system, const std::string& path, bool is_locked = false);
// NotSupported if the directory holds a database that cannot be imported.
Status CheckIsSupported(FileSystem* file_system, const std::string& directory);
// InvalidArgument or NotSupported if the directory holds a database of another kind. A CURRENT that cannot be read is
// no error here.
Status CheckIsNotForeign(FileSystem* file_system, const std::string& directory);
// Removes all files but LOCK of a database that can be imported. True: it did. False: the database is not of another
// kind. NotSupported: the database cannot be imported, and stays.
Result<bool> RemoveForeign(FileSystem* file_system, const std::string& directory);

// Renames tables and WAL segments of mergedb that have LevelDB's names (docs/decisions/0020-leveldb-interface.md).
// True: some were renamed. NotSupported: some need it, but `may_rename` is false. A table is mergedb's if
// `loaded` names it or, if `loaded` is null, by its contents. A segment is mergedb's by its contents.
Result<bool> AdoptFiles(FileSystem* file_system, const std::string& directory, const Inventory& inventory,
                        const manifest::Loaded* loaded, bool may_rename);
// What AdoptFiles did, for the report of a repair.
inline constexpr std::string_view kFilesAdopted = "tables and WAL segments with LevelDB's file names were renamed";

}  // namespace mergedb::db
