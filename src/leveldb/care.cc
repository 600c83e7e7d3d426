// DestroyDB and RepairDB.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/file_name.h"
#include "format/leveldb_name.h"
#include "legacy/directory.h"
#include "leveldb/adapters.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/open_options.h"
#include "mergedb/care.h"
#include "mergedb/leveldb.h"

namespace leveldb {
namespace {

// A name that LevelDB or mergedb gives to a file of a database.
bool IsOurs(const std::string& name) {
  return mergedb::format::ParseFileName(name) || mergedb::format::leveldb::ParseName(name);
}

// CURRENT goes last: what an interruption leaves is still a database to be destroyed, and never one that opens.
void CurrentLast(std::vector<std::string>* names) {
  std::stable_partition(names->begin(), names->end(), [](const std::string& name) { return name != "CURRENT"; });
}

Status Destroy(const std::string& name, Env* env) {
  std::vector<std::string> names;
  if (!env->GetChildren(name, &names).ok()) return {};  // there is none
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
  (void)env->RemoveDir(name);  // it stays if it holds anything else
  return result;
}

}  // namespace

Status DestroyDB(const std::string& name, const Options& options) {
  if (options.env == nullptr) return Status::InvalidArgument("options.env is null");
  return Guarded([&] { return Destroy(name, options.env); });
}

Status RepairDB(const std::string& dbname, const Options& options) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  return Guarded([&]() -> Status {
    Borrowed borrowed(options, dbname);
    const mergedb::Options core = ToCore(options, &borrowed);
    const auto is_leveldbs = mergedb::legacy::LooksLikeLevelDb(core.env.file_system, dbname);
    const auto repaired = is_leveldbs && *is_leveldbs ? mergedb::RepairLevelDb(core, dbname) : mergedb::Repair(core, dbname);
    if (!repaired) return OpenError(options, dbname, repaired.error());
    borrowed.log.Begin(options.env, dbname);
    for (const std::string& action : repaired->actions) borrowed.log.Log("repair: " + action);
    for (const auto& loss : repaired->losses) borrowed.log.Log("repair, lost: " + mergedb::ToText(loss));
    return {};
  });
}

}  // namespace leveldb
