// DestroyDB and RepairDB.
#include "mergedb/repair.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "format/file_name.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/format/name.h"
#include "leveldb/import/directory.h"
#include "leveldb/interface/adapters.h"
#include "leveldb/interface/open_options.h"
#include "mergedb/db.h"
#include "mergedb/leveldb.h"
#include "repair/inspection.h"

namespace leveldb {
namespace {

bool IsOurs(const std::string& name) {
  return mergedb::format::ParseFileName(name) || mergedb::leveldb_format::ParseName(name);
}

// Puts CURRENT last: an interrupted DestroyDB leaves CURRENT, so no Open takes the directory for an empty one
// and creates a database in it.
void CurrentLast(std::vector<std::string>* names) {
  std::stable_partition(names->begin(), names->end(), [](const std::string& name) { return name != "CURRENT"; });
}

Status Destroy(const std::string& name, Env* env) {
  std::vector<std::string> names;
  if (!env->GetChildren(name, &names).ok()) return {};  // no directory: nothing to do
  const std::string lock_path = name + "/LOCK";
  FileLock* lock = nullptr;
  Status result = env->LockFile(lock_path, &lock);
  if (!result.ok()) return result;
  CurrentLast(&names);
  for (const std::string& each : names) {
    if (each == "LOCK" || !IsOurs(each)) continue;
    const Status status = env->RemoveFile(name + "/" + each);
    if (result.ok()) result = status;
  }
  (void)env->UnlockFile(lock);
  (void)env->RemoveFile(lock_path);
  (void)env->RemoveDir(name);  // fails if the directory holds other files
  return result;
}

// Removes the files of a failed creation: those with a name of a database that did not exist before. WHY not if
// CURRENT exists: then the directory is a database, and another process may have opened it since the creation
// released its lock.
void UndoCreation(Env* env, const std::string& name, const std::optional<std::vector<std::string>>& before) {
  FileLock* lock = nullptr;
  if (!env->LockFile(name + "/LOCK", &lock).ok()) return;
  std::vector<std::string> names;
  (void)env->GetChildren(name, &names);
  const auto was_there = [&](const std::string& each) {
    return before && std::find(before->begin(), before->end(), each) != before->end();
  };
  const bool is_database = std::find(names.begin(), names.end(), "CURRENT") != names.end();
  for (const std::string& each : names) {
    if (!is_database && each != "LOCK" && IsOurs(each) && !was_there(each)) (void)env->RemoveFile(name + "/" + each);
  }
  if (!is_database && !was_there("LOCK")) (void)env->RemoveFile(name + "/LOCK");
  (void)env->UnlockFile(lock);
  if (!is_database && !before) (void)env->RemoveDir(name);
}

// LevelDB's repair creates an empty database where there is none. Files with other names stay.
Status CreateEmpty(const Options& options, mergedb::Options core, const std::string& name, Borrowed* borrowed) {
  std::optional<std::vector<std::string>> before(std::in_place);
  if (!options.env->GetChildren(name, &*before).ok()) before.reset();
  core.mode = mergedb::OpenMode::kCreateIfMissing;
  auto created = mergedb::DB::Open(core, name);
  const mergedb::Status status = created ? (*created)->Close() : created.error();
  if (created) created->reset();
  if (!status.ok()) {
    if (!status.IsBusy()) UndoCreation(options.env, name, before);
    Options creating = options;
    creating.create_if_missing = true;
    return OpenError(creating, name, status);
  }
  borrowed->log.Begin(options.env, name);
  borrowed->log.Log("repair: there was no database; an empty one was created");
  return {};
}

}  // namespace

Status DestroyDB(const std::string& name, const Options& options) {
  if (options.env == nullptr) return Status::InvalidArgument("options.env is null");
  return Guarded([&] {
    Borrowed borrowed(options, name);
    const mergedb::Status refusal =
        mergedb::leveldb_import::RefuseRocksDb(ToCore(options, &borrowed).env.file_system, name);
    return refusal.IsNotSupported() ? FromCore(refusal) : Destroy(name, options.env);
  });
}

Status RepairDB(const std::string& dbname, const Options& options) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  return Guarded([&]() -> Status {
    Borrowed borrowed(options, dbname);
    const mergedb::Options core = ToCore(options, &borrowed);
    const auto is_leveldbs = mergedb::leveldb_import::LooksLikeLevelDb(core.env.file_system, dbname);
    const bool is_ours = !is_leveldbs || !*is_leveldbs;
    if (is_ours && mergedb::repair::CheckIsDatabase(core.env.file_system, dbname).IsNotFound()) {
      return CreateEmpty(options, core, dbname, &borrowed);
    }
    const auto repaired = is_ours ? mergedb::Repair(core, dbname) : mergedb::RepairLevelDb(core, dbname);
    if (!repaired) return OpenError(options, dbname, repaired.error());
    borrowed.log.Begin(options.env, dbname);
    for (const std::string& action : repaired->actions) borrowed.log.Log("repair: " + action);
    for (const auto& loss : repaired->losses) borrowed.log.Log("repair, lost: " + mergedb::ToText(loss));
    return {};
  });
}

}  // namespace leveldb
